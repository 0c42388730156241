"""Stored values back to what they say about the words that they came from.

A uniform value has one word. The two values k and k + 8 of a normal block have two, one for the radius and
one for the angle. With an exactly known scale and float32 storage the sampler is inverted exactly: every
word near the real-valued inverse is tried through the sampler's own arithmetic, and a value that no word
gives has moved and is dropped. Otherwise the values are intervals (what rounds to them, and what the scale
may be), and so are the words; the angle needs no scale at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.numerics.dtypes import interval
from birthmark.samplers.cpu_normal import Places, pair
from birthmark.samplers.cpu_uniform import scaled, scaling_code, span
from birthmark.search.solve.equations import BITS, Words

#: Share of values that lie on a sampler's lattice by chance; it was 0.30 to 0.36 for several scales.
ON_LATTICE: Final = 1 / 3
_FULL: Final = 1 << BITS
#: How many steps from the rounded real-valued inverse of a float32 value its word can lie. The largest
#: distances
#: over 4 million values at two scales were 0.93 (angle), 2.1 (radius) and 1 (uniform) from the unrounded one.
_NEAR_ANGLE = 1
_NEAR_RADIUS = 3
_NEAR_UNIFORM = 2
#: The same for values that are read as intervals.
_MARGIN_ANGLE: Final = 1.5
_MARGIN_RADIUS: Final = 3.5
_MARGIN_UNIFORM: Final = 1.5
#: A full turn as the sampler has it, relative to the real one.
_TURN: Final = float(np.float32(2.0 * math.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """What values said.

    Attributes:
        words: the words that they fix, wholly or in part.
        source: int64[n], the number of the value (of a pair, the first) behind each word.
        used: values that a word stands for.
        moved: values that no word gives: they are not what was drawn, or not at this scale.
        alone: normal values whose partner is not there; they are not used.
    """

    words: Words
    source: NDArray[np.int64]
    used: int
    moved: int
    alone: int


def exact_uniforms(
    values: NDArray[np.float64], position: NDArray[np.int64], bound: float, arithmetic: str
) -> Inversion:
    """Words behind float32 values of uniform_(-bound, bound).

    Args:
        values: float64[n] that float32 holds exactly.
        position: int64[n], the position of each value's word, ascending and unique.
        bound: the bound as the draw had it.
        arithmetic: "cpu-fused" or "cpu-unfused".
    """
    low, width = span(-bound, bound)
    least, most = np.empty(len(values), np.uint32), np.empty(len(values), np.uint32)
    _invert_uniforms(values.astype(np.float32), low, width, scaling_code(arithmetic), least, most)
    found = least <= most
    words = Words(position, least, most).take(found)
    return Inversion(words, np.flatnonzero(found), len(words), int(np.count_nonzero(~found)), 0)


def exact_normals(values: NDArray[np.float64], places: Places, std: float) -> Inversion:
    """Words behind float32 values of normal_(0, std).

    Args:
        values: float64[n] that float32 holds exactly.
        places: where each value comes from (`samplers.cpu_normal.places`), without repeats.
        std: the standard deviation as the draw had it.
    """
    first, second, alone = pairs(places)
    bounds = np.empty((4, len(first)), np.uint32)
    _invert_normals(
        values[first].astype(np.float32), values[second].astype(np.float32), np.float32(std), *bounds
    )
    found = bounds[0] <= bounds[1]
    radius = Words(places.radius[first], bounds[0], bounds[1]).take(found)
    angle = Words(places.angle[first], bounds[2], bounds[3]).take(found)
    moved = 2 * int(np.count_nonzero(~found))
    words, order = merged(radius, angle)
    return Inversion(words, np.tile(first[found], 2)[order], 2 * len(radius), moved, alone)


def coarse_uniforms(
    values: NDArray[np.float64],
    position: NDArray[np.int64],
    bound: tuple[float, float],
    dtype: str,
    worn: float = 0.0,
) -> Inversion:
    """Intervals of the words behind values of uniform_(-bound, bound), stored with rounding.

    Args:
        values: float64[n] that `dtype` holds exactly.
        position: int64[n], the position of each value's word, ascending and unique.
        bound: the least and the most that the bound can be, as stored.
        dtype: the stored dtype.
        worn: by what share of themselves values may have drifted apart.
    """
    lo, hi = _within(values, dtype, worn)
    least = np.minimum(lo / bound[0], lo / bound[1])
    most = np.maximum(hi / bound[0], hi / bound[1])
    # 16-bit draws turn values that round to the upper bound into the lower one: those say nothing.
    outside = (most <= -1.0) | (least >= 1.0)
    unclear = (least <= -1.0) & ~outside
    words = _interval_words(
        position, (least + 1.0) * 0.5 * _FULL, (most + 1.0) * 0.5 * _FULL, _MARGIN_UNIFORM, unclear
    ).take(~outside)
    return Inversion(words, np.flatnonzero(~outside), len(words), int(np.count_nonzero(outside)), 0)


def coarse_normals(
    values: NDArray[np.float64],
    places: Places,
    std: tuple[float, float],
    dtype: str,
    worn: float = 0.0,
) -> Inversion:
    """Intervals of the words behind values of normal_(0, std), stored with rounding.

    Args:
        values: float64[n] that `dtype` holds exactly.
        places: where each value comes from, without repeats.
        std: the least and the most that the standard deviation can be, as stored.
        dtype: the stored dtype.
        worn: by what share of themselves values may have drifted apart.
    """
    first, second, alone = pairs(places)
    lo, hi = _within(values, dtype, worn)
    x, y = np.stack([lo[first], hi[first]]), np.stack([lo[second], hi[second]])

    # The corners of the rectangle of both intervals bound the angle, unless the origin lies inside.
    inside = (x[0] <= 0.0) & (x[1] >= 0.0) & (y[0] <= 0.0) & (y[1] >= 0.0)
    middle = np.arctan2(values[second], values[first])
    corners = np.stack([np.arctan2(y[j], x[i]) - middle for i in (0, 1) for j in (0, 1)])
    corners = (corners + math.pi) % (2.0 * math.pi) - math.pi
    turn = np.where(middle < 0.0, middle + 2.0 * math.pi, middle)
    angle = _interval_words(
        places.angle[first],
        (turn + corners.min(axis=0)) / _TURN * _FULL,
        (turn + corners.max(axis=0)) / _TURN * _FULL,
        _MARGIN_ANGLE,
        inside,
    )

    nearest = sum(np.where(z[0] * z[1] <= 0.0, 0.0, np.abs(z).min(axis=0)) ** 2 for z in (x, y))
    farthest = sum(np.abs(z).max(axis=0) ** 2 for z in (x, y))
    radius = _interval_words(
        places.radius[first],
        -np.expm1(-nearest / (2.0 * std[1] ** 2)) * _FULL,
        -np.expm1(-farthest / (2.0 * std[0] ** 2)) * _FULL,
        _MARGIN_RADIUS,
        np.zeros(len(first), np.bool_),
    )
    words, order = merged(radius, angle)
    return Inversion(words, np.tile(first, 2)[order], 2 * len(first), 0, alone)


def _within(
    values: NDArray[np.float64], dtype: str, worn: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the most that values can have been."""
    lo, hi = interval(values, dtype)
    drift = worn * np.abs(values)
    return lo - drift, hi + drift


