"""Stored values with their places: what a judgement works on, whether from a checkpoint or from a pack."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.survivor import Axis


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Elements of one tensor.

    Attributes:
        indices: int64[n], C-order flat indices, ascending.
        values: float64[n], as stored.
        unit: int64[n], the row or column of each.
    """

    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    unit: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.indices.size)

    def keep(self, mask: NDArray[np.bool_]) -> Elements:
        """The elements where `mask` is true."""
        return Elements(self.indices[mask], self.values[mask], self.unit[mask])

    def within(self, ids: NDArray[np.int64]) -> Elements:
        """The elements of the given units."""
        return self.keep(np.isin(self.unit, ids))

    def thinned(self, most: int) -> Elements:
        """At most `most` elements, evenly spaced, the last one among them; the same ones every time."""
        if len(self) <= most:
            return self
        chosen = np.linspace(0, len(self) - 1, most).astype(np.int64)
        return Elements(self.indices[chosen], self.values[chosen], self.unit[chosen])

    def with_(self, other: Elements) -> Elements:
        """These elements and the other ones, in ascending order of their indices."""
        indices = np.concatenate([self.indices, other.indices])
        order = np.argsort(indices, kind="stable")
        return Elements(
            indices[order],
            np.concatenate([self.values, other.values])[order],
            np.concatenate([self.unit, other.unit])[order],
        )


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, columns) of a tensor's matrix view; a vector is one row."""
    if len(shape) < 2:
        return 1, math.prod(shape)
    return shape[0], math.prod(shape[1:])


def units_of(indices: NDArray[np.int64], shape: tuple[int, ...], axis: Axis) -> NDArray[np.int64]:
    """The row or column of each element in the tensor's matrix view."""
    columns = max(1, matrix_shape(shape)[1])
    return indices % columns if axis == "column" else indices // columns
