"""Two checkpoints, tensor by tensor: what their untouched rows share, and what their trained ones do.

Untouched rows decide. A fresh draw is independent of everything but its own seed, so that rows which are
still fresh in one checkpoint cannot correlate with the same rows of another one by chance, whatever that
other one went through: r sqrt(n) is standard normal unless they share their initial values. Trained rows have
structure, so their correlation is held against the same rows shifted past each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.evidence.score import Score, correlation, score
from birthmark.lineage.matching import Matching, match_rows
from birthmark.survivors.levelling import levelled
from birthmark.survivors.survivor import Survivors

#: Values of a tensor that are looked at, at the most, for its untouched and for its trained rows each.
MOST_VALUES: Final = 1 << 20
#: Shifts of the rows against each other that make the background of trained values.
SHIFTS: Final = 24
#: Trained rows that this takes at least.
LEAST_ROWS: Final = 2 * SHIFTS
#: Probability from which a row counts as untouched.
LIKELY: Final = 0.5
#: Rows that agree up to some row and not beyond: so many on either side, and such a share of the first ones.
LEAST_PREFIX, PREFIX_SHARE = 8, 0.8
#: Two rows hold one draw when the cosine of their angle is this near to 1: bfloat16 leaves some 1e-6.
SAME_COSINE: Final = 1e-5


@dataclass(frozen=True, slots=True)
class Trained:
    """How trained rows of two checkpoints compare.

    Attributes:
        n: values.
        r: correlation of the levelled values.
        background: largest r among the shifted pairings.
        sigma: how far r lies above the shifted pairings, in their own spread (at least 1 / sqrt(n)).
        equal_rows: rows whose bits are equal in both, those of one repeated value left out.
        rows: rows compared.
    """

    n: int
    r: float
    background: float
    sigma: float
    equal_rows: int
    rows: int

    @property
    def stands_out(self) -> bool:
        """Whether the correlation is more than structure explains."""
        return self.sigma >= 6.0 and self.r > self.background


@dataclass(frozen=True, slots=True)
class Pairing:
    """One tensor in two checkpoints.

    Attributes:
        tensor: its name.
        identical: whether all that was looked at has equal bits.
        fresh: score of the first's values on the second's, over rows that are untouched in either; None
            where there are none.
        shifted: largest correlation of those rows with each other when shifted past each other, which is
            what they have in common as rows of one kind; None with fewer than three.
        same_rows: untouched rows that hold one draw, up to a factor.
        prefix: whether those are the first of the untouched rows, and no later one is.
        fresh_rows: rows untouched in either.
        factor: the second's scale over the first's in those same rows; None without any.
        moved: rows that the first left alone and the second did not, and the other way round.
        trained: the other rows; None where there are too few.
        matching: a published test on them; None where there are too few.
    """

    tensor: str
    identical: bool
    fresh: Score | None
    shifted: float | None
    same_rows: int
    prefix: bool
    fresh_rows: int
    factor: float | None
    moved: tuple[int, int]
    trained: Trained | None
    matching: Matching | None


def pair(
    first: Checkpoint,
    second: Checkpoint,
    info: TensorInfo,
    survivors: tuple[Survivors | None, Survivors | None],
    trials: int,
) -> Pairing:
    """Compare one tensor of two checkpoints.

    Args:
        first: open.
        second: open as well.
        info: of the tensor, with equal shapes in both.
        survivors: what each survey saw in it.
        trials: tensors that are compared in all, which the score's p counts.
    """
    rows, columns = info.matrix_shape
    a_ids, b_ids = (_untouched(each, rows) for each in survivors)
    fresh = np.union1d(a_ids, b_ids)
    other = np.setdiff1d(np.arange(rows), fresh, assume_unique=True)
    fresh_rows = _some(fresh, columns)
    fresh_a, fresh_b = _both(first, second, info, fresh_rows)
    other_rows = _some(other, columns)
    other_a, other_b = _both(first, second, info, other_rows)
    same, factor = _one_draw(fresh_a, fresh_b)
    count = int(same.sum())
    looked = fresh_a.size + other_a.size
    return Pairing(
        tensor=info.name,
        identical=looked > 0 and np.array_equal(fresh_a, fresh_b) and np.array_equal(other_a, other_b),
        fresh=score(fresh_a, fresh_b, trials=trials) if fresh_a.size else None,
        shifted=_shifted(fresh_a, fresh_b),
        same_rows=count,
        prefix=_is_prefix(same),
        fresh_rows=len(fresh_rows),
        factor=factor,
        moved=(_moved(fresh_rows, a_ids, same), _moved(fresh_rows, b_ids, same)),
        trained=_compare_trained(other_a, other_b) if len(other_rows) >= LEAST_ROWS and columns > 1 else None,
        matching=match_rows(other_a, other_b),
    )


def _untouched(found: Survivors | None, rows: int) -> NDArray[np.int64]:
    """Untouched rows; a survey of columns says nothing about rows."""
    if found is None or found.axis == "column":
        return np.zeros(0, np.int64)
    return found.likely(LIKELY) if found.axis == "row" else np.arange(rows)


def _some(rows: NDArray[np.int64], columns: int) -> NDArray[np.int64]:
    """All rows, or evenly chosen ones of a large tensor."""
    room = max(1, MOST_VALUES // max(1, columns))
    return rows if len(rows) <= room else rows[np.arange(room) * len(rows) // room]


def _both(
    first: Checkpoint, second: Checkpoint, info: TensorInfo, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not len(rows):
        return np.zeros((0, 0)), np.zeros((0, 0))
    a, b = (each.take(info.name, rows).astype(np.float64) for each in (first, second))
    return a, b


def _shifted(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    """The largest correlation of rows with later ones: a survey's mistakes can have columns in common."""
    if len(a) < 3:
        return None
    shifts = dict.fromkeys(1 + number * (len(a) - 2) // SHIFTS for number in range(SHIFTS))
    found = [correlation(a.ravel(), np.roll(b, shift, axis=0).ravel()) for shift in shifts]
    return max((r for r in found if r is not None), default=0.0)


def _one_draw(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.bool_], float | None]:
    """Which rows point the same way, and the median of their ratio of lengths."""
    if not a.size:
        return np.zeros(0, np.bool_), None
    lengths = [np.sqrt(np.einsum("ij,ij->i", each, each)) for each in (a, b)]
    whole = (lengths[0] > 0.0) & (lengths[1] > 0.0) & np.isfinite(lengths[0]) & np.isfinite(lengths[1])
    along = np.einsum("ij,ij->i", a, b)
    cosine = np.where(whole, along / np.where(whole, lengths[0] * lengths[1], 1.0), 0.0)
    same = cosine > 1.0 - SAME_COSINE
    if not same.any():
        return same, None
    return same, float(np.median(lengths[1][same] / lengths[0][same]))


