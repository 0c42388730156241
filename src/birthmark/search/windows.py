"""From a stored value to the integer test on raw words that its seed must pass.

A normal value is s sin v or s cos v with s = sqrt(-2 ln u) and |sin|, |cos| <= 1, so a large |z| bounds the
radius word: -ln u >= z^2 / 2. And because s cannot exceed 6.77 (u >= 2^-33), it bounds the angle word to an
arc around one direction. A uniform value names its word up to its rounding. In double precision the upper 32
bits of the 53 come from the odd word of a pair, up to its lowest 11 bits.

The windows are wide on purpose: they allow for the error of the scale, the rounding of the stored dtype, and
the arithmetic of every platform (AMD's uniforms lie half a step higher; sine units differ by 1e-6).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import interval
from birthmark.survivors.survivor import Distribution

#: Standard errors of the scale that a window allows for, and what it adds for anything unforeseen.
SCALE_ERRORS = 4.0
SLACK = 0.01
#: Absolute tolerance of a standard normal (sine units) and of a unit uniform (its lattice).
NORMAL_SLACK = 2e-5
UNIFORM_SLACK = 2.0**-22
#: The largest standard normals: u = 2^-33 in float32 and 2^-54 in double.
LARGEST_NORMAL = math.sqrt(66 * math.log(2))
LARGEST_DOUBLE = math.sqrt(108 * math.log(2))

_WORDS = 1 << 32
#: Arc added on both sides of an angle window, in words: 2.4e-5 of a radian.
_ARC_SLACK = 1 << 14
#: In double precision the first word of a pair is XORed into the lowest 11 bits of the second's.
_BLURRED = (1 << 11) - 1


def standard_interval(
    values: NDArray[np.float64], dtype: str, distribution: Distribution, scale: float, scale_error: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the standard normal (or unit uniform) behind each stored value can lie.

    Args:
        values: stored values of `dtype`.
        dtype: the stored dtype.
        distribution: "normal" of mean 0, or "uniform" on (-B, B).
        scale: the standard deviation, or B, as stored.
        scale_error: its relative standard error.

    Returns:
        (low, high), float64: ends of the interval; uniforms cut to [0, 1].
    """
    least, most = interval(values, dtype)
    spread = min(SCALE_ERRORS * scale_error + SLACK, 0.5)
    ends = np.stack([end / (scale * factor) for end in (least, most) for factor in (1 - spread, 1 + spread)])
    low, high = ends.min(axis=0), ends.max(axis=0)
    if distribution == "normal":
        return low - NORMAL_SLACK, high + NORMAL_SLACK
    return (
        np.clip((low + 1) / 2 - UNIFORM_SLACK, 0.0, 1.0),
        np.clip((high + 1) / 2 + UNIFORM_SLACK, 0.0, 1.0),
    )


def chance(
    distribution: Distribution, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The probability that a wrong seed's standard value lies in [low, high]."""
    if distribution == "uniform":
        return np.maximum(high - low, 0.0)
    from scipy.special import ndtr  # slow to import, and only normals need it

    # In the tail on the right the difference would cancel; the left one is its mirror image.
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    tail: NDArray[np.float64] = np.maximum(ndtr(b) - ndtr(a), 0.0)
    return tail


def probe(
    distribution: Distribution, low: float, high: float, lane: int, *, double: bool
) -> tuple[int, NDArray[np.uint64], float] | None:
    """The test of one element's words.

    Args:
        distribution: "normal" or "uniform".
        low: the least standard value.
        high: the largest.
        lane: which of its call's values the element takes (0 to 3; 0 or 1 in double precision).
        double: whether the draw is in double precision.

    Returns:
        The pair of words (0 or 1); low and width of the window of its first word and of its second,
        uint64[4]; and the share of seeds that pass. None where the value cannot be a probe: a normal whose
        interval holds 0, or a value that the generator cannot make.
    """
    if distribution == "uniform":
        return _uniform(low, high, lane, double=double)
    return _normal(low, high, lane, double=double)


def _normal(
    low: float, high: float, lane: int, *, double: bool
) -> tuple[int, NDArray[np.uint64], float] | None:
    size = max(low, -high)
    if size <= 0.0 or size >= (LARGEST_DOUBLE if double else LARGEST_NORMAL):
        return None
    most = radius_limit(size)
    if double:
        return 0, _windows(0, _WORDS - 1, 0, most | _BLURRED), ((most | _BLURRED) + 1) / _WORDS
    # Directions of positive sine, positive cosine, negative sine and negative cosine, in turns of 2^32.
    centre = (lane % 2 == 0) * (_WORDS // 4) + (low < 0) * (_WORDS // 2)
    half = int(math.acos(size / LARGEST_NORMAL) / (2 * math.pi) * _WORDS) + _ARC_SLACK
    width = min(2 * half, _WORDS - 1)
    share = (most + 1) / _WORDS * (width + 1) / _WORDS
    return lane // 2, _windows(0, most, centre - half, width), share


def radius_limit(size: float) -> int:
    """The largest radius word that can give a normal of this magnitude, on any platform."""
    return min(int(_WORDS * math.exp(-size * size / 2) * (1 + 2.0**-20)) + 2, _WORDS - 1)


def _uniform(
    low: float, high: float, lane: int, *, double: bool
) -> tuple[int, NDArray[np.uint64], float] | None:
    if not low < high:
        return None
    first = max(math.floor(low * _WORDS) - 2, 0)
    last = min(math.ceil(high * _WORDS) + 2, _WORDS - 1)
    if double:
        first, last = first & ~_BLURRED, last | _BLURRED
    pair, odd = (lane, True) if double else (lane // 2, lane % 2 == 1)
    window = (first, last - first)
    whole = (0, _WORDS - 1)
    words = (*whole, *window) if odd else (*window, *whole)
    return pair, _windows(*words), (last - first + 1) / _WORDS


def _windows(low_0: int, width_0: int, low_1: int, width_1: int) -> NDArray[np.uint64]:
    return np.array([low_0 % _WORDS, width_0, low_1 % _WORDS, width_1], dtype=np.uint64)
