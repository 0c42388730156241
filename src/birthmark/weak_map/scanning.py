"""One tensor, in one pass over its rows: its sums, those of its bands, the rows that still hold their birth.

Rows come in blocks of a bounded size. Each is levelled, predicted, and paired with its prediction, and, as a
control of the same size, with the predictions of rows a few further on: what columns have in common would
favour those as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.numerics.dtypes import round_to
from birthmark.weak_map.bands import Bands, matrix
from birthmark.weak_map.births import Aim, Predicted
from birthmark.weak_map.levels import Levels, measure
from birthmark.weak_map.moments import QUANTITIES, Moments, correlations, sums_of

#: Elements that are worked on at a time: about 100 MB with all that they pass through.
BLOCK: Final = 1 << 20
#: Rows by which predictions are shifted for the control.
SHIFTS: Final = (1, 2, 4, 8)
#: A row of enough values that correlates so well with its prediction still holds it, up to a factor.
HELD: Final = 0.999
#: Rounding to 16 bits moves a value by less than this share of it, or by less than the smallest step.
NEAR: Final = 2.0**-7
SMALLEST: Final = 2.0**-24
LEAST_OF_ROW: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class Scanned:
    """What a pass over a tensor gives.

    Attributes:
        moments: of all of it.
        bands: float64[quantities, bands], the sums of each.
        held: int64, rows that still hold their initial values up to a factor.
        judged: rows that are long enough to be judged.
        levels: how its rows were levelled.
    """

    moments: Moments
    bands: NDArray[np.float64]
    held: NDArray[np.int64]
    judged: int
    levels: Levels


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The sums of one block."""

    rows: NDArray[np.float64]
    columns: NDArray[np.float64] | None
    shifted: NDArray[np.float64]
    robust: NDArray[np.float64]
    fourth: NDArray[np.float64]
    equal: int


def scan_tensor(
    checkpoint: Checkpoint, predicted: Predicted, aim: Aim, bands: Bands, pool: Executor, ahead: int
) -> Scanned:
    """Go through a tensor once, beside what is read to measure its columns.

    Args:
        checkpoint: the trained model, open.
        predicted: its initial values.
        aim: the tensor.
        bands: how it is cut.
        pool: where blocks are worked on; they are read here, one after the other.
        ahead: blocks that may wait there.
    """
    info = checkpoint.tensors[aim.stored]
    rows, columns = matrix(info.shape)
    levels = measure(lambda first, last: _rows(checkpoint, info, first, last), rows, columns)
    moments = Moments(len(SHIFTS))
    by_row = np.zeros((len(QUANTITIES), len(bands) if bands.axis == "rows" else 1))
    by_column = np.zeros((len(QUANTITIES), columns)) if bands.axis == "columns" else None
    held: list[NDArray[np.int64]] = []
    for first, part in _parts(checkpoint, predicted, aim, info, bands, levels, pool, ahead):
        moments.sums += part.rows.sum(axis=1)
        moments.shifted += part.shifted
        moments.robust += part.robust
        moments.fourth += part.fourth
        moments.equal += part.equal
        if by_column is not None and part.columns is not None:
            by_column += part.columns
        else:
            bands.of_rows(first, part.rows, by_row)
        held.append(first + _held(part.rows, columns))
    return Scanned(
        moments,
        by_row if by_column is None else bands.of_columns(by_column),
        np.concatenate(held),
        rows if columns >= LEAST_OF_ROW else 0,
        levels,
    )


def _parts(
    checkpoint: Checkpoint,
    predicted: Predicted,
    aim: Aim,
    info: TensorInfo,
    bands: Bands,
    levels: Levels,
    pool: Executor,
    ahead: int,
) -> Iterator[tuple[int, _Part]]:
    """The sums of all blocks in their order, whatever the order in which they get done."""
    flying: deque[tuple[int, Future[_Part]]] = deque()
    for first, stored in _blocks(checkpoint, info):
        flying.append((first, pool.submit(_part, predicted, aim, info, bands, levels, first, stored)))
        while len(flying) > ahead:
            begun, future = flying.popleft()
            yield begun, future.result()
    for begun, future in flying:
        yield begun, future.result()


