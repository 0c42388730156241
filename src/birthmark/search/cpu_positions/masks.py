"""Bits of a stream's words, at any position, as parities of masked words of the seeded state.

The recurrence and the tempering are linear over GF(2). So every output bit, wherever it lies, is the parity
of some bits of the 624 words that the seeding leaves behind. Which bits is found in two steps. With
X^position = sum of c_j X^j modulo the characteristic polynomial, any bit of the word at that position is the
sum of the same bits of those words j < 19,937 where c_j is set. These are then pushed back through the
recurrence transposed, word by word, until only the seeded state is left. Both steps take about a
millisecond, wherever the position lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.gf2 import Polynomial, monomial
from birthmark.generators.mt19937_field import DEGREE, PACKED, characteristic
from birthmark.generators.mt19937_words import MIDDLE, SIZE, TWIST, temper
from birthmark.numerics.compiled import kernel

_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_ZERO = np.uint32(0)

#: Steps between positions up to here are made by shifting.
NEAR: Final = 4096


def state_masks(positions: NDArray[np.int64], outputs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Masks of the seeded state whose parities are those of masked output words.

    Args:
        positions: int64[n] >= 0, the positions of the words in the stream.
        outputs: uint32[n], the bits of each output word that are added up.

    Returns:
        uint32[624, n]: the sum over all words of the seeded state, each masked, has the parity of the
        masked output.

    Raises:
        UsageError: a negative position, or arrays of different lengths.
    """
    if len(positions) != len(outputs):
        raise UsageError(f"{len(outputs)} masks for {len(positions)} positions; expected one for each.")
    if len(positions) and int(positions.min()) < 0:
        raise UsageError(f"position {positions.min()} in an MT19937 stream; positions count from 0.")
    masks = np.empty((len(positions), SIZE), np.uint32)
    raw = _untempered(outputs)
    for position, terms in _powers(np.unique(positions)):
        here = np.flatnonzero(positions == position)
        masks[here] = _pushed_back(terms, raw[here])
    return np.ascontiguousarray(masks.T)


def words_needed(masks: NDArray[np.uint32]) -> int:
    """How many words of the seeded state the masks look at, counted from the first; at least 1.

    The words of the first 227 positions need no more than the first 397 + position + 1.
    """
    used = np.flatnonzero(masks.any(axis=1))
    return int(used[-1]) + 1 if len(used) else 1


def _powers(positions: NDArray[np.int64]) -> Iterator[tuple[int, Polynomial]]:
    """Each of some ascending positions with X^position; small steps are cheaper than beginning anew."""
    modulus = characteristic()
    at, terms = 0, monomial(0, PACKED)
    for position in positions.tolist():
        gap = position - at
        if gap < NEAR:
            terms = modulus.product(monomial(gap, gap // 64 + 1), terms)
        else:
            terms = modulus.power_of_x(position)
        at = position
        yield position, terms


def _untempered(outputs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Masks of raw words whose parities are those of masked outputs: the tempering transposed."""
    images = temper(np.uint32(1) << np.arange(32, dtype=np.uint32))
    feeding = np.bitwise_count(images & outputs[:, None]) & np.uint8(1)
    found: NDArray[np.uint32] = np.bitwise_or.reduce(
        feeding.astype(np.uint32) << np.arange(32, dtype=np.uint32), axis=1
    )
    return found


@kernel()
def _pushed_back(terms: Polynomial, raw: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Sums of masked raw words at the positions of the terms, as masks of the seeded state."""
    masks = np.empty((len(raw), SIZE), np.uint32)
    weights = np.empty(SIZE + DEGREE, np.uint32)
    for n in range(len(raw)):
        for j in range(SIZE):
            weights[j] = _ZERO
        for j in range(DEGREE):
            term = np.uint32((terms[j >> 6] >> np.uint64(j & 63)) & np.uint64(1))
            weights[SIZE + j] = np.uint32(raw[n] * term)
        for at in range(SIZE + DEGREE - 1, SIZE - 1, -1):
            weight = weights[at]
            weights[at - SIZE + MIDDLE] ^= weight
            odd = np.uint32(weight & TWIST)
            for shift in (16, 8, 4, 2, 1):
                odd = np.uint32(odd ^ np.uint32(odd >> np.uint32(shift)))
            joined = np.uint32(np.uint32(weight << _ONE) | np.uint32(odd & _ONE))
            weights[at - SIZE] ^= np.uint32(joined & _UPPER)
            weights[at - SIZE + 1] ^= np.uint32(joined & _LOWER)
        for j in range(SIZE):
            masks[n, j] = weights[j]
    return masks
