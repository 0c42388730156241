"""Copies, value by value: equal, one the rounding of the other, scaled, pruned, or put on a coarser grid.

A copy explains every value, so all of them are counted, block by block. What kind of copy to count is
decided on a sample first. How often values coincide that do not belong together is measured on the same
sample, with its rows shifted past each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Values
from birthmark.lineage.chance import log10_coincidences
from birthmark.lineage.steps import coarser_rows, could_be_one, grid_of, unit
from birthmark.lineage.tensors import Common, Couple
from birthmark.numerics.dtypes import FORMATS, round_to

#: Values of the sample, and values that are read at a time.
SAMPLE: Final = 1 << 16
CHUNK: Final = 1 << 21
#: Shifts of the sample's rows that measure coincidence.
SHIFTS: Final = 8
#: Share of the sample from which a kind of copy is counted at all.
WORTH: Final = 0.5
#: Share of all values that a copy explains; the rest may be a few that were edited.
EXPLAINED: Final = 0.999
#: Units of either rounding that a scaled copy may be off, the factor's own error included.
NEAR: Final = 1.05
#: Agreement of a copy must be rarer than this, by the rate of coincidences among shifted rows.
RARE: Final = -9.0

Way = Literal["equal", "rounded", "scaled", "row-scaled", "coarser", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Copied:
    """How the values of one tensor in two checkpoints agree.

    Attributes:
        way: the kind of copy that was counted: equal values; equal once both are rounded to `dtype`; up to
            one `factor`; up to one factor a row; one of them on a coarser grid.
        n: values compared, all that both have.
        equal: those with equal values.
        explained: those beyond that agree in the counted way.
        zeroed: those beyond that are 0 in the first only, and in the second only.
        dtype: the coarsest that either is rounded to, whatever it is stored in.
        grids: what each is rounded to.
        factor: the second's scale over the first's.
        coarse: 1 or 2, which lies on the coarser grid, for "coarser".
        rate: how often values agree that do not belong together, by the (n + 1) rule.
        log10_p: of so much agreement by chance, on the sample, one tensor's.
        same_rows: bool[rows], rows of which every value agrees.
    """

    way: Way
    n: int
    equal: int
    explained: int
    zeroed: tuple[int, int]
    dtype: str
    grids: tuple[str, str]
    factor: float
    coarse: Literal[1, 2] | None
    rate: float
    log10_p: float
    same_rows: NDArray[np.bool_]

    @property
    def identical(self) -> bool:
        """Whether every value is equal."""
        return self.equal == self.n

    @property
    def is_copy(self) -> bool:
        """Whether it is a copy, and not by chance: of the values that are 0 in neither, enough agree."""
        explained = self.equal + self.explained + sum(self.zeroed)
        return explained >= EXPLAINED * self.n and self.log10_p <= RARE


def compare_values(couple: Couple, common: Common) -> Copied:
    """Count how the values of one tensor agree."""
    rows, columns = common.rows, common.columns
    room = max(1, SAMPLE // columns)
    chosen = np.arange(min(rows, room), dtype=np.int64) * rows // min(rows, room)
    a, b = couple.take(common, chosen)
    grids = grid_of(a, common.dtypes[0]), grid_of(b, common.dtypes[1])
    dtype = min(grids, key=lambda name: FORMATS[name].precision)
    counting = _decide(a, b, dtype, grids)
    rate, reached, count = _measured(a, b, counting)
    equal, explained, zeroed = 0, 0, [0, 0]
    same = np.zeros(rows, np.bool_)
    step = max(1, CHUNK // columns)
    for start in range(0, rows, step):
        stop = min(rows, start + step)
        x, y = couple.rows(common, start, stop)
        is_equal = _equal(x, y)
        agree = is_equal if is_equal.all() else is_equal | counting.agree(x, y)
        same[start:stop] = agree.all(axis=1)
        equal += int(np.count_nonzero(is_equal))
        explained += int(np.count_nonzero(agree)) - int(np.count_nonzero(is_equal))
        if not agree.all():
            for side, (zero, other) in enumerate(((x, y), (y, x))):
                zeroed[side] += int(np.count_nonzero((zero == 0.0) & (other != 0.0) & ~agree))
    log10_p = log10_coincidences(reached, count, rate)
    return Copied(
        counting.way, rows * columns, equal, explained, (zeroed[0], zeroed[1]), dtype, grids,
        counting.factor, counting.coarse, rate, log10_p, same,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Counting:
    """What counts as agreement."""

    way: Way
    dtype: str
    factor: float = 1.0
    coarse: Literal[1, 2] | None = None
    both: tuple[str, str] | None = None

    def agree(self, a: Values, b: Values) -> NDArray[np.bool_]:
        """Which values agree."""
        if self.way == "none" or self.way == "equal":
            return _equal(a, b)
        if self.way == "rounded" and self.both is not None:
            return could_be_one(a, b, self.both)
        if self.way == "rounded":
            return _equal(round_to(a, self.dtype), round_to(b, self.dtype))
        if self.way == "coarser":
            one, other = (a, b) if self.coarse == 2 else (b, a)
            whole = np.broadcast_to(coarser_rows(one, other, self.dtype)[:, None], a.shape)
            return whole | _equal(a, b)
        x, y = a.astype(np.float64), b.astype(np.float64)
        factor = row_factors(x, y)[:, None] if self.way == "row-scaled" else self.factor
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = factor * x
            # The first's own rounding is scaled with it.
            width = unit(y, self.dtype) + np.abs(factor) * unit(x, self.dtype)
            near = np.abs(y - scaled) <= 0.5 * NEAR * width
        agree: NDArray[np.bool_] = near & ((x == 0.0) == (y == 0.0))
        return agree


def row_factors(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least-squares factor of each row, 0 where the first is 0 or not finite."""
    size, along = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", x, y)
    sound = np.isfinite(along) & (size > 0.0)
    factors: NDArray[np.float64] = np.where(sound, along, 0.0) / np.where(sound, size, 1.0)
    return factors


