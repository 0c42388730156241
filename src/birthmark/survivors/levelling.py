"""Levelling: trained values freed of what their rows and columns have in common, and of outliers.

A trace of the initial values is spread evenly over a tensor, but training is not: it gives columns means and
sizes of their own, and rows sizes, and a few values dwarf the rest. A correlation is governed by the largest
values, so those of all rows and columns are brought to one size first. It is done without knowing any
prediction, so a false one gains nothing by it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: A row or column with fewer values than this is levelled like all of them together.
LEAST = 8
#: Values farther out than this many standard deviations are brought there.
CLIP = 3.0
#: The second round sees sizes that outliers no longer govern.
ROUNDS = 2


def levelled(values: NDArray[np.floating], indices: NDArray[np.int64], columns: int) -> NDArray[np.float64]:
    """Values with columns of mean 0, rows and columns of one size, and no outliers.

    Args:
        values: of some elements of a tensor, any scale.
        indices: their C-order flat indices.
        columns: columns of the tensor's matrix view.

    Returns:
        float64 of the same length, with a standard deviation of about 1; 0 where a value is not finite.
    """
    level = np.asarray(values, np.float64).ravel().copy()
    finite = np.isfinite(level)
    largest = float(np.max(np.abs(level), initial=0.0, where=finite))
    if largest == 0.0:
        return np.zeros(level.size)
    # Scaled first, so that squares stay finite.
    level = np.where(finite, level / largest, 0.0)
    row, column = indices // max(1, columns), indices % max(1, columns)
    for _ in range(ROUNDS):
        level -= _means(level, column, finite)
        for unit in (row, column):
            level /= _sizes(level, unit, finite)
        level = np.where(finite, np.clip(level, -CLIP, CLIP), 0.0)
    return level


def _means(
    values: NDArray[np.float64], unit: NDArray[np.int64], use: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The mean of each value's own unit."""
    sums, counts = _summed(values, unit, use)
    overall = sums.sum() / max(1, counts.sum())
    means: NDArray[np.float64] = np.where(counts >= LEAST, sums / np.maximum(counts, 1), overall)[unit]
    return means


def _sizes(
    values: NDArray[np.float64], unit: NDArray[np.int64], use: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The root mean square of each value's own unit, 1 where all of it is 0."""
    sums, counts = _summed(values * values, unit, use)
    overall = sums.sum() / max(1, counts.sum())
    squares = np.where(counts >= LEAST, sums / np.maximum(counts, 1), overall)
    sizes: NDArray[np.float64] = np.sqrt(np.where(squares > 0.0, squares, 1.0))[unit]
    return sizes


def _summed(
    values: NDArray[np.float64], unit: NDArray[np.int64], use: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    counts = np.bincount(unit, weights=use).astype(np.int64)
    return np.bincount(unit, weights=values).astype(np.float64), counts
