"""MT19937: seeding and the stream of words, one after another.

Matsumoto and Nishimura, "Mersenne Twister" (ACM TOMACS 8, 1998), with the seeding `init_genrand` of 2002,
as PyTorch's CPU generator uses it (pytorch `aten/src/ATen/core/MT19937RNGEngine.h`, 2.1.0 to 2.15.0): only
the low 32 bits of a seed count.

A *window* at position n holds the raw words of the outputs n to n + 623, as uint32[624].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel

#: Raw words that a state holds, and the distance of the middle term of the recurrence.
SIZE = 624
MIDDLE = 397
#: The constant of the twist, and the multiplier of the seeding.
TWIST = np.uint32(0x9908B0DF)
SEEDING = np.uint32(1812433253)

_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_SEED_SHIFT = np.uint32(30)
_SHIFT_U = np.uint32(11)
_SHIFT_S = np.uint32(7)
_MASK_B = np.uint32(0x9D2C5680)
_SHIFT_T = np.uint32(15)
_MASK_C = np.uint32(0xEFC60000)
_SHIFT_L = np.uint32(18)


@kernel(inline=True)
def tempered(word: np.uint32) -> np.uint32:
    """A raw word as it leaves the generator."""
    word = np.uint32(word ^ np.uint32(word >> _SHIFT_U))
    word = np.uint32(word ^ np.uint32(np.uint32(word << _SHIFT_S) & _MASK_B))
    word = np.uint32(word ^ np.uint32(np.uint32(word << _SHIFT_T) & _MASK_C))
    return np.uint32(word ^ np.uint32(word >> _SHIFT_L))


@kernel(inline=True)
def _next(first: np.uint32, second: np.uint32, middle: np.uint32) -> np.uint32:
    """The raw word 624 places after `first`."""
    joined = np.uint32((first & _UPPER) | (second & _LOWER))
    odd = np.uint32(np.uint32(0) - np.uint32(joined & _ONE))
    return np.uint32(middle ^ np.uint32(joined >> _ONE) ^ np.uint32(odd & TWIST))


@kernel()
def _temper_all(raw: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    for i in range(len(raw)):
        out[i] = tempered(raw[i])


@kernel()
def seeded(seed: np.uint32) -> NDArray[np.uint32]:
    """The 624 words that `init_genrand` makes of a seed: the state before the first output."""
    state = np.empty(SIZE, np.uint32)
    word = np.uint32(seed)
    state[0] = word
    for i in range(1, SIZE):
        word = np.uint32(np.uint32(SEEDING * np.uint32(word ^ np.uint32(word >> _SEED_SHIFT))) + np.uint32(i))
        state[i] = word
    return state


@kernel()
def advance(window: NDArray[np.uint32]) -> None:
    """Replace a window by the one 624 positions later."""
    for i in range(SIZE - MIDDLE):
        window[i] = _next(window[i], window[i + 1], window[i + MIDDLE])
    for i in range(SIZE - MIDDLE, SIZE - 1):
        window[i] = _next(window[i], window[i + 1], window[i + MIDDLE - SIZE])
    window[SIZE - 1] = _next(window[SIZE - 1], window[0], window[MIDDLE - 1])


@kernel()
def continued(window: NDArray[np.uint32], length: int) -> NDArray[np.uint32]:
    """Raw words from a window's position on, `length` of them."""
    raw = np.empty(max(length, SIZE), np.uint32)
    raw[:SIZE] = window
    for i in range(SIZE, length):
        raw[i] = _next(raw[i - SIZE], raw[i - SIZE + 1], raw[i - SIZE + MIDDLE])
    return raw[:length]


@kernel()
def skipped(window: NDArray[np.uint32], steps: int) -> NDArray[np.uint32]:
    """The window `steps` positions later, by running the recurrence."""
    current = window.copy()
    for _ in range(steps // SIZE):
        advance(current)
    rest = steps % SIZE
    return continued(current, SIZE + rest)[rest:].copy()


def start(seed: int) -> NDArray[np.uint32]:
    """The window at position 0 of a seed's stream; of the seed only the low 32 bits count."""
    state = seeded(np.uint32(seed & 0xFFFFFFFF))
    advance(state)
    return state


def temper(raw: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Raw words as they leave the generator, same shape."""
    flat = np.ascontiguousarray(raw, np.uint32).reshape(-1)
    out = np.empty_like(flat)
    _temper_all(flat, out)
    return out.reshape(raw.shape)
