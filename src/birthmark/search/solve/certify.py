"""Words that vouch for each other: checks that need no solution, in stretches without gaps.

The recurrence ties the raw words k - 1, k, k + 396 and k + 623. Of its 32 lines some combinations contain
only bits that a float32 value shows, the low 24 of the outputs k, k + 396 and k + 623: there are 15. Three
words that satisfy all of them are right, but for one chance in 2^15. So where survivors lie close together
the right words can be picked from among the wrong ones, however many these are, as long as enough triples
are wholly right. Words that are known up to a step or two are tried with each of their values, and settled
by the one that passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_words import MIDDLE, SIZE, TWIST, temper
from birthmark.numerics.compiled import kernel
from birthmark.search.solve.equations import BITS, Words

#: Distances of the three words.
DISTANCES = (0, MIDDLE - 1, SIZE - 1)
#: With so many triples, hardly any of which passes its checks, another generator made the words.
ENOUGH_TRIPLES = 64
HARDLY_ANY = 1 / 256
#: Share of triples that pass from which on no word is doubted.
SOUND = 0.97
#: Words with more possible values than this do not take part.
MOST_VALUES = 4

_ALL = (1 << 32) - 1
_SHOWN = (1 << BITS) - 1
_BYTE = np.uint32(255)


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What the checks say.

    Attributes:
        words: the words, those narrowed or settled that were known up to a few values.
        triples: how many triples of nearly known words lie at the right distances.
        passed: how many of them satisfy all checks.
        passes: int64[n], how many of the triples that passed each word belongs to, 0 to 3.
    """

    words: Words
    triples: int
    passed: int
    passes: NDArray[np.int64]

    @property
    def refuted(self) -> bool:
        """Whether the recurrence surely does not hold."""
        return self.triples >= ENOUGH_TRIPLES and self.passed < HARDLY_ANY * self.triples

    @property
    def sound(self) -> bool:
        """Whether nearly all words vouch for each other."""
        return self.triples >= ENOUGH_TRIPLES and self.passed >= SOUND * self.triples


def certify(words: Words) -> Certificate:
    """Check all triples among the words that are known exactly or nearly."""
    near = np.flatnonzero(words.high - words.low < MOST_VALUES)
    position = words.position[near]
    members = []
    complete = np.ones(len(near), np.bool_)
    for distance in DISTANCES:
        at = np.minimum(np.searchsorted(position, position + distance), max(len(position) - 1, 0))
        complete &= position[at] == position + distance
        members.append(near[at])
    triples = np.stack(members, axis=1)[complete]
    low, high = words.low.copy(), words.high.copy()
    passes = np.zeros(len(words), np.int64)
    passed = _check(triples, words.low, words.high, _tables(), low, high, passes)
    return Certificate(Words(words.position, low, high), len(triples), passed, passes)


@kernel()
def _check(
    triples: NDArray[np.int64],
    low: NDArray[np.uint32],
    high: NDArray[np.uint32],
    tables: NDArray[np.uint16],
    settled_low: NDArray[np.uint32],
    settled_high: NDArray[np.uint32],
    passes: NDArray[np.int64],
) -> int:
    """Count the triples that pass with some choice of values, and narrow their words to those that do."""
    passed = 0
    least, most = np.empty(3, np.uint32), np.empty(3, np.uint32)
    values = np.empty(3, np.uint32)
    for k in range(len(triples)):
        i, j, m = triples[k, 0], triples[k, 1], triples[k, 2]
        found = False
        for a in range(low[i], high[i] + 1):
            first = _seen(tables[0], np.uint32(a))
            for b in range(low[j], high[j] + 1):
                both = first ^ _seen(tables[1], np.uint32(b))
                for c in range(low[m], high[m] + 1):
                    if both != _seen(tables[2], np.uint32(c)):
                        continue
                    values[0], values[1], values[2] = np.uint32(a), np.uint32(b), np.uint32(c)
                    for place in range(3):
                        if not found or values[place] < least[place]:
                            least[place] = values[place]
                        if not found or values[place] > most[place]:
                            most[place] = values[place]
                    found = True
        if not found:
            continue
        passed += 1
        for place in range(3):
            word = triples[k, place]
            passes[word] += 1
            below = max(settled_low[word], least[place])
            above = min(settled_high[word], most[place])
            if below <= above:  # else two triples disagree, one of which passed by luck
                settled_low[word], settled_high[word] = below, above
    return passed