def _moved(rows: NDArray[np.int64], untouched: NDArray[np.int64], same: NDArray[np.bool_]) -> int:
    """How many of the rows that one checkpoint left alone the other one did not."""
    return int((np.isin(rows, untouched, assume_unique=True) & ~same).sum())


def _is_prefix(same: NDArray[np.bool_]) -> bool:
    """Whether nearly all rows up to some row are the same, and none of several after it."""
    if not same.any():
        return False
    end = int(np.flatnonzero(same)[-1]) + 1
    return end >= LEAST_PREFIX and len(same) - end >= LEAST_PREFIX and bool(same[:end].mean() >= PREFIX_SHARE)


def _compare_trained(a: NDArray[np.float64], b: NDArray[np.float64]) -> Trained:
    count, columns = a.shape
    indices = np.arange(a.size)
    x, y = (levelled(each, indices, columns).reshape(a.shape) for each in (a, b))
    r = _correlation(x, y)
    shifts = [1 + number * (count - 2) // SHIFTS for number in range(SHIFTS)]
    shifted: Sequence[float] = [_correlation(x, np.roll(y, shift, axis=0)) for shift in shifts]
    spread = max(float(np.std(shifted)), a.size**-0.5)
    return Trained(
        n=a.size,
        r=r,
        background=max(shifted),
        sigma=(r - float(np.mean(shifted))) / spread,
        equal_rows=int(((a == b).all(axis=1) & (a != a[:, :1]).any(axis=1)).sum()),
        rows=count,
    )


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    sizes = np.einsum("ij,ij->", x, x) * np.einsum("ij,ij->", y, y)
    return float(np.einsum("ij,ij->", x, y) / np.sqrt(sizes)) if sizes > 0.0 else 0.0
