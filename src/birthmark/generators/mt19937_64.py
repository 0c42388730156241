"""The 64-bit Mersenne Twister of the C++ library, which PaddlePaddle draws from on the CPU.

T. Nishimura, "Tables of 64-bit Mersenne Twisters" (ACM TOMACS 10, 2000); ISO C++ [rand.predef] `mt19937_64`
and [rand.util.seedseq]. A stream is stepped through, some 2 nanoseconds a word; there is no jump.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import kernel

#: Words of a state, and the distance of the middle term.
SIZE: Final = 312
MIDDLE: Final = 156

_TWIST = np.uint64(0xB5026F5AA96619E9)
_UPPER = np.uint64(0xFFFFFFFF80000000)
_LOWER = np.uint64(0x7FFFFFFF)
_SEEDING = np.uint64(6364136223846793005)
_ONE = np.uint64(1)
_FIRST = np.uint32(1664525)
_SECOND = np.uint32(1566083941)
_FILL = np.uint32(0x8B8B8B8B)
_TOP = np.uint32(27)


@kernel()
def seeded(seed: np.uint64) -> NDArray[np.uint64]:
    """The state that `mt19937_64(seed)` makes of one number: before its first output."""
    state = np.empty(SIZE, np.uint64)
    word = np.uint64(seed)
    state[0] = word
    for i in range(1, SIZE):
        word = np.uint64(_SEEDING * (word ^ (word >> np.uint64(62))) + np.uint64(i))
        state[i] = word
    return state


@kernel()
def seeded_by_sequence(seed: np.uint32) -> NDArray[np.uint64]:
    """The state that a `std::seed_seq` of one number makes; of the number only 32 bits count."""
    count = 2 * SIZE
    words = np.empty(count, np.uint32)
    words[:] = _FILL
    gap = 11
    first = (count - gap) // 2
    second = first + gap
    for k in range(count):
        mixed = np.uint32(words[k] ^ words[(k + first) % count] ^ words[(k - 1) % count])
        mixed = np.uint32(_FIRST * np.uint32(mixed ^ np.uint32(mixed >> _TOP)))
        added = np.uint32(mixed + np.uint32(k))
        if k == 0:
            added = np.uint32(mixed + np.uint32(1))
        elif k == 1:
            added = np.uint32(mixed + np.uint32(np.uint32(1) + seed))
        words[(k + first) % count] = np.uint32(words[(k + first) % count] + mixed)
        words[(k + second) % count] = np.uint32(words[(k + second) % count] + added)
        words[k] = added
    for k in range(count, 2 * count):
        at = k % count
        total = np.uint32(words[at] + words[(k + first) % count])
        total = np.uint32(total + words[(k - 1) % count])
        mixed = np.uint32(_SECOND * np.uint32(total ^ np.uint32(total >> _TOP)))
        less = np.uint32(mixed - np.uint32(at))
        words[(k + first) % count] = np.uint32(words[(k + first) % count] ^ mixed)
        words[(k + second) % count] = np.uint32(words[(k + second) % count] ^ less)
        words[at] = less
    state = np.empty(SIZE, np.uint64)
    for i in range(SIZE):
        state[i] = np.uint64(words[2 * i]) | (np.uint64(words[2 * i + 1]) << np.uint64(32))
    return state


@kernel(inline=True)
def _next(first: np.uint64, second: np.uint64, middle: np.uint64) -> np.uint64:
    joined = (first & _UPPER) | (second & _LOWER)
    return np.uint64(middle ^ (joined >> _ONE) ^ ((np.uint64(0) - (joined & _ONE)) & _TWIST))


@kernel()
def advance(state: NDArray[np.uint64]) -> None:
    """Replace a state by the one 312 outputs later."""
    for i in range(SIZE - MIDDLE):
        state[i] = _next(state[i], state[i + 1], state[i + MIDDLE])
    for i in range(SIZE - MIDDLE, SIZE - 1):
        state[i] = _next(state[i], state[i + 1], state[i + MIDDLE - SIZE])
    state[SIZE - 1] = _next(state[SIZE - 1], state[0], state[MIDDLE - 1])


@kernel(inline=True)
def tempered(word: np.uint64) -> np.uint64:
    """A raw word as it leaves the generator."""
    word ^= (word >> np.uint64(29)) & np.uint64(0x5555555555555555)
    word ^= (word << np.uint64(17)) & np.uint64(0x71D67FFFEDA60000)
    word ^= (word << np.uint64(37)) & np.uint64(0xFFF7EEE000000000)
    return np.uint64(word ^ (word >> np.uint64(43)))


@kernel()
def _pick(state: NDArray[np.uint64], positions: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    base = -SIZE
    for i in range(len(positions)):
        while positions[i] >= base + SIZE:
            advance(state)
            base += SIZE
        out[i] = tempered(state[positions[i] - base])


def words_at(state: NDArray[np.uint64], positions: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The outputs at the given positions from a seeded state on, uint64 of their shape.

    Args:
        state: uint64[312], from `seeded` or `seeded_by_sequence`; left as it is.
        positions: int64, 0 or more, any shape and order.

    Raises:
        UsageError: a negative position.
    """
    flat = np.asarray(positions, np.int64).reshape(-1)
    if flat.size and int(flat.min()) < 0:
        raise UsageError(f"position {flat.min()} in a stream; positions count from 0.")
    order = np.argsort(flat, kind="stable")
    found = np.empty(len(flat), np.uint64)
    _pick(state.copy(), flat[order], found)
    out = np.empty(len(flat), np.uint64)
    out[order] = found
    return out.reshape(np.shape(positions))