@kernel(inline=True)
def _seen(table: NDArray[np.uint16], word: np.uint32) -> np.uint16:
    """The parities of a word under all checks, one a bit."""
    return np.uint16(
        table[0, np.int64(word & _BYTE)]
        ^ table[1, np.int64((word >> np.uint32(8)) & _BYTE)]
        ^ table[2, np.int64((word >> np.uint32(16)) & _BYTE)]
    )


@cache
def _tables() -> NDArray[np.uint16]:
    """uint16[3, 3, 256]: what each byte of each of the three words contributes to the checks."""
    byte = np.arange(256, dtype=np.uint32)
    tables = np.zeros((3, 3, 256), np.uint16)
    for number, masks in enumerate(checks()):
        for place, mask in enumerate(masks):
            for k in range(3):
                parity = np.bitwise_count(byte & np.uint32(mask >> 8 * k & 255)) & 1
                tables[place, k] |= parity.astype(np.uint16) << np.uint16(number)
    return tables


@cache
def checks() -> tuple[tuple[int, int, int], ...]:
    """The independent checks: three masks of the low 24 bits of the three outputs, of even parity."""
    # Each line of the recurrence, as bits of the raw words k, k + 396, k + 623 and the top bit of k - 1.
    lines = []
    for bit in range(32):
        first = (1 << bit + 1 if bit < 30 else 0) | (int(TWIST) >> bit & 1)
        lines.append([first, 1 << bit, 1 << bit, 1 if bit == 30 else 0])
    # In terms of the outputs: raw bit j is a parity of output bits, by the inverse of the tempering.
    untemper = _inverse([int(word) for word in temper(np.uint32(1) << np.arange(32, dtype=np.uint32))])
    rows = []
    for *raw, top in lines:
        shown, hidden = 0, top << 96
        for place, mask in enumerate(raw):
            outputs = 0
            for j in range(32):
                if mask >> j & 1:
                    outputs ^= untemper[j]
            shown |= (outputs & _SHOWN) << (32 * place)
            hidden |= (outputs & ~_SHOWN) << (32 * place)
        rows.append((hidden, shown))
    # Combinations in which everything hidden cancels.
    basis: dict[int, tuple[int, int]] = {}
    found = []
    for hidden, shown in rows:
        while hidden and hidden.bit_length() in basis:
            other = basis[hidden.bit_length()]
            hidden, shown = hidden ^ other[0], shown ^ other[1]
        if hidden:
            basis[hidden.bit_length()] = (hidden, shown)
        else:
            found.append((shown & _ALL, shown >> 32 & _ALL, shown >> 64 & _ALL))
    return tuple(found)


def _inverse(images: list[int]) -> list[int]:
    """The masks of output bits whose parity is input bit j, given the image of each input bit."""
    # Gauss-Jordan on pairs (output bits of a sum of inputs, that sum), until the outputs are unit vectors.
    rows = [(image, 1 << j) for j, image in enumerate(images)]
    for bit in range(32):
        at = next(i for i in range(bit, 32) if rows[i][0] >> bit & 1)
        rows[bit], rows[at] = rows[at], rows[bit]
        for i in range(32):
            if i != bit and rows[i][0] >> bit & 1:
                rows[i] = (rows[i][0] ^ rows[bit][0], rows[i][1] ^ rows[bit][1])
    # rows[b][1] is the input that gives output bit b alone: input bit j sees the outputs b that contain it.
    return [sum(1 << b for b in range(32) if rows[b][1] >> j & 1) for j in range(32)]