def _blocks(checkpoint: Checkpoint, info: TensorInfo) -> Iterator[tuple[int, NDArray[Any]]]:
    """Blocks of whole rows with the number of the first; what lies together in the file is read once."""
    rows, columns = matrix(info.shape)
    inner = rows // info.matrix_shape[0]
    step = max(1, BLOCK // columns)
    together = max(1, step // inner)
    for begin in range(0, info.matrix_shape[0], together):
        end = min(begin + together, info.matrix_shape[0])
        read = checkpoint.rows(info.name, begin, end).reshape(-1, columns)
        for first in range(0, len(read), step):
            yield begin * inner + first, read[first : first + step]


def _part(
    predicted: Predicted,
    aim: Aim,
    info: TensorInfo,
    bands: Bands,
    levels: Levels,
    first: int,
    stored: NDArray[Any],
) -> _Part:
    rows, columns = stored.shape
    born = predicted.run(aim, first * columns, (first + rows) * columns).reshape(rows, columns)
    equal = _equal(stored, born, info.dtype)
    values, level, finite = levels.apply(stored)
    y = born.astype(np.float64)
    if not finite.all():
        y = np.where(finite, y, 0.0)
    xy, yy = values * y, y * y
    robust = np.array([np.einsum("ij,ij->", one, other) for one, other in ((xy, xy), (xy, yy), (yy, yy))])
    aa, ay = level * level, level * y
    fourths = ((aa, yy), (aa, ay), (ay, yy), (aa, aa), (yy, yy))
    fourth = np.array([np.einsum("ij,ij->", one, other) for one, other in fourths])
    along = sums_of(values, level, y, finite, axis=1)
    across = sums_of(values, level, y, finite, axis=0) if bands.axis == "columns" else None
    return _Part(along, across, _shifted(level, y), robust, fourth, equal)


def _equal(stored: NDArray[Any], born: NDArray[Any], dtype: str) -> int:
    """How many values are the predicted ones in their dtype; only those near by are rounded."""
    if dtype in ("float32", "float64"):
        return int(np.count_nonzero(stored == round_to(born, dtype)))
    near = np.abs(stored - born) <= NEAR * np.abs(born) + SMALLEST
    return int(np.count_nonzero(stored[near] == round_to(born[near], dtype)))


def _shifted(level: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of levelled values times the predictions of other rows, or of other values of one row."""
    if len(level) == 1:
        level, y = level.T, y.T
    found = []
    for shift in SHIFTS:
        by = shift % len(level) or 1 % len(level)
        found.append(
            np.einsum("ij,ij->", level[by:], y[: len(y) - by])
            + np.einsum("ij,ij->", level[:by], y[len(y) - by :])
        )
    return np.array(found)


def _held(sums: NDArray[np.float64], columns: int) -> NDArray[np.int64]:
    """The rows of a block that still hold their initial values, by their sums."""
    if columns < LEAST_OF_ROW:
        return np.empty(0, np.int64)
    n, _, y, _, yy, _, x, xx, xy = sums
    r = correlations(n, x, y, xx, yy, xy)
    return np.flatnonzero((r > HELD) & (n >= LEAST_OF_ROW)).astype(np.int64)


def _rows(checkpoint: Checkpoint, info: TensorInfo, first: int, last: int) -> NDArray[Any]:
    """Rows first <= i < last of the matrix in which a tensor is looked at."""
    rows, columns = matrix(info.shape)
    outer = info.matrix_shape[0]
    if rows == outer:
        return checkpoint.rows(info.name, first, last).reshape(last - first, columns)
    inner = rows // outer
    begin, end = first // inner, -(-last // inner)
    block = checkpoint.rows(info.name, begin, end).reshape(-1, columns)
    return block[first - begin * inner : last - begin * inner]
