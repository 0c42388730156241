"""Tails that lineage needs: of coincidences that were counted, and of backgrounds that were measured.

Both are given as base-10 logarithms and never reach minus infinity where a longer tail would be more honest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

#: Spread of a background below which it is taken to be no background at all.
_TINY = 1e-300


def log10_coincidences(reached: int, count: int, rate: float) -> float:
    """log10 of the chance that at least `reached` of `count` coincide, each with probability `rate`.

    Chernoff's bound exp(-count KL(reached / count, rate)), which is never below the binomial tail (Hoeffding
    1963, "Probability inequalities for sums of bounded random variables", theorem 1).

    Args:
        reached: coincidences, 0 to `count`.
        count: comparisons, independent of each other.
        rate: of one comparison, 0 < rate <= 1; measured ones should follow the (n + 1) rule.
    """
    if count < 1 or reached <= rate * count:
        return 0.0
    share = reached / count
    apart = share * math.log(share / rate)
    if share < 1.0:
        apart += (1.0 - share) * math.log((1.0 - share) / (1.0 - rate))
    return min(0.0, -count * apart / math.log(10.0)) + 0.0


def log10_beyond(value: float, background: NDArray[np.float64], least_spread: float) -> float:
    """log10 of the chance that one more of a measured background reaches a value.

    The background's own mean and spread are estimates, so the tail is Student's with one degree of freedom
    less than it has members.

    Args:
        value: what was found.
        background: float64, two members at least.
        least_spread: standard deviation that the background has in theory; a smaller one is chance.
    """
    score, freedom = _standing(value, background, least_spread)
    tail = float(stdtr(freedom, -score))
    return min(0.0, math.log10(max(tail, _TINY))) + 0.0


def sigmas_beyond(value: float, background: NDArray[np.float64], least_spread: float) -> float:
    """How far a value lies above a measured background, in the background's spread."""
    return (value - float(background.mean())) / _spread(background, least_spread)


def reached_at(log10_p: float, background: NDArray[np.float64], least_spread: float) -> float:
    """The value from which a measured background is exceeded as rarely as this: `log10_beyond` undone."""
    count = len(background)
    away = -float(stdtrit(count - 1, 10.0 ** max(log10_p, -300.0)))
    width = _spread(background, least_spread) * math.sqrt(1.0 + 1.0 / count)
    return float(background.mean()) + away * width


def _standing(value: float, background: NDArray[np.float64], least_spread: float) -> tuple[float, int]:
    count = len(background)
    return sigmas_beyond(value, background, least_spread) / math.sqrt(1.0 + 1.0 / count), count - 1


def _spread(background: NDArray[np.float64], least: float) -> float:
    return max(float(np.std(background, ddof=1)), least, _TINY)
