"""Trained rows of two checkpoints: what they share beyond the structure that rows have in common.

Trained rows have structure, so their correlation is held against the same values shifted past each other, row
by row and column by column. Where either axis counts hidden units that is exact, since nothing but a shared
beginning tells one unit from another (Zhu et al. 2025); which axis does is not known, so r must stand out
from both: two embeddings of one language have the same loadings in every row, on directions of their own. The
difference is looked at as well: an adapter that was merged leaves one of low
rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.significance import after_trials
from birthmark.lineage.chance import log10_beyond, reached_at, sigmas_beyond
from birthmark.lineage.parallel import shifts_of
from birthmark.lineage.steps import unit
from birthmark.survivors.levelling import levelled

#: Shifts along either axis that make the background of trained values, at the most.
SHIFTS: Final = 24
#: Trained rows, and columns, that this takes at least.
LEAST_ROWS, LEAST_COLUMNS = 2 * SHIFTS, 16
#: After all trials a correlation must be rarer than this to be more than structure.
SIGNIFICANT: Final = -6.0
#: Rows and columns of which the difference's rank is taken, and its share of the smaller side at the most.
RANK_SIDE, RANK_SHARE = 256, 0.25
#: Correlation from which the difference is looked at.
ALIKE: Final = 0.5
#: A singular value of pure rounding may reach this many times its expected edge.
EDGE: Final = 1.5


@dataclass(frozen=True, slots=True)
class Trained:
    """How trained rows of two checkpoints compare.

    Attributes:
        n: values.
        r: correlation of the levelled values.
        background: largest r among the shifted pairings.
        shifts: how many of those there are.
        sigma: how far r lies above the shifted pairings of the axis that shares more, in their own spread
            (at least 1 / sqrt(n)).
        log10_p: of one more shifted pairing reaching r, along that axis, after the trials.
        detectable: the least r that would have been told from both backgrounds.
        rows: rows compared.
        rank: of the difference, where it is far below full and the rest is rounding; None elsewhere.
        full: the rank that it could have had.
    """

    n: int
    r: float
    background: float
    shifts: int
    sigma: float
    log10_p: float
    detectable: float
    rows: int
    rank: int | None
    full: int

    @property
    def stands_out(self) -> bool:
        """Whether the correlation is more than structure explains."""
        return self.log10_p <= SIGNIFICANT and self.r > self.background


def compare_trained(
    a: NDArray[np.float64], b: NDArray[np.float64], dtypes: Sequence[str], trials: int
) -> Trained | None:
    """Compare two matrices of one shape; None with fewer rows or columns than `LEAST_ROWS`, `LEAST_COLUMNS`.

    Args:
        a: float64[rows, columns].
        b: likewise.
        dtypes: to which either is rounded.
        trials: tensors and pairs that are compared in all.
    """
    count, columns = a.shape
    if count < LEAST_ROWS or columns < LEAST_COLUMNS:
        return None
    indices = np.arange(a.size)
    x, y = (levelled(each, indices, columns).reshape(a.shape) for each in (a, b))
    r = _correlation(x, y)
    backgrounds = [
        np.array([_correlation(x, np.roll(y, shift, axis=axis)) for shift in shifts_of(length, SHIFTS)])
        for axis, length in enumerate(a.shape)
    ]
    least = a.size**-0.5
    rank, full = _rank(a, b, dtypes) if r >= ALIKE else (None, 0)
    # Of so many tries each must be that much rarer.
    needed = SIGNIFICANT - float(np.log10(max(1, trials)))
    return Trained(
        n=a.size,
        r=r,
        background=max(float(each.max()) for each in backgrounds),
        shifts=sum(map(len, backgrounds)),
        sigma=min(sigmas_beyond(r, each, least) for each in backgrounds),
        log10_p=after_trials(max(log10_beyond(r, each, least) for each in backgrounds), trials),
        detectable=min(1.0, max(reached_at(needed, each, least) for each in backgrounds)),
        rows=count,
        rank=rank,
        full=full,
    )


def _rank(a: NDArray[np.float64], b: NDArray[np.float64], dtypes: Sequence[str]) -> tuple[int | None, int]:
    """The rank of the difference of two matrices above their rounding, and the rank it could have."""
    rows, columns = (np.arange(min(size, RANK_SIDE)) * size // min(size, RANK_SIDE) for size in a.shape)
    x, y = a[np.ix_(rows, columns)], b[np.ix_(rows, columns)]
    full = min(x.shape)
    change = y - x
    if not np.isfinite(change).all():
        return None, full
    noise = sum(float(np.mean(unit(each, dtype) ** 2)) for each, dtype in zip((x, y), dtypes, strict=True))
    edge = EDGE * (noise / 12.0) ** 0.5 * (x.shape[0] ** 0.5 + x.shape[1] ** 0.5)
    rank = int(np.count_nonzero(np.linalg.svd(change, compute_uv=False) > edge))
    return (rank, full) if 0 < rank <= RANK_SHARE * full else (None, full)


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    sizes = np.einsum("ij,ij->", x, x) * np.einsum("ij,ij->", y, y)
    return float(np.einsum("ij,ij->", x, y) / np.sqrt(sizes)) if sizes > 0.0 else 0.0
