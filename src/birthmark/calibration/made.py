"""Checkpoints made in memory: one embedding-like table, some of whose rows training left alone.

The table's initial values come from a family (see `nulls` and `truths`); what training does to the other
rows is modelled: a common decay, a low-rank change that rows share, and a change of each row's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, FileInfo, TensorInfo, Values
from birthmark.numerics.dtypes import round_to

#: The table of every made checkpoint: 524,288 values, beyond one wave of most devices.
SHAPE: Final = (8192, 64)
NAME: Final = "model.embed_tokens.weight"
#: Standard deviation of the initial values.
SCALE: Final = 0.02
#: What training leaves of an initial value, and the sizes of its changes in units of SCALE.
DECAY, SHARED, OWN = 0.9, 2.0, 0.6
#: Directions that the shared change has.
RANK: Final = 6
DTYPES: Final = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A made table and what is known about it.

    Attributes:
        values: float32 of `SHAPE`, on the grid of `dtype`.
        dtype: the dtype it is stored in.
        kept: int64, the rows that hold initial values.
    """

    values: NDArray[np.float32]
    dtype: str
    kept: NDArray[np.int64]


class MadeCheckpoint(Checkpoint):
    """A made table behind the readers' interface."""

    def __init__(self, made: Made) -> None:
        self.source = "made"
        self.files = (FileInfo("made", made.values.nbytes),)
        self.tensors = {NAME: TensorInfo(NAME, made.values.shape, made.dtype, "made")}
        self.notes = ()
        self._values = made.values

    def rows(self, name: str, start: int, stop: int) -> Values:
        """Rows start <= i < stop."""
        return self.take(name, np.arange(start, stop))

    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        """The given rows."""
        assert name in self.tensors
        taken: Values = self._values[rows]
        return taken

    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        """The elements at flat indices."""
        assert name in self.tensors
        taken: Values = self._values.reshape(-1)[indices]
        return taken

    @property
    def bytes_read(self) -> int:
        """Nothing is read from a disk."""
        return 0

    def close(self) -> None:
        """Nothing to release."""


def trained(
    random: np.random.Generator, initial: NDArray[np.float32], kept: NDArray[np.int64], dtype: str
) -> Made:
    """Train all rows of a table but those in `kept`.

    Args:
        random: where the changes come from.
        initial: the table's initial values.
        kept: rows that no gradient ever reached.
        dtype: what the result is stored in.
    """
    rows, columns = initial.shape
    touched = np.ones(rows, np.bool_)
    touched[kept] = False
    count = int(touched.sum())
    strength = random.gamma(2.0, 0.5, (count, 1))
    shared = random.standard_normal((count, RANK)) @ random.standard_normal((RANK, columns)) / RANK**0.5
    own = strength * random.standard_normal((count, columns))
    values = initial.astype(np.float64)
    values[touched] = DECAY * values[touched] + SCALE * (SHARED * shared + OWN * own)
    return Made(round_to(values, dtype).astype(np.float32), dtype, kept)


def some_rows(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Numbers of `count` different rows, ascending."""
    return np.sort(random.choice(SHAPE[0], count, replace=False)).astype(np.int64)
