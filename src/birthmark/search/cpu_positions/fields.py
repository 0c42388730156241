"""What values say about words: of which part of which word of the stream, and between which bounds.

A uniform value has one word. The two values k and k + 8 of a normal block have two, one for the radius and
one for the angle. One of them alone still says something: its size bounds the radius from below, so that the
leading bits of a large one's radius are all set, and its sign is the angle's half. Normals of fewer than 16
elements come in neighbours instead, from four words a pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import interval
from birthmark.samplers.cpu_normal import BLOCK, Places, places
from birthmark.samplers.cpu_scalar import WORDS_A_PAIR
from birthmark.samplers.cpu_uniform import BITS
from birthmark.search.solve.equations import Words
from birthmark.search.solve.inversion import coarse_normals, coarse_uniforms, pairs
from birthmark.search.solve.readings import Observation

#: Bits of the first of two words that make a uniform of 53 bits.
HIGH_BITS: Final = 21
#: How far a word can lie from the real-valued inverse of a float32 value, in units of 24 bits.
_MARGIN: Final = 4.0
#: The number that stands for "no second value".
NONE: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Known parts of words.

    Attributes:
        position: int64[n], counted from the draw's first word.
        shift: int64[n], the lowest bit of the part within its word.
        width: int64[n], how many bits it has.
        low: uint32[n], the least that the part can be.
        high: uint32[n], the most.
        mask: uint32[n], bits of the word whose sum is known besides; 0 where there is none.
        parity: uint8[n], that sum.
        first: int64[n], the number of the value that says so.
        second: int64[n], of the other value of a pair; NONE where there is one value only.
    """

    position: NDArray[np.int64]
    shift: NDArray[np.int64]
    width: NDArray[np.int64]
    low: NDArray[np.uint32]
    high: NDArray[np.uint32]
    mask: NDArray[np.uint32]
    parity: NDArray[np.uint8]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.position)


def fields_of(seen: Observation) -> Fields:
    """All that values say about words, given the interval of their scale."""
    if seen.distribution == "uniform":
        found = coarse_uniforms(seen.values, seen.indices, seen.scale, seen.dtype)
        return _of_words(found.words, found.source, np.full(len(found.source), NONE))
    if seen.size < BLOCK:
        return _scalar_pairs(seen)
    # The last values of a ragged draw follow two rules (see `cpu_normal`): they are left out.
    end = seen.size if seen.size % BLOCK == 0 else seen.size - BLOCK
    numbers = np.flatnonzero(seen.indices < end)
    where = places(seen.size, seen.indices[numbers])
    values = seen.values[numbers]
    found = coarse_normals(values, where, seen.scale, seen.dtype)
    first, second, _ = pairs(where)
    partner = np.full(len(values), NONE)
    partner[first] = second
    paired = _of_words(found.words, found.source, partner[found.source])
    alone = np.ones(len(values), np.bool_)
    alone[first], alone[second] = False, False
    return _renumbered(joined(paired, _lone_normals(values, where, np.flatnonzero(alone), seen)), numbers)


def joined(a: Fields, b: Fields) -> Fields:
    """Both."""
    return Fields(*(np.concatenate([getattr(a, name), getattr(b, name)]) for name in Fields.__slots__))


def parts(
    position: NDArray[np.int64],
    shift: int,
    width: int,
    low: NDArray[np.uint32],
    high: NDArray[np.uint32],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> Fields:
    """The same part of several words, without sums; arguments as the attributes."""
    count = len(position)
    nothing = np.zeros(count, np.uint32)
    return Fields(
        position,
        np.full(count, shift),
        np.full(count, width),
        low,
        high,
        nothing,
        nothing.astype(np.uint8),
        first,
        second,
    )


def _of_words(words: Words, first: NDArray[np.int64], second: NDArray[np.int64]) -> Fields:
    return parts(words.position, 0, BITS, words.low, words.high, first, second)


def _renumbered(fields: Fields, numbers: NDArray[np.int64]) -> Fields:
    """The same with values numbered otherwise."""
    second = np.where(fields.second == NONE, NONE, numbers[fields.second])
    return replace(fields, first=numbers[fields.first], second=second)


def _lone_normals(
    values: NDArray[np.float64], where: Places, alone: NDArray[np.int64], seen: Observation
) -> Fields:
    """Radii of at least the size of values whose partner is not there, and the half of their angles."""
    lo, hi = interval(values[alone], seen.dtype)
    size = np.where(np.sign(lo) == np.sign(hi), np.minimum(np.abs(lo), np.abs(hi)), 0.0)
    full = float(1 << BITS)
    least = np.floor(-np.expm1(-((size / seen.scale[1]) ** 2) / 2.0) * full - _MARGIN)
    count = len(alone)
    # A cosine is positive in the first and the last quarter of the turn, a sine in the first two. Values near
    # zero say nothing: the sampler's own roundings decide their sign.
    top, next_ = np.uint32(1 << (BITS - 1)), np.uint32(1 << (BITS - 2))
    clear = size > 2.0**-10 * seen.scale[0]
    sine = where.sine[alone]
    radius = _of_words(
        Words(
            where.radius[alone],
            np.clip(least, 0.0, full - 1.0).astype(np.uint32),
            np.full(count, int(full) - 1, np.uint32),
        ),
        alone,
        np.full(count, NONE),
    )
    anything = Words(where.angle[alone], np.zeros(count, np.uint32), np.full(count, int(full) - 1, np.uint32))
    angle = _of_words(anything, alone, np.full(count, NONE))
    mask = np.where(clear, np.where(sine, top, top | next_), np.uint32(0)).astype(np.uint32)
    parity = (np.signbit(values[alone]) & clear).astype(np.uint8)
    halves = replace(angle, mask=mask, parity=parity)
    return joined(radius, halves)


def _scalar_pairs(seen: Observation) -> Fields:
    """The high words of angle and radius of neighbours in a draw of fewer than 16 normals."""
    here = {int(index): number for number, index in enumerate(seen.indices)}
    first = np.array([n for i, n in here.items() if i % 2 == 0 and i + 1 in here], np.int64)
    second = np.array([here[int(seen.indices[n]) + 1] for n in first], np.int64)
    start = (seen.indices[first] // 2) * WORDS_A_PAIR
    # The formulas are those of a block of 16 whose values k and k + 8 the two are.
    count = len(first)
    radius = np.arange(count, dtype=np.int64) * BLOCK
    block = Places(
        np.tile(radius, 2), np.tile(radius + BLOCK // 2, 2), np.repeat(np.array([False, True]), count)
    )
    values = seen.values[np.concatenate([first, second])]
    words = coarse_normals(values, block, seen.scale, seen.dtype).words
    # Both arrays come back in ascending positions: the radius of each pair, then its angle.
    shift = np.uint32(BITS - HIGH_BITS)
    return parts(
        np.stack([start + 2, start], axis=1).ravel(),
        0,
        HIGH_BITS,
        words.low >> shift,
        words.high >> shift,
        np.repeat(first, 2),
        np.repeat(second, 2),
    )
