"""From a stored value to the integer test on raw words that its seed must pass.

A normal value is s sin v or s cos v with s = sqrt(-2 ln u) and |sin|, |cos| <= 1, so a large |z| bounds the
radius word: -ln u >= z^2 / 2. And because s cannot exceed 6.77 (u >= 2^-33), it bounds the angle word to an
arc around one direction. A uniform value names its word up to its rounding. In double precision the upper 32
bits of the 53 come from the odd word of a pair, up to its lowest 11 bits.

In the plane of both words a normal's interval is a curved band inside its two windows, and most of their area
lies outside it. Stairs, a table of arcs for steps of the radius word, follow the band closely.

Windows and stairs are wide on purpose: they allow for the error of the scale, the rounding of the stored
dtype, and the arithmetic of every platform (AMD's uniforms lie half a step higher, sine units differ a bit).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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

#: Where more seeds than this pass, most chunks of the kernel have hits.
DENSE = 1 / 256

_WORDS = 1 << 32
#: Steps of the radius word at the most, a power of two.
STEPS = 256
#: Arc added on both sides of an angle window, in words: 2.4e-5 of a radian.
_ARC_SLACK = 1 << 14
#: In double precision the first word of a pair is XORed into the lowest 11 bits of the second's.
_BLURRED = (1 << 11) - 1


def scale_spread(scale_error: float) -> float:
    """By how much, relatively, a scale may be off, from its relative standard error."""
    return min(SCALE_ERRORS * scale_error + SLACK, 0.5)


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
    spread = scale_spread(scale_error)
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


@dataclass(frozen=True, slots=True, eq=False)
class WordsTest:
    """What the two words of a pair must be for a seed to pass.

    Attributes:
        pair: 0 for the words 0 and 1 of the block, 1 for its words 2 and 3.
        windows: uint64[7]: low and width of the first word's window and of the second's; then the
            direction from which arcs are measured, and the bits by which the first word is shifted down to
            give its step; then 1 where so many seeds pass that the kernel need not count before it collects.
        stairs: uint64[steps, 2]: the nearest and the farthest distance of the second word from the direction,
            shifted up by 32 bits.
        share: the share of seeds whose words lie in the windows.
        fine: the share that also stays on the stairs.
    """

    pair: int
    windows: NDArray[np.uint64]
    stairs: NDArray[np.uint64]
    share: float
    fine: float


#: Stairs that let everything pass: two steps, for a shift of 31 bits leaves one bit.
_LEVEL = np.array([[0, 2**64 - 1]] * 2, np.uint64)
_LEVEL_SHIFT = 31


def words_test(
    distribution: Distribution, low: float, high: float, lane: int, *, double: bool, finer: bool = True
) -> WordsTest | None:
    """The test of one element's words.

    Args:
        distribution: "normal" or "uniform".
        low: the least standard value.
        high: the largest.
        lane: which of its call's values the element takes (0 to 3; 0 or 1 in double precision).
        double: whether the draw is in double precision.
        finer: whether the finer test is needed as well.

    Returns:
        The test; None where the value can have none: a normal whose interval holds 0, or a value that the
        generator cannot make.
    """
    if distribution == "uniform":
        return _uniform(low, high, lane, double=double)
    return _normal(low, high, lane, double=double, finer=finer)


def around(pair: int, even: int, odd: int, margin: int) -> WordsTest:
    """A test that given words pass, and others only within a margin of both."""
    share = ((2 * margin + 1) / _WORDS) ** 2
    windows = _windows(even - margin, 2 * margin, odd - margin, 2 * margin)
    return WordsTest(pair, windows, _LEVEL, share, share)


def radius_limit(size: float) -> int:
    """The largest radius word that can give a normal of this magnitude, on any platform."""
    return min(int(_WORDS * math.exp(-size * size / 2) * (1 + 2.0**-20)) + 2, _WORDS - 1)


def _normal(low: float, high: float, lane: int, *, double: bool, finer: bool) -> WordsTest | None:
    least, most = max(low, -high), max(-low, high)
    if least <= 0.0 or least >= (LARGEST_DOUBLE if double else LARGEST_NORMAL):
        return None
    limit = radius_limit(least)
    if double:
        share = ((limit | _BLURRED) + 1) / _WORDS
        return WordsTest(0, _windows(0, _WORDS - 1, 0, limit | _BLURRED), _LEVEL, share, share)
    # Directions of positive sine, positive cosine, negative sine and negative cosine, in turns of 2^32.
    centre = ((lane % 2 == 0) * (_WORDS // 4) + (low < 0) * (_WORDS // 2)) % _WORDS
    half = _arc(least / LARGEST_NORMAL) + _ARC_SLACK
    width = min(2 * half, _WORDS - 1)
    share = (limit + 1) / _WORDS * (width + 1) / _WORDS
    if not finer:
        return WordsTest(lane // 2, _windows(0, limit, centre - half, width, centre), _LEVEL, share, share)
    shift = max(limit.bit_length() - (STEPS.bit_length() - 1), 0)
    table, fine = _stairs(least, most, limit, shift)
    return WordsTest(lane // 2, _windows(0, limit, centre - half, width, centre, shift), table, share, fine)


def _stairs(least: float, most: float, limit: int, shift: int) -> tuple[NDArray[np.uint64], float]:
    """For each step of the radius word the arcs on which its magnitude can lie between `least` and `most`."""
    first = np.arange((limit >> shift) + 1, dtype=np.float64) * 2.0**shift
    last = np.minimum(first + 2.0**shift - 1, limit)
    # The smallest and the largest radius of a step; platforms differ in half a word.
    large = np.sqrt(-2 * np.log((first + 0.5) / _WORDS * (1 - 2.0**-20)))
    small = np.sqrt(np.maximum(-2 * np.log(np.minimum((last + 1) / _WORDS * (1 + 2.0**-20), 1.0)), 1e-12))
    far = np.ceil(np.arccos(np.minimum(least / large, 1.0)) / (2 * math.pi) * _WORDS) + _ARC_SLACK
    near = np.floor(np.arccos(np.minimum(most / small, 1.0)) / (2 * math.pi) * _WORDS) - _ARC_SLACK
    near = np.maximum(near, 0.0)
    stairs = np.stack([near, far], axis=1).astype(np.uint64) << np.uint64(32)
    return stairs, float(((last - first + 1) * 2 * (far - near)).sum()) / _WORDS / _WORDS


def _arc(cosine: float) -> int:
    """The angle with this cosine, in words."""
    return int(math.acos(min(cosine, 1.0)) / (2 * math.pi) * _WORDS)


def _uniform(low: float, high: float, lane: int, *, double: bool) -> WordsTest | None:
    if not low < high:
        return None
    first = max(math.floor(low * _WORDS) - 2, 0)
    last = min(math.ceil(high * _WORDS) + 2, _WORDS - 1)
    if double:
        first, last = first & ~_BLURRED, last | _BLURRED
    pair, odd = (lane, True) if double else (lane // 2, lane % 2 == 1)
    window = (first, last - first)
    whole = (0, _WORDS - 1)
    share = (last - first + 1) / _WORDS
    return WordsTest(pair, _windows(*((*whole, *window) if odd else (*window, *whole))), _LEVEL, share, share)


def _windows(
    low_0: int, width_0: int, low_1: int, width_1: int, centre: int = 0, shift: int = _LEVEL_SHIFT
) -> NDArray[np.uint64]:
    dense = (width_0 + 1) / _WORDS * (width_1 + 1) / _WORDS > DENSE
    return np.array([low_0 % _WORDS, width_0, low_1 % _WORDS, width_1, centre, shift, dense], dtype=np.uint64)
