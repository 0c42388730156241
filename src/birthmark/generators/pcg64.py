"""PCG64 (XSL-RR 128/64), NumPy's default generator: 64-bit words at any position.

M. O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for random number
generation" (2014); jumping ahead as F. Brown, "Random number generation with arbitrary strides" (1994). As in
numpy `numpy/random/src/pcg64/pcg64.h` and `_pcg64.pyx`, 1.17 to 2.4: the state steps, then gives its word;
state and stream come from four 64-bit words of a SeedSequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.numpy_seeding import INIT_B, pool_of_seed, seed_sequence, state_word
from birthmark.numerics.compiled import kernel

MULTIPLIER: Final = 0x2360ED051FC65DA44385DF649FCCF645

_SIZE = 1 << 128
_LOW = (1 << 64) - 1
_M_HIGH = np.uint64(MULTIPLIER >> 64)
_M_LOW = np.uint64(MULTIPLIER & _LOW)
_HALF = np.uint64(32)
_MASK = np.uint64(0xFFFFFFFF)
_TURN = np.uint64(58)
_SIXTY_THREE = np.uint64(63)
_WORD = np.uint64(64)
_ONE = np.uint64(1)


@dataclass(frozen=True, slots=True)
class Pcg64:
    """A PCG64 stream at a position.

    Attributes:
        state: 128 bits, before the step that gives the next word.
        increment: 128 bits, odd; which of the streams.
    """

    state: int
    increment: int

    def __post_init__(self) -> None:
        if not (0 <= self.state < _SIZE and 0 <= self.increment < _SIZE and self.increment % 2):
            raise UsageError("a PCG64 state or increment beyond 128 bits, or an even increment.")

    def advanced(self, steps: int) -> Pcg64:
        """The stream that many words later; earlier where negative."""
        factor, shift = _stride(steps % _SIZE, self.increment)
        return Pcg64((factor * self.state + shift) % _SIZE, self.increment)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next words.

        Raises:
            UsageError: a negative count.
        """
        if count < 0:
            raise UsageError(f"{count} words were asked for; expected 0 or more.")
        out = np.empty(count, np.uint64)
        _run(*self.halves(), out)
        return out

    def words_at(self, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The words at positions counted from here, uint64 of their shape; negative ones lie before."""
        flat = np.asarray(positions, np.int64).reshape(-1)
        order = np.argsort(flat, kind="stable")
        out = np.empty(len(flat), np.uint64)
        at, i = self, 0
        place = 0
        while i < len(flat):
            first = int(flat[order[i]])
            stop = int(np.searchsorted(flat[order], first + _PIECE))
            at, place = at.advanced(first - place), first
            chosen = order[i:stop]
            out[chosen] = at.words(int(flat[chosen[-1]]) - first + 1)[flat[chosen] - first]
            i = stop
        return out.reshape(np.shape(positions))

    def halves(self) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
        """(state high, state low, increment high, increment low), as kernels take them."""
        return (
            np.uint64(self.state >> 64),
            np.uint64(self.state & _LOW),
            np.uint64(self.increment >> 64),
            np.uint64(self.increment & _LOW),
        )


#: Words that are made at a time between two positions.
_PIECE = 1 << 12


def pcg64_of(seed: int, spawn_key: tuple[int, ...] = ()) -> Pcg64:
    """The stream of `numpy.random.default_rng(seed)` at its start.

    Args:
        seed: an integer of any size, 0 or more.
        spawn_key: of a child made by `SeedSequence.spawn`.

    Raises:
        UsageError: a negative seed.
    """
    words = [int(word) for word in seed_sequence(seed, 8, spawn_key).view("<u8")]
    increment = ((words[2] << 64 | words[3]) << 1 | 1) % _SIZE
    state = (increment + (words[0] << 64 | words[1])) * MULTIPLIER + increment
    return Pcg64(state % _SIZE, increment)


def _stride(steps: int, increment: int) -> tuple[int, int]:
    """(a, b) such that x' = a x + b makes that many steps at once."""
    factor, shift = 1, 0
    a, b = MULTIPLIER, increment
    while steps:
        if steps & 1:
            factor, shift = factor * a % _SIZE, (shift * a + b) % _SIZE
        a, b = a * a % _SIZE, (a + 1) * b % _SIZE
        steps >>= 1
    return factor, shift


@kernel(inline=True)
def product_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """The high word of a product."""
    a0, a1 = a & _MASK, a >> _HALF
    b0, b1 = b & _MASK, b >> _HALF
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    low = (middle & _MASK) + a0 * b1
    return np.uint64(a1 * b1 + (middle >> _HALF) + (low >> _HALF))


@kernel(inline=True)
def step(high: np.uint64, low: np.uint64, c_high: np.uint64, c_low: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The next state, from a state and an increment in halves."""
    next_high = product_high(low, _M_LOW) + high * _M_LOW + low * _M_HIGH + c_high
    product = low * _M_LOW
    next_low = product + c_low
    return np.uint64(next_high + (_ONE if next_low < product else np.uint64(0))), np.uint64(next_low)


@kernel(inline=True)
def output(high: np.uint64, low: np.uint64) -> np.uint64:
    """The word of a state."""
    mixed = high ^ low
    turn = high >> _TURN
    return np.uint64((mixed >> turn) | (mixed << ((_WORD - turn) & _SIXTY_THREE)))


@kernel(inline=True)
def _joined(low: np.uint32, high: np.uint32, constant: np.uint32) -> tuple[np.uint64, np.uint32]:
    """A 64-bit word of a SeedSequence from two pool words, and the constant that follows."""
    first, constant = state_word(low, constant)
    second, constant = state_word(high, constant)
    return np.uint64(first) | (np.uint64(second) << _HALF), constant


@kernel(inline=True)
def started(seed: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """`pcg64_of` in halves, for a seed below 2^64."""
    p0, p1, p2, p3 = pool_of_seed(seed)
    w0, constant = _joined(p0, p1, INIT_B)
    w1, constant = _joined(p2, p3, constant)
    w2, constant = _joined(p0, p1, constant)
    w3, constant = _joined(p2, p3, constant)
    c_high = np.uint64((w2 << _ONE) | (w3 >> _SIXTY_THREE))
    c_low = np.uint64((w3 << _ONE) | _ONE)
    low = np.uint64(c_low + w1)
    high = np.uint64(c_high + w0 + (_ONE if low < w1 else np.uint64(0)))
    high, low = step(high, low, c_high, c_low)
    return high, low, c_high, c_low


@kernel()
def _run(
    high: np.uint64, low: np.uint64, c_high: np.uint64, c_low: np.uint64, out: NDArray[np.uint64]
) -> None:
    for i in range(len(out)):
        high, low = step(high, low, c_high, c_low)
        out[i] = output(high, low)