def _decide(a: Values, b: Values, dtype: str, grids: tuple[str, str]) -> _Counting:
    """The kind of copy that explains most of a sample."""
    if not a.size or _share(_equal(a, b), a, b) >= 1.0:
        return _Counting("equal", dtype)
    # float16 and bfloat16 of one number need not be roundings of each other.
    narrow = grids[0] != grids[1] and all(FORMATS[each].bits == 16 for each in grids)
    rounded = _Counting("rounded", dtype, both=grids if narrow else None)
    if _share(rounded.agree(a, b), a, b) >= WORTH:
        return rounded
    x, y = a.astype(np.float64), b.astype(np.float64)
    both = np.isfinite(x) & np.isfinite(y) & (x != 0.0) & (y != 0.0)
    if not both.any():
        return _Counting("none", dtype)
    usual = float(np.median(y[both] / x[both]))
    near = both & (np.abs(y - usual * x) <= 0.02 * np.abs(usual * x))
    factor = float(y[near] @ x[near] / (x[near] @ x[near])) if near.any() else usual
    # A factor within rounding of 1 is none: a few steps of training stay as near.
    least = 2.0 ** (1 - FORMATS[dtype].precision)
    found = [_Counting("scaled", dtype, factor)] if np.isfinite(factor) and abs(factor - 1.0) > least else []
    if a.shape[0] > 1 and a.shape[1] >= 8 and np.median(np.abs(row_factors(x, y) - 1.0)) > least:
        found.append(_Counting("row-scaled", dtype))
    found += [_Counting("coarser", dtype, 1.0, 2), _Counting("coarser", dtype, 1.0, 1)]
    for each in found:
        if _share(each.agree(a, b), a, b) >= WORTH:
            return each
    return _Counting("equal", dtype) if _share(_equal(a, b), a, b) > 0.0 else _Counting("none", dtype)


def _measured(a: Values, b: Values, counting: _Counting) -> tuple[float, int, int]:
    """How often values agree that do not belong together; how many that do, and of how many."""
    whole = _nonzero(a, b)
    count = int(np.count_nonzero(whole))
    reached = int(np.count_nonzero((counting.agree(a, b) | _equal(a, b)) & whole))
    flat = a.shape[0] < 2
    length = a.shape[1] if flat else a.shape[0]
    hits, tried = 0, 0
    for number in range(SHIFTS if length > 2 else 0):
        moved = np.roll(b, 1 + number * (length - 2) // SHIFTS, axis=1 if flat else 0)
        telling = _nonzero(a, moved)
        hits += int(np.count_nonzero((counting.agree(a, moved) | _equal(a, moved)) & telling))
        tried += int(np.count_nonzero(telling))
    return (hits + 1) / (tried + 1), reached, count


def _equal(a: Values, b: Values) -> NDArray[np.bool_]:
    """Equal values, and values that are no numbers in both."""
    same: NDArray[np.bool_] = a == b
    if not same.all():
        same |= (a != a) & (b != b)
    return same


def _nonzero(a: Values, b: Values) -> NDArray[np.bool_]:
    """Zeros are what pruning and padding leave, and coincide by themselves."""
    return np.asarray((a != 0.0) & (b != 0.0))


def _share(agree: NDArray[np.bool_], a: Values, b: Values) -> float:
    among = _nonzero(a, b)
    count = int(np.count_nonzero(among))
    return int(np.count_nonzero(agree & among)) / count if count else float(agree.all())
