"""Tensors together: one correlation over all of them, and how much they differ.

Fixed effects: Fisher's z of each tensor, weighted by n - 3, the inverse of its variance. Under a wrong
prediction every z is standard normal whatever the tensor holds, and so is their weighted sum, once its
variance allows for tensors that are predicted by the same numbers. Tensors that keep different amounts of
their birth are no flaw; how much they differ is told by Cochran's Q.

Source: Cochran, "The combination of estimates from different experiments", Biometrics 10 (1954).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.score import NORMAL_95

#: Correlations are taken for no nearer to 1 than this: Fisher's z of 1 is infinite.
NEAREST = 1.0 - 1e-12


@dataclass(frozen=True, slots=True)
class Pooled:
    """One correlation for several tensors.

    Attributes:
        tensors: how many.
        n: values in all of them.
        r, low, high: the correlation with its interval of 95 %.
        z: standard normal under a wrong prediction.
        q: Cochran's Q, chi-squared with `tensors` - 1 degrees of freedom if all keep as much.
    """

    tensors: int
    n: int
    r: float
    low: float
    high: float
    z: float
    q: float


def pool(r: Sequence[float], n: Sequence[int], inflation: float = 1.0) -> Pooled | None:
    """Pool correlations; those that do not exist, or of fewer than 4 values, are left out.

    Args:
        r: of each tensor, NaN where there is none.
        n: values of each.
        inflation: of the variance, where tensors are predicted by the same numbers (see `sharing`).

    Returns:
        None where nothing is left.
    """
    every, count = np.array(r, np.float64), np.array(n, np.int64)
    use = np.isfinite(every) & (count >= 4)
    if not use.any():
        return None
    z, weight = np.arctanh(np.clip(every[use], -NEAREST, NEAREST)), count[use] - 3.0
    total = float(weight.sum())
    middle, error = float((weight * z).sum()) / total, math.sqrt(inflation / total)
    return Pooled(
        int(use.sum()),
        int(count[use].sum()),
        math.tanh(middle),
        math.tanh(middle - NORMAL_95 * error),
        math.tanh(middle + NORMAL_95 * error),
        middle / error,
        float((weight * (z - middle) ** 2).sum()),
    )


def pooled_z(r: NDArray[np.float64], n: NDArray[np.int64], inflation: float = 1.0) -> NDArray[np.float64]:
    """The z of `pool` for each row of r, float64[rows, tensors]; correlations that are NaN count as 0."""
    weight = np.maximum(n - 3.0, 0.0)
    z = np.arctanh(np.clip(np.nan_to_num(r, nan=0.0), -NEAREST, NEAREST))
    found: NDArray[np.float64] = z @ weight / math.sqrt(max(float(weight.sum()), 1.0) * inflation)
    return found
