"""Small checkpoints of several tensors in memory, with a birth, two trainings, and what people do to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, FileInfo, TensorInfo, Values
from birthmark.lineage.compare import Lineage, lineage
from birthmark.lineage.relation import Relation
from birthmark.numerics.dtypes import round_to

Net = dict[str, NDArray[np.float32]]

ROWS, COLUMNS, HIDDEN = 240, 48, 64
SCALE = 0.02
#: Rows of the embedding that no token of the data ever reaches.
UNUSED = np.arange(160, ROWS)


class InMemory(Checkpoint):
    """Arrays behind the readers' interface, each rounded to the dtype that it says."""

    def __init__(self, net: Mapping[str, NDArray[Any]], dtype: str = "float32") -> None:
        self.source, self.notes = "made", ()
        self.files = (FileInfo("made", 0),)
        self._values = {name: round_to(values, dtype) for name, values in net.items()}
        self.tensors = {name: TensorInfo(name, each.shape, dtype, "made") for name, each in net.items()}

    def rows(self, name: str, start: int, stop: int) -> Values:
        """Rows start <= i < stop."""
        return self.take(name, np.arange(start, stop))

    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        """The given rows."""
        values = self._values[name]
        return values.reshape(self.tensors[name].matrix_shape)[rows].copy()

    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        """The elements at flat indices."""
        return self._values[name].reshape(-1)[indices]

    @property
    def bytes_read(self) -> int:
        """Nothing is read from a disk."""
        return 0

    def close(self) -> None:
        """Nothing to release."""


def born(seed: int) -> Net:
    """A fresh net: an embedding and three hidden layers."""
    random = np.random.default_rng(seed)
    shapes = {
        "embed": (ROWS, COLUMNS),
        "first": (HIDDEN, COLUMNS),
        "second": (HIDDEN, HIDDEN),
        "third": (HIDDEN, HIDDEN),
    }
    return {
        name: (SCALE * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()
    }


def trained(net: Net, seed: int, strength: float = 2.0, *, everywhere: bool = False) -> Net:
    """The same after training: a low-rank change and one of each value's own, but not in unused rows."""
    random = np.random.default_rng(seed)
    found = {}
    for name, values in net.items():
        rows, columns = values.shape
        shared = random.standard_normal((rows, 3)) @ random.standard_normal((3, columns)) / 3**0.5
        own = random.standard_normal(values.shape) * random.gamma(2.0, 0.5, (rows, 1))
        change = strength * SCALE * (shared + 0.5 * own)
        if name == "embed" and not everywhere:
            change[UNUSED] = 0.0
        found[name] = (values + change).astype(np.float32)
    return found


def compared(*nets: Mapping[str, NDArray[Any]] | Checkpoint) -> Lineage:
    """Their lineage, without scans for seeds."""
    return lineage([each if isinstance(each, Checkpoint) else InMemory(each) for each in nets], seeds=False)


def relation(*nets: Mapping[str, NDArray[Any]] | Checkpoint) -> Relation:
    """The relation of the first two."""
    return compared(*nets).related[0].relation


def told(found: Relation) -> str:
    """All that a relation says."""
    return " ".join((*found.reasons, *found.background))
