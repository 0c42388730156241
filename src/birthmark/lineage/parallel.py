"""Units that hold one draw: parallel to within rounding, in place, and how likely that is by chance."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Two rows hold one draw when the cosine of their angle is this near to 1: rounding leaves some 6e-7 of
#: bfloat16 and 1e-8 of float16, and many steps of weight decay 1e-11 of float32.
SAME_COSINE: Final = {"bfloat16": 2e-6, "float16": 5e-8, "float32": 1e-10, "float64": 1e-10}
#: A row of fewer values can point the same way by chance: of 8 in bfloat16, once in some 10^19.
LEAST_WIDTH: Final = 8
#: After all trials the evidence of a birth must be rarer than this.
SIGNIFICANT: Final = -6.0
#: So many times as many units must be parallel in place as among shifted ones.
MORE_SAME: Final = 10


def shifts_of(length: int, most: int) -> list[int]:
    """At most so many different shifts of a circle of this length, none of them 0, evenly spread."""
    return sorted({1 + number * (length - 2) // most for number in range(most)}) if length > 2 else []


def parallel(
    a: NDArray[np.float64], b: NDArray[np.float64], near: float
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which units are parallel to within rounding, and how many values of each tell: zeros may be pruned."""
    use = (a != 0.0) & (b != 0.0)
    width: NDArray[np.int64] = np.count_nonzero(use, axis=1)
    x, y = (a, b) if use.all() else (np.where(use, a, 0.0), np.where(use, b, 0.0))
    lengths = [np.sqrt(np.einsum("ij,ij->i", each, each)) for each in (x, y)]
    whole = (width >= LEAST_WIDTH) & np.isfinite(lengths[0]) & np.isfinite(lengths[1])
    along = np.einsum("ij,ij->i", x, y)
    cosine = np.where(whole, along / np.where(whole, lengths[0] * lengths[1], 1.0), 0.0)
    return np.asarray(cosine > 1.0 - near), width


def by_chance(same: int, shifted: int, units: int, width: int, near: float, trials: int) -> float:
    """log10 of the chance of so many parallel units: for each, the share of the sphere that is so near.

    The cap of half-angle t covers at most sin(t)^(width - 1) / 2 of the sphere in `width` dimensions, and
    sin(t)^2 < 2 (1 - cos(t)). Which units they are is a choice among all.
    """
    if not same or width < LEAST_WIDTH or same <= MORE_SAME * shifted:
        return 0.0
    return min(0.0, same * _one_parallel(units, width, near) + math.log10(max(1, trials)))


def _one_parallel(units: int, width: int, near: float) -> float:
    return 0.5 * (width - 1) * math.log10(2.0 * near) + math.log10(units)


def least_same(units: int, width: int, near: float, trials: int) -> int | None:
    """How many parallel units prove a birth."""
    one = _one_parallel(units, width, near)
    if width < LEAST_WIDTH or one >= 0.0:
        return None
    least = math.ceil((SIGNIFICANT - math.log10(max(1, trials))) / one)
    return least if least <= units else None
