"""Untouched rows and columns of two checkpoints: do they hold one draw, or different ones?

A fresh draw is independent of everything but its own seed, so values that are still fresh in one checkpoint
cannot correlate with those of another by chance, whatever that other one went through: r sqrt(n) is standard
normal unless they share their initial values. That values look fresh is itself a judgement, so two guards
stand beside it: the same rows shifted past each other, and whether rows hold one draw to within rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.score import Score, score
from birthmark.lineage.parallel import SAME_COSINE, by_chance, least_same, parallel, shifts_of
from birthmark.lineage.steps import coarser_rows
from birthmark.lineage.tensors import Common, Couple
from birthmark.survivors.survivor import Survivors

#: Values of a tensor that are looked at, at the most; and read at a time.
MOST_VALUES: Final = 1 << 20
CHUNK: Final = 1 << 21
#: Shifts along either axis that make the background, and those that look for copies within a tensor.
SHIFTS, COPIES = 24, 8
#: Probability from which a row counts as untouched, and as surely so.
LIKELY, SURE = 0.5, 0.9
#: Rows that agree up to some row and not beyond: so many on either side, and such a share of the first ones.
LEAST_PREFIX, PREFIX_SHARE = 8, 0.8
#: Units that must hold the same values in another order.
LEAST_REORDERED: Final = 3
#: Values that different draws must differ in.
LEAST_APART: Final = 256
#: Relative error of a scale that only the grid of a generator's float32 values gives.
GRID_ERROR: Final = 2.0**-23

Axis = Literal["row", "column"]


@dataclass(frozen=True, slots=True)
class Fresh:
    """What untouched rows or columns of one tensor share.

    Attributes:
        axis: what is counted below.
        score: of the first's values on the second's, over units that are untouched in either.
        shifted: largest correlation of those with each other when shifted past each other, which is what
            they have in common as units of one kind; None with fewer than three.
        shifts: how many shifts.
        units: untouched in either.
        both: untouched in both.
        same: units that hold one draw, up to a factor.
        least_same: how many would be enough for a proof; None where their values are too few for any.
        same_shifted: the most that do when shifted past each other; copies within one tensor do.
        same_values: values in those.
        log10_p_same: log10 of the chance that so many units of independent directions are so nearly parallel
            in place, after the trials; 0 where none is, or where copies within one tensor explain them.
        prefix: whether those are the first of the untouched ones, and no later one is.
        factor: the second's scale over the first's in those same units; None without any.
        moved: units that the first left alone and the second did not, and the other way round.
        on_grid: whether one side's values lie on the grid of a generator, which nothing else gives.
        whole: whether the tensor looks untouched as a whole in the first, and in the second.
        reordered: units that hold the same values in another order; only looked for where `same` is 0.
        apart: score over units that are surely untouched in both; None where they are too few. One of about
            0 means different draws.
    """

    axis: Axis
    score: Score
    shifted: float | None
    shifts: int
    units: int
    both: int
    same: int
    least_same: int | None
    same_shifted: int
    same_values: int
    log10_p_same: float
    prefix: bool
    factor: float | None
    moved: tuple[int, int]
    on_grid: bool
    whole: tuple[bool, bool]
    reordered: int
    apart: Score | None

    @property
    def is_reordered(self) -> bool:
        """Whether enough units hold the same values in another order."""
        return self.reordered >= LEAST_REORDERED

    @property
    def differs(self) -> bool:
        """Whether what is surely untouched in both holds different draws."""
        if self.apart is None or self.apart.r is None or self.same or self.is_reordered:
            return False
        return bool(abs(self.apart.r) <= max(0.0, self.shifted or 0.0) + 6.0 / math.sqrt(self.apart.n))


@dataclass(frozen=True, slots=True, eq=False)
class Untouched:
    """The untouched units of one tensor in both checkpoints, along one axis.

    Attributes:
        axis: rows or columns.
        ids: for each checkpoint.
        sure: likewise, those surely so.
    """

    axis: Axis
    ids: tuple[NDArray[np.int64], NDArray[np.int64]]
    sure: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def either(self) -> NDArray[np.int64]:
        """Untouched in one of them."""
        return np.union1d(*self.ids)


def untouched(common: Common, found: Sequence[Survivors | None]) -> Untouched:
    """Where two surveys saw survivors: along the axis that holds more values."""

    def along(axis: Axis, least: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first, second = (_ids(each, axis, common, least) for each in found)
        return first, second

    by_row, by_column = along("row", LIKELY), along("column", LIKELY)
    in_rows, in_columns = sum(map(len, by_row)) * common.columns, sum(map(len, by_column)) * common.rows
    # What is untouched as a whole counts along either axis: then the other one's axis decides.
    if any(each is not None and each.axis == "column" for each in found) and in_columns >= in_rows:
        return Untouched("column", by_column, along("column", SURE))
    return Untouched("row", by_row, along("row", SURE))


def compare_fresh(
    couple: Couple,
    common: Common,
    found: Sequence[Survivors | None],
    where: Untouched,
    *,
    dtype: str,
    trials: int,
) -> Fresh | None:
    """Compare the untouched units of one tensor; None where there are none.

    Args:
        couple: both checkpoints.
        common: the tensor.
        found: what each survey saw in it.
        where: its untouched units.
        dtype: the coarser of those to which either is rounded.
        trials: comparisons that are made in all, which the score's p counts.
    """
    either = where.either
    if not len(either):
        return None
    a, b, ids = _read(couple, common, where.axis, either)
    near = SAME_COSINE[dtype]
    in_line, width = parallel(a, b, near)
    same = in_line | coarser_rows(a, b, dtype) | coarser_rows(b, a, dtype)
    sure = np.isin(ids, np.intersect1d(*where.sure))
    shifted, shifts, moved_same = _shifted(a, b, near)
    count = int(same.sum())
    least_width = int(width[in_line].min()) if in_line.any() else a.shape[1]
    return Fresh(
        axis=where.axis,
        score=score(a, b, trials=trials),
        shifted=shifted,
        shifts=shifts,
        units=len(ids),
        both=int(np.isin(ids, np.intersect1d(*where.ids)).sum()),
        same=count,
        least_same=least_same(a.shape[0], a.shape[1], near, trials),
        same_shifted=moved_same,
        same_values=count * a.shape[1],
        log10_p_same=by_chance(int(in_line.sum()), moved_same, a.shape[0], least_width, near, trials),
        prefix=_is_prefix(same),
        factor=_factor(a[same], b[same]) if same.any() else None,
        moved=(_moved(ids, where.ids[0], same), _moved(ids, where.ids[1], same)),
        on_grid=any(one is not None and one.scale_error <= GRID_ERROR for one in found),
        whole=(_is_whole(found[0]), _is_whole(found[1])),
        reordered=0 if same.any() else int(parallel(np.sort(a), np.sort(b), near)[0].sum()),
        apart=score(a[sure], b[sure]) if sure.any() and a[sure].size >= LEAST_APART else None,
    )


def some(ids: NDArray[np.int64], width: int, most: int = MOST_VALUES) -> NDArray[np.int64]:
    """All of these, or evenly chosen ones of so many that their values fit."""
    room = max(1, most // max(1, width))
    return ids if len(ids) <= room else ids[np.arange(room) * len(ids) // room]


def _is_whole(found: Survivors | None) -> bool:
    return found is not None and found.axis == "tensor"


def _ids(found: Survivors | None, axis: Axis, common: Common, least: float) -> NDArray[np.int64]:
    if found is None or found.axis not in (axis, "tensor"):
        return np.zeros(0, np.int64)
    if found.axis == "tensor" and axis == "column":
        surely = len(found.likely(least)) > 0
        return np.arange(common.columns if surely else 0, dtype=np.int64)
    ids = found.likely(least)
    return ids[ids < (common.columns if axis == "column" else common.rows)]


def _read(
    couple: Couple, common: Common, axis: Axis, ids: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """The values of these units, one a row of the answers, and which units they are of."""
    if axis == "row":
        chosen = some(ids, common.columns)
        a, b = couple.take(common, chosen)
        return a.astype(np.float64), b.astype(np.float64), chosen
    chosen = some(ids, min(common.rows, MOST_VALUES))
    rows = some(np.arange(common.rows, dtype=np.int64), len(chosen))
    a, b = take_columns(couple, common, rows, chosen)
    return np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), chosen


def take_columns(
    couple: Couple, common: Common, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Some columns of some rows of both, [rows, columns]; whole rows are read, a few at a time."""
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    step = max(1, CHUNK // common.columns)
    for start in range(0, len(rows), step):
        a, b = couple.take(common, rows[start : start + step])
        parts.append((a[:, columns].astype(np.float64), b[:, columns].astype(np.float64)))
    if not parts:
        return np.zeros((0, len(columns))), np.zeros((0, len(columns)))
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def _factor(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    lengths = [np.sqrt(np.einsum("ij,ij->i", each, each)) for each in (a, b)]
    return float(np.median(lengths[1] / lengths[0]))


def _shifted(a: NDArray[np.float64], b: NDArray[np.float64], near: float) -> tuple[float | None, int, int]:
    """Units shifted along either axis: the largest correlation, of how many shifts, and the most parallel.

    A survey's mistakes can have things in common, and a tensor can hold copies of its own rows.
    """
    if len(a) < 3:
        return None, 0, 0
    same = max(
        int(parallel(a, np.roll(b, shift, axis=0), near)[0].sum()) for shift in shifts_of(len(a), COPIES)
    )
    whole = np.isfinite(a).all() and np.isfinite(b).all()
    x, y = (each - each.mean() if whole else np.zeros_like(each) for each in (a, b))
    size = float(np.sqrt(np.einsum("ij,ij->", x, x) * np.einsum("ij,ij->", y, y)))
    largest, count = 0.0, 0
    for axis in (0, 1):
        for shift in shifts_of(a.shape[axis], SHIFTS):
            along = float(np.einsum("ij,ij->", x, np.roll(y, shift, axis=axis)))
            largest = max(largest, along / size if size > 0.0 else 0.0)
            count += 1
    return largest, count, same


def _moved(ids: NDArray[np.int64], left: NDArray[np.int64], same: NDArray[np.bool_]) -> int:
    """How many of the units that one checkpoint left alone the other one did not."""
    return int((np.isin(ids, left, assume_unique=True) & ~same).sum())


def _is_prefix(same: NDArray[np.bool_]) -> bool:
    """Whether nearly all units up to some one are the same, and none of several after it."""
    if not same.any():
        return False
    end = int(np.flatnonzero(same)[-1]) + 1
    return end >= LEAST_PREFIX and len(same) - end >= LEAST_PREFIX and bool(same[:end].mean() >= PREFIX_SHARE)
