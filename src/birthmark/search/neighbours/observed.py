"""What a search for a neighbouring generator is given, and the part of it that it never looks at."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.survivors.split import LEAST_UNITS, Selection, held_out


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Values of a tensor that may still be as they were drawn.

    Attributes:
        tensor: its name; module names are read from it.
        shape: its extents.
        dtype: its stored dtype.
        indices: int64[n], C-order flat indices, ascending, each once.
        values: float64[n], as stored.
        unit: int64[n], the row or column of each; values of a unit share their fate.
        probability: float64[n], that the unit is untouched.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    indices: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    unit: NDArray[np.int64] = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together.

        Raises:
            UsageError: unequal lengths, or indices that do not ascend or lie outside the tensor.
        """
        lengths = {len(self.indices), len(self.values), len(self.unit), len(self.probability)}
        if len(lengths) != 1:
            raise UsageError(f"observed arrays of the lengths {sorted(lengths)}; expected one length.")
        if len(self.indices) and (
            int(self.indices[0]) < 0
            or int(self.indices[-1]) >= self.size
            or np.any(np.diff(self.indices) <= 0)
        ):
            raise UsageError("observed indices that do not ascend, or lie outside the tensor.")

    @property
    def size(self) -> int:
        """Elements of the whole tensor."""
        return math.prod(self.shape)

    def subset(self, chosen: NDArray[np.bool_]) -> Observed:
        """Some of the values."""
        return Observed(
            self.tensor,
            self.shape,
            self.dtype,
            self.indices[chosen],
            self.values[chosen],
            self.unit[chosen],
            self.probability[chosen],
        )

    def halves(self) -> tuple[Observed, Observed]:
        """(what a search may see, what only its score sees): by the hash of the unit, or of the element.

        The hash differs from the one that makes a scan's own hold-out, so that a selection is cut again.
        """
        units = np.unique(self.unit)
        name = f"{self.tensor}\0neighbours"
        if len(units) >= LEAST_UNITS and 0 < (away := held_out(name, units)).sum() < len(units):
            apart = away[np.searchsorted(units, self.unit)]
        else:
            apart = held_out(name, self.indices)
        return self.subset(~apart), self.subset(apart)

    def spread(self, most: int) -> Observed:
        """At most so many values, evenly chosen, the surest units before the others."""
        if len(self.indices) <= most:
            return self
        order = np.lexsort((self.indices, -self.probability))
        sure = order[: max(most, int(np.sum(self.probability >= self.probability.max() - 0.05)))]
        keep = np.zeros(len(self.indices), np.bool_)
        keep[sure[np.arange(most) * len(sure) // most]] = True
        return self.subset(keep)


def observed_of(selection: Selection) -> Observed:
    """What a scan's selection holds, its not finite values left out."""
    finite = np.isfinite(selection.values)
    return Observed(
        selection.tensor,
        selection.shape,
        selection.dtype,
        selection.indices[finite],
        selection.values[finite],
        selection.unit[finite],
        selection.probability[finite],
    )


def whole(tensor: str, values: NDArray[np.floating], dtype: str = "float32") -> Observed:
    """A whole tensor whose rows are the units, all of them as likely untouched."""
    flat = np.asarray(values, np.float64).reshape(-1)
    rows = values.shape[0] if values.ndim > 1 else 1
    width = max(1, flat.size // max(1, rows))
    indices = np.arange(flat.size, dtype=np.int64)
    return Observed(tensor, values.shape, dtype, indices, flat, indices // width, np.ones(flat.size))
