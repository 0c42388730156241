"""A published test beside ours: do the units of two layers match in their own order?

Rows of two weight matrices are matched by their cosines, and the rank correlation of the matching with the
identity is tested: independently trained networks have no common order of units (Zhu, Ahmed, Kuditipudi and
Liang 2025, "Independence tests for language models", arXiv 2502.12292; here on weights of one layer, without
running the model). It sees that trained weights are alike, and cannot tell a shared birth from training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from birthmark.evidence.significance import log10_tail

#: Rows that are matched: the fewest and the most.
LEAST: Final = 32
MOST: Final = 256


@dataclass(frozen=True, slots=True)
class Matching:
    """The matching of one layer.

    Attributes:
        n: rows matched.
        rho: Spearman's rank correlation of the matching with the identity.
        log10_p: of so large a one by chance, from the normal limit of rho sqrt(n - 1).
    """

    n: int
    rho: float
    log10_p: float


def match_rows(a: NDArray[np.float64], b: NDArray[np.float64]) -> Matching | None:
    """Match rows of two matrices of one shape; None where there are fewer than `LEAST`.

    Args:
        a: float64[rows, columns]; evenly chosen rows are matched where there are many.
        b: of the same shape.
    """
    if a.shape[0] < LEAST or a.shape[1] < 2:
        return None
    count = min(MOST, a.shape[0])
    some = np.arange(count) * a.shape[0] // count
    x, y = (_directions(each[some]) for each in (a, b))
    _, matched = linear_sum_assignment(-(x @ y.T))
    centre = (count - 1) / 2.0
    rho = float(
        ((np.arange(count) - centre) * (matched - centre)).sum() / (count * (count * count - 1) / 12.0)
    )
    return Matching(count, rho, log10_tail(rho * (count - 1) ** 0.5))


def _directions(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = np.where(np.isfinite(rows), rows, 0.0)
    centred = centred - centred.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    directions: NDArray[np.float64] = centred / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return directions
