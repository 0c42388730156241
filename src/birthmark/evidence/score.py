"""The score of a prediction: Pearson's correlation with the stored values, and how surprising it is.

r = cov(stored, predicted) / (std(stored) std(predicted)); sigma = r sqrt(n). For r near 1 the Gaussian tail
of sigma is far above the exact one, so small samples are never overrated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.significance import after_trials, log10_tail

#: Two points always lie on a line; below this number a correlation says nothing.
LEAST = 3
#: Standard errors on either side of an interval of 95 %.
NORMAL_95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Score:
    """What a prediction scores on stored values.

    Attributes:
        n: elements compared.
        r: their correlation, -1 to 1; None where it does not exist.
        sigma: r sqrt(n), standard normal under a wrong prediction.
        log10_p_local: log10 of the Gaussian upper tail of sigma.
        log10_p_global: the same after `trials` tries.
        trials: how many predictions were tried on these values.
        reason: why there is no score; None where there is one.
    """

    n: int
    r: float | None
    sigma: float | None
    log10_p_local: float | None
    log10_p_global: float | None
    trials: int
    reason: str | None = None

    def rarer_than(self, log10_p: float) -> bool:
        """Whether the score, after trials, is rarer than this probability."""
        return self.log10_p_global is not None and self.log10_p_global <= log10_p


def score(stored: NDArray[np.floating], predicted: NDArray[np.floating], *, trials: int = 1) -> Score:
    """Score predicted values on stored ones.

    Args:
        stored: values as the checkpoint holds them, any scale; pairs with a non-finite value are left out.
        predicted: standard values (or any affine image of them), same length.
        trials: predictions tried on these values, this one included.
    """
    x = np.asarray(stored, dtype=np.float64).ravel()
    y = np.asarray(predicted, dtype=np.float64).ravel()
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    n = int(x.size)
    if n < LEAST:
        return _none(n, trials, f"{n} elements are too few for a correlation (at least {LEAST})")
    r = correlation(x, y)
    if r is None:
        return _none(n, trials, "all stored or all predicted values are equal, so there is no correlation")
    sigma = r * float(np.sqrt(n))
    local = log10_tail(sigma)
    return Score(n, r, sigma, local, after_trials(local, trials), trials)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    """Pearson's r of two finite float64 arrays, two-pass; None where one of them is constant."""
    a, b = _standardised(x), _standardised(y)
    if a is None or b is None:
        return None
    return float(np.clip(dot(a, b), -1.0, 1.0))


def fisher(r: float, n: float) -> tuple[float, float] | None:
    """The interval of 95 % of a correlation, by Fisher's z; None for fewer than 4 values or |r| = 1.

    Source: Fisher, "On the probable error of a coefficient of correlation", Metron 1 (1921).
    """
    if n < 4 or not abs(r) < 1.0:
        return None
    middle, reach = math.atanh(r), NORMAL_95 / math.sqrt(n - 3)
    return math.tanh(middle - reach), math.tanh(middle + reach)


def dot(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Sum of products in one thread: the same on every machine, and quicker than BLAS on busy ones."""
    return float(np.einsum("i,i->", x, y))


def _standardised(x: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Mean 0 and unit length. Scaled first, so that squares of very small or large values stay finite."""
    largest = float(np.max(np.abs(x)))
    if largest == 0.0 or np.all(x == x[0]):
        return None
    x = x / largest
    x = x - x.mean()
    length = float(np.sqrt(dot(x, x)))
    return x / length if length > 0.0 else None


def _none(n: int, trials: int, reason: str) -> Score:
    return Score(n, None, None, None, None, trials, reason)
