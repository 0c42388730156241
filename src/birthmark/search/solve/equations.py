"""Known bits of words as linear equations in the generator's state.

A word is known by the interval that its low 24 bits lie in. What the interval fixes is written as parities:
the leading bits that both ends share, and, where the interval crosses a border between ...0111... and
...1000..., that the bits behind the border are the opposite of the one at it. A value one step off in an
inversion thus still gives 23 equations.

The unknowns are the first 19,937 members of the reference sequence from the window's first word on (see
`generators.mt19937_field`). Bit b of the word k places later has the coefficients X^k * (polynomial of b);
from one known word to the next the 24 polynomials are shifted and folded, over wide gaps multiplied by a
power of X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.gf2 import add_shifted
from birthmark.generators.mt19937_field import DEGREE, PACKED, characteristic, output_bits
from birthmark.numerics.compiled import kernel

#: Bits of a word that a float32 uniform shows.
BITS = 24
#: Gaps from here on are crossed by a multiplication instead of shifts.
WIDE = 1 << 16
#: Rows that are made at a time.
PORTION = 1024

_ONE = np.uint32(1)
_SHIFT = 63
_TOP = np.uint64(DEGREE % 64)


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """What is known of words of a stream.

    Attributes:
        position: int64[n], ascending and unique, counted from the draw's first word.
        low: uint32[n], the least that a word's low 24 bits can be.
        high: uint32[n], the most that they can be; equal to `low` where the word is known exactly.
    """

    position: NDArray[np.int64]
    low: NDArray[np.uint32]
    high: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which words are known exactly."""
        equal: NDArray[np.bool_] = self.low == self.high
        return equal

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Words:
        """Some of the words: a mask, or ascending numbers."""
        return Words(self.position[chosen], self.low[chosen], self.high[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Parities of bits of words.

    Attributes:
        word: int64[m], the number of the word within its `Words`, ascending.
        mask: uint32[m], the bits of the word that are added.
        parity: uint8[m], their sum.
    """

    word: NDArray[np.int64]
    mask: NDArray[np.uint32]
    parity: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.word)


def equations_of(words: Words) -> Equations:
    """All parities that the intervals fix."""
    count = int(bits_of(words).sum())
    equations = Equations(np.empty(count, np.int64), np.empty(count, np.uint32), np.empty(count, np.uint8))
    _parities(words.low, words.high, equations.word, equations.mask, equations.parity)
    return equations


def bits_of(words: Words) -> NDArray[np.int64]:
    """How many equations each word gives, int64[n]."""
    bits = np.empty(len(words), np.int64)
    _count_parities(words.low, words.high, bits)
    return bits


def coefficients(words: Words, equations: Equations, origin: int) -> Iterator[NDArray[np.uint64]]:
    """The rows of equations, ready for `elimination.System`, a portion at a time.

    Args:
        words: the words.
        equations: parities of them.
        origin: the position at which the unknown reference sequence begins, at most the first word's.

    Yields:
        uint64[m, 312], m <= PORTION, in the order of the equations.
    """
    running = np.zeros((BITS, PACKED + 1), np.uint64)
    running[:, :PACKED] = output_bits()[:BITS]
    modulus = characteristic()
    positions = words.position[equations.word]
    jumps = np.flatnonzero(np.diff(positions) >= WIDE) + 1
    ends = np.union1d(jumps, np.append(np.arange(0, len(equations), PORTION), len(equations)))
    at = origin
    for begin, end in pairwise(ends.tolist()):
        gap = int(positions[begin]) - at
        if gap >= WIDE:
            power = modulus.power_of_x(gap)
            for bit in range(BITS):
                running[bit, :PACKED] = modulus.product(power, running[bit, :PACKED])
            at += gap
        part = slice(begin, end)
        rows = np.empty((end - begin, PACKED), np.uint64)
        _fill(
            running,
            at,
            positions[part],
            equations.mask[part],
            equations.parity[part],
            modulus.exponents,
            rows,
        )
        yield rows
        at = int(positions[end - 1])


@kernel()
def _count_parities(low: NDArray[np.uint32], high: NDArray[np.uint32], bits: NDArray[np.int64]) -> None:
    for i in range(len(low)):
        a, b = low[i], high[i]
        bit = BITS - 1
        while bit >= 0 and (np.uint32(a ^ b) >> np.uint32(bit)) & _ONE == 0:
            bit -= 1
        lost = 0 if bit < 0 else 1
        bit -= 1
        while bit >= 0 and (a >> np.uint32(bit)) & _ONE == 1 and (b >> np.uint32(bit)) & _ONE == 0:
            bit -= 1
        bits[i] = BITS - 1 - max(bit, -1) - lost


@kernel()
def _parities(
    low: NDArray[np.uint32],
    high: NDArray[np.uint32],
    word: NDArray[np.int64],
    mask: NDArray[np.uint32],
    parity: NDArray[np.uint8],
) -> None:
    count = 0
    for i in range(len(low)):
        a, b = low[i], high[i]
        bit = BITS - 1
        while bit >= 0 and (np.uint32(a ^ b) >> np.uint32(bit)) & _ONE == 0:
            word[count] = i
            mask[count] = _ONE << np.uint32(bit)
            parity[count] = (a >> np.uint32(bit)) & _ONE
            count += 1
            bit -= 1
        border = bit  # where a has 0 and b has 1
        bit -= 1
        while bit >= 0 and (a >> np.uint32(bit)) & _ONE == 1 and (b >> np.uint32(bit)) & _ONE == 0:
            word[count] = i
            mask[count] = np.uint32((_ONE << np.uint32(border)) | (_ONE << np.uint32(bit)))
            parity[count] = 1
            count += 1
            bit -= 1


@kernel()
def _fill(
    running: NDArray[np.uint64],
    at: int,
    positions: NDArray[np.int64],
    mask: NDArray[np.uint32],
    parity: NDArray[np.uint8],
    exponents: NDArray[np.uint64],
    rows: NDArray[np.uint64],
) -> None:
    """Move the polynomials of the 24 bits from word to word, and add those that each parity names."""
    for i in range(len(positions)):
        while at < positions[i]:
            step = min(positions[i] - at, _SHIFT)
            for bit in range(BITS):
                _shift(running[bit], np.uint64(step), exponents)
            at += step
        row = rows[i]
        row[:] = np.uint64(0)
        for bit in range(BITS):
            if (mask[i] >> np.uint32(bit)) & _ONE == 1:
                source = running[bit]
                for t in range(PACKED):
                    row[t] ^= source[t]
        row[PACKED - 1] |= np.uint64(parity[i]) << np.uint64(63)


@kernel()
def _shift(polynomial: NDArray[np.uint64], by: np.uint64, exponents: NDArray[np.uint64]) -> None:
    """Multiply by X^by, 1 <= by <= 63, and fold; the polynomial has one spare word."""
    back = np.uint64(64) - by
    for t in range(PACKED, 0, -1):
        polynomial[t] = (polynomial[t] << by) | (polynomial[t - 1] >> back)
    polynomial[0] <<= by
    high = (polynomial[PACKED - 1] >> _TOP) | (polynomial[PACKED] << (np.uint64(64) - _TOP))
    polynomial[PACKED] = np.uint64(0)
    polynomial[PACKED - 1] &= (np.uint64(1) << _TOP) - np.uint64(1)
    if high != 0:
        for e in exponents:
            add_shifted(polynomial, high, e)
