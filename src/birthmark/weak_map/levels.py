"""Levelling in blocks: what `survivors.levelling` does to a whole tensor, without holding it.

Columns have means and sizes of their own, which one pass measures, on all rows or on evenly spaced runs of
them; a row's size is known when the row comes in. The second pass applies both to each block. Nothing here
knows any prediction, so a false one gains nothing by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.levelling import CLIP, LEAST, ROUNDS

#: Values by which columns are measured; a tensor with more is measured on runs of its rows.
MOST: Final = 1 << 22
#: Values from which the typical one is taken.
TYPICAL: Final = 1 << 14
#: Runs that those rows lie in.
RUNS: Final = 16
#: Columns beyond which all of them are levelled like one.
MOST_COLUMNS: Final = 1 << 18
#: Values are kept within so many times the typical one, so that squares stay finite.
FARTHEST: Final = 1e60
#: A column with a spread below this, relative to its mean, does not vary.
FLAT: Final = 1e-13

Block = NDArray[np.floating[Any]]
#: Reads rows first <= i < last: (rows, columns).
Read = Callable[[int, int], Block]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One round of levelling.

    Attributes:
        mean: of each column, or of all of them; float64.
        size: root mean square of each column once rows have one size, likewise; infinite where a column
            does not vary.
        row: the size of rows that are too short to be measured; None where each has its own.
    """

    mean: NDArray[np.float64]
    size: NDArray[np.float64]
    row: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """How a tensor's rows are levelled.

    Attributes:
        unit: the typical size of a value; values come in its units.
        rounds: what is done to them, in order.
    """

    unit: float
    rounds: tuple[Level, ...]

    def apply(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """A block of whole rows, (rows, columns).

        Returns:
            The values in units, 0 where they are not finite; the levelled ones, likewise; which are finite.
        """
        values, finite = scaled(block, self.unit)
        level = values
        for each in self.rounds:
            level = _round(level, finite, each)
        return values, level, finite


def scaled(block: Block, unit: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values in units, 0 where they are not finite, and which are finite."""
    wide = np.asarray(block, np.float64)
    finite = np.isfinite(wide)
    if not finite.all():
        wide = np.where(finite, wide, 0.0)
    return np.clip(wide / unit, -FARTHEST, FARTHEST), finite


def measure(read: Read, rows: int, columns: int) -> Levels:
    """Measure a tensor's columns: the first pass.

    Args:
        read: gives whole rows.
        rows: of the tensor.
        columns: of the tensor, 1 or more.
    """
    sample = np.concatenate([np.asarray(read(*run)) for run in sampled(rows, columns)])
    unit = _typical(sample)
    level, finite = scaled(sample, unit)
    found = []
    for _ in range(ROUNDS):
        one = _measured(level, finite, of_all=rows < LEAST or columns > MOST_COLUMNS)
        found.append(one)
        level = _round(level, finite, one)
    return Levels(unit, tuple(found))


def sampled(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """The runs of rows that columns are measured on: all, or evenly spaced ones."""
    wanted = max(min(rows, LEAST), MOST // columns)
    if rows <= wanted:
        yield 0, rows
        return
    runs = min(RUNS, wanted)
    each = wanted // runs
    for number in range(runs):
        start = (rows - each) * number // max(runs - 1, 1)
        yield start, start + each


def _typical(sample: Block) -> float:
    """The median size of evenly spaced values other than 0; 1 where there are none."""
    some = sample.reshape(-1)[:: max(1, sample.size // TYPICAL)]
    with np.errstate(invalid="ignore"):
        sizes = np.abs(np.asarray(some, np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    return float(np.median(sizes)) if sizes.size else 1.0


def _measured(level: NDArray[np.float64], finite: NDArray[np.bool_], *, of_all: bool) -> Level:
    count = finite.sum(axis=0)
    total = max(int(count.sum()), 1)
    overall = float(level.sum()) / total
    few = count < LEAST
    mean = np.where(few, overall, level.sum(axis=0) / np.maximum(count, 1))
    if of_all:
        mean = np.array([overall])
    centred = np.where(finite, level - mean, 0.0)
    # What rounding leaves of a column that does not vary must not be blown up to the size of others.
    varies = np.einsum("ij,ij->j", centred, centred) > (FLAT * mean) ** 2 * count
    row = None
    if level.shape[1] < LEAST:
        row = _root(float(np.einsum("ij,ij->", centred, centred)) / total)
    across = centred / _row_sizes(centred, finite, row)
    squares = np.einsum("ij,ij->j", across, across)
    whole = float(squares.sum()) / total
    size = np.where(few, whole, squares / np.maximum(count, 1))
    if of_all:
        size = np.array([whole])
    size = np.sqrt(np.where(size > 0.0, size, 1.0))
    return Level(mean, size if of_all else np.where(varies | few, size, np.inf), row)


def _round(level: NDArray[np.float64], finite: NDArray[np.bool_], by: Level) -> NDArray[np.float64]:
    centred = level - by.mean
    if not finite.all():
        centred = np.where(finite, centred, 0.0)
    centred /= _row_sizes(centred, finite, by.row)
    centred /= by.size
    return np.clip(centred, -CLIP, CLIP, out=centred)


def _row_sizes(
    centred: NDArray[np.float64], finite: NDArray[np.bool_], row: float | None
) -> NDArray[np.float64]:
    """The root mean square of each row, as a column; 1 where all of it is 0."""
    if row is not None:
        return np.array([[row]])
    squares = np.einsum("ij,ij->i", centred, centred) / np.maximum(finite.sum(axis=1), 1)
    return np.sqrt(np.where(squares > 0.0, squares, 1.0))[:, None]


def _root(square: float) -> float:
    return square**0.5 if square > 0.0 else 1.0
