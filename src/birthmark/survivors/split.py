"""Selection and hold-out: which survivors a search may see, decided by a hash before it starts.

The hold-out carries no values. It only says where they lie; the evidence room reads them from the
checkpoint after a search has ended, and the search room, which never gets a checkpoint, cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.survivors.survivor import Axis, Distribution, Survivors

#: With fewer survivors than this the single elements are split, not whole rows or columns.
LEAST_UNITS = 8
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
