"""How well a prediction fits the selection, and how rare such a fit is by chance.

A search needs this to know when to stop; the reading's own scores are made later, from the same definition:
r is Pearson's correlation, sigma = r sqrt(n), and its Gaussian tail the probability of one try.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_LN_10 = math.log(10.0)


def correlation(stored: NDArray[np.float64], predicted: NDArray[np.floating]) -> float:
    """Pearson's r of two arrays of equal length; 0 where one of them does not vary."""
    x = stored - stored.mean() if stored.size else stored
    y = predicted.astype(np.float64)
    y -= y.mean() if y.size else 0.0
    # einsum sums in one thread and in one order: the same bits on every machine.
    xx, yy, xy = (float(np.einsum("i,i->", a, b)) for a, b in ((x, x), (y, y), (x, y)))
    if xx <= 0.0 or yy <= 0.0:
        return 0.0
    return max(-1.0, min(1.0, xy / math.sqrt(xx) / math.sqrt(yy)))


def log10_tail(sigma: float) -> float:
    """log10 of the probability that a standard normal exceeds sigma; exact enough (1e-3) at any size."""
    if sigma < 25.0:
        return math.log10(0.5 * math.erfc(sigma / math.sqrt(2.0)))
    # Abramowitz and Stegun 26.2.12.
    series = math.log1p(-1 / sigma**2 + 3 / sigma**4)
    return (-sigma * sigma / 2 - math.log(sigma * math.sqrt(2 * math.pi)) + series) / _LN_10


def log10_p(n: int, r: float, trials: int = 1) -> float:
    """log10 of the chance that the best of `trials` wrong predictions of n elements reaches r; at most 0."""
    local = log10_tail(r * math.sqrt(n)) if n else 0.0
    return min(0.0, local + math.log10(max(trials, 1)))


def least_elements(log10_limit: float, trials: int) -> int:
    """How many elements a perfect prediction needs before its log10_p, after trials, is below the limit."""
    n = 1
    while log10_p(n, 1.0, trials) > log10_limit:
        n += 1
    return n