def pairs(places: Places) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """(cosine values, sine values, values without partner): the numbers of the two of each pair."""
    order = np.lexsort((places.sine, places.radius))
    both = places.radius[order[:-1]] == places.radius[order[1:]]
    first, second = order[:-1][both], order[1:][both]
    return first, second, len(order) - 2 * len(first)


def merged(a: Words, b: Words) -> tuple[Words, NDArray[np.int64]]:
    """Two sets of words at different positions as one, and the number of each in (a, b)."""
    position = np.concatenate([a.position, b.position])
    order = np.argsort(position, kind="stable")
    low, high = np.concatenate([a.low, b.low]), np.concatenate([a.high, b.high])
    return Words(position[order], low[order], high[order]), order


def _interval_words(
    position: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    margin: float,
    unknown: NDArray[np.bool_],
) -> Words:
    """Words between real bounds, give or take a margin; any word where unknown or wrapped."""
    least, most = np.ceil(low - margin), np.floor(high + margin)
    wraps = unknown | (high >= _FULL + margin) | (low <= -margin)
    least = np.where(wraps, 0.0, np.clip(least, 0.0, _FULL - 1.0))
    most = np.where(wraps, _FULL - 1.0, np.clip(most, 0.0, _FULL - 1.0))
    return Words(position, least.astype(np.uint32), most.astype(np.uint32))


@kernel()
def _invert_uniforms(
    values: NDArray[np.float32],
    low: np.float32,
    width: np.float32,
    fused: int,
    least: NDArray[np.uint32],
    most: NDArray[np.uint32],
) -> None:
    """The words that give each value exactly, as a range; an empty one (1, 0) where none does."""
    for i in range(len(values)):
        middle = np.int64(np.rint((np.float64(values[i]) - np.float64(low)) / np.float64(width) * _FULL))
        least[i], most[i] = np.uint32(1), np.uint32(0)
        for step in range(-_NEAR_UNIFORM, _NEAR_UNIFORM + 1):
            word = middle + step
            if word < 0 or word >= _FULL:
                continue
            if scaled(np.uint32(word), low, width, fused) == values[i]:
                if most[i] < least[i]:
                    least[i] = np.uint32(word)
                most[i] = np.uint32(word)


@kernel()
def _invert_normals(
    cosines: NDArray[np.float32],
    sines: NDArray[np.float32],
    std: np.float32,
    least_radius: NDArray[np.uint32],
    most_radius: NDArray[np.uint32],
    least_angle: NDArray[np.uint32],
    most_angle: NDArray[np.uint32],
) -> None:
    """The words that give each pair exactly, as ranges; empty ones (1, 0) where none do."""
    mean = np.float32(0.0)
    for i in range(len(cosines)):
        c, s = np.float64(cosines[i]), np.float64(sines[i])
        turn = math.atan2(s, c)
        if turn < 0.0:
            turn += 2.0 * math.pi
        angle = np.int64(np.rint(turn / _TURN * _FULL))
        half_square = (c * c + s * s) / (2.0 * np.float64(std) * np.float64(std))
        radius = np.int64(np.rint(-math.expm1(-half_square) * _FULL))
        least_radius[i], most_radius[i] = np.uint32(1), np.uint32(0)
        least_angle[i], most_angle[i] = np.uint32(1), np.uint32(0)
        for radius_step in range(-_NEAR_RADIUS, _NEAR_RADIUS + 1):
            r = radius + radius_step
            if r < 0 or r >= _FULL:
                continue
            for angle_step in range(-_NEAR_ANGLE, _NEAR_ANGLE + 1):
                a = angle + angle_step
                if a < 0 or a >= _FULL:
                    continue
                first, second = pair(np.uint32(r), np.uint32(a), mean, std)
                if first == cosines[i] and second == sines[i]:
                    if most_radius[i] < least_radius[i]:
                        least_radius[i] = np.uint32(r)
                        least_angle[i], most_angle[i] = np.uint32(a), np.uint32(a)
                    most_radius[i] = np.uint32(r)
                    least_angle[i] = min(least_angle[i], np.uint32(a))
                    most_angle[i] = max(most_angle[i], np.uint32(a))
