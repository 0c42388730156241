"""Selection and hold-out: which survivors a search may see, decided by a hash before it starts.

The hold-out carries no values. It only says where they lie; the evidence room reads them from the
checkpoint after a search has ended, and the search room, which never gets a checkpoint, cannot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import NothingToSearch, UsageError
from birthmark.survivors.survivor import Axis, Distribution, Survivors

#: With fewer survivors than this the single elements are split, not whole rows or columns.
LEAST_UNITS = 8
#: So many rows or columns must fall on each side; a search takes its probes from three at least.
LEAST_SIDE = 3
#: No more elements than this go into a selection or a hold-out; the rest only costs memory.
MOST_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """All that a search may see of a tensor.

    Attributes:
        tensor: the tensor's name.
        shape: its extents.
        dtype: its stored dtype.
        axis: what `unit` counts.
        distribution: the shape of the values.
        scale: the standard deviation (normal) or bound (uniform), as stored.
        scale_error: relative standard error of `scale`.
        indices: int64[n], C-order flat indices in the tensor, ascending.
        values: float64[n], as stored.
        unit: int64[n], the row or column id of each element.
        probability: float64[n], that the element's unit still holds its initial values.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    axis: Axis
    distribution: Distribution
    scale: float
    scale_error: float
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    unit: NDArray[np.int64]
    probability: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Holdout:
    """Where the held-out elements lie: C-order flat indices and the unit of each, without values."""

    tensor: str
    axis: Axis
    indices: NDArray[np.int64]
    unit: NDArray[np.int64]


def held_out(name: str, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which keys (row, column or element numbers of the tensor `name`) are held out: half, by their hash."""
    prefix = name.encode() + b"\0"
    return np.fromiter(
        (blake2b(prefix + int(key).to_bytes(8, "little"), digest_size=1).digest()[0] & 1 for key in keys),
        dtype=np.bool_,
        count=len(keys),
    )


def split(
    checkpoint: Checkpoint, survivors: Survivors, *, at_least: float = 0.5
) -> tuple[Selection, Holdout]:
    """Divide likely survivors into what a search may see and what it may not.

    Rows or columns go to one side or the other as a whole, by the hash of their number; with fewer than
    `LEAST_UNITS`, or when chance leaves a side with fewer than `LEAST_SIDE`, single elements do. The answer
    depends on the tensor's name and the numbers alone: not on order, on probabilities or on values.

    Args:
        checkpoint: where the values lie; only those of the selection are read.
        survivors: the rows or columns.
        at_least: the probability from which a row or column takes part.

    Returns:
        The selection with its values, and the hold-out without any. Each holds `MOST_ELEMENTS` at most,
        spread evenly over its rows or columns. No element is in both.

    Raises:
        UsageError: `at_least` is not a probability.
        NothingToSearch: no row or column is that likely.
    """
    if not 0.0 <= at_least <= 1.0:
        raise UsageError(f"at_least must lie between 0 and 1, not {at_least}.")
    sure = survivors.probability >= at_least
    ids, order = np.unique(survivors.ids[sure], return_index=True)
    probability = survivors.probability[sure][order]
    if not len(ids):
        raise NothingToSearch(
            f"no {survivors.axis} of {survivors.tensor!r} holds initial values with probability "
            f"{at_least:g} or more."
        )
    layout = Layout(survivors.axis, survivors.shape)
    away = held_out(survivors.tensor, ids)
    if len(ids) >= LEAST_UNITS and min(int(away.sum()), int((~away).sum())) >= LEAST_SIDE:
        kept, held = (_spread(layout, ids[side]) for side in (~away, away))
    else:
        both = _spread(layout, ids, most=2 * MOST_ELEMENTS)
        apart = held_out(survivors.tensor, both)
        kept, held = both[~apart][:MOST_ELEMENTS], both[apart][:MOST_ELEMENTS]
    unit = layout.unit(kept)
    values = checkpoint.elements(survivors.tensor, kept).astype(np.float64)
    selection = Selection(
        tensor=survivors.tensor,
        shape=survivors.shape,
        dtype=survivors.dtype,
        axis=survivors.axis,
        distribution=survivors.distribution,
        scale=survivors.scale,
        scale_error=survivors.scale_error,
        indices=kept,
        values=values,
        unit=unit,
        probability=probability[np.searchsorted(ids, unit)],
    )
    return selection, Holdout(survivors.tensor, survivors.axis, held, layout.unit(held))


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of rows or columns lie in a tensor."""

    axis: Axis
    shape: tuple[int, ...]

    @property
    def columns(self) -> int:
        """Elements from one row to the next."""
        return math.prod(self.shape[1:]) if len(self.shape) > 1 else math.prod(self.shape)

    @property
    def width(self) -> int:
        """Elements of one row or column."""
        rows = self.shape[0] if len(self.shape) > 1 else 1
        return rows if self.axis == "column" else self.columns

    def indices(self, ids: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The flat indices of the given places of each row or column, ascending."""
        if self.axis == "column":
            flat = ids[:, None] + places * self.columns
        else:
            flat = ids[:, None] * self.columns + places
        return np.sort(flat, axis=None)

    def unit(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row or column of each flat index."""
        return indices % self.columns if self.axis == "column" else indices // self.columns


def _spread(layout: Layout, ids: NDArray[np.int64], most: int | None = None) -> NDArray[np.int64]:
    """Flat indices of `most` elements at most: whole rows or columns where possible, evenly chosen ones."""
    most = MOST_ELEMENTS if most is None else most
    room = max(1, most // layout.width)
    if len(ids) > room:
        ids = ids[np.arange(room) * len(ids) // room]
    taken = min(layout.width, most // len(ids))
    places = np.arange(taken, dtype=np.int64) * layout.width // taken
    return layout.indices(ids, places)
