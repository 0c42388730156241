"""Shares with intervals: of rows that were counted, and of draws that were added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

#: What lies outside of an interval: 5 %, half of it on either side.
OUTSIDE = 0.05
#: Who adds models up holds each weight as a float32 number, so that it is what was meant to within this.
FLOAT32 = 2.0**-24
#: So many standard errors are half of such an interval of a normal.
ERRORS = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its 95 % interval, all 0 to 1."""

    value: float
    lo: float
    hi: float


def counted_share(count: int, of: int) -> Share:
    """The share of `count` among `of`, with the exact binomial interval.

    The interval is that of Clopper and Pearson ("The use of confidence or fiducial limits", Biometrika 26,
    1934): the shares under which neither so few nor so many would be rarer than 2.5 %.

    Args:
        count: 0 to `of`.
        of: at least 1.
    """
    half = OUTSIDE / 2.0
    lo = float(betaincinv(count, of - count + 1, half)) if count else 0.0
    hi = float(betaincinv(count + 1, of - count, 1.0 - half)) if count < of else 1.0
    return Share(count / of, lo, hi)


def weighed_share(weights: NDArray[np.float64], covariance: NDArray[np.float64], which: int) -> Share:
    """The share of one weight in the sum of all, by the delta method.

    The interval is that of the weights which were meant: 0.7 is 0.699999988 in float32, and a sum of millions
    of exact values would tell the two apart.

    Args:
        weights: float64[k], positive.
        covariance: float64[k, k], of their estimates.
        which: the weight in question.
    """
    total = float(weights.sum())
    slope = np.full(weights.size, -float(weights[which]) / total**2)
    slope[which] += 1.0 / total
    errors = covariance + np.diag((FLOAT32 * weights) ** 2)
    half = ERRORS * float(np.sqrt(max(0.0, float(np.einsum("i,ij,j->", slope, errors, slope)))))
    value = float(weights[which]) / total
    return Share(value, max(0.0, value - half), min(1.0, value + half))
