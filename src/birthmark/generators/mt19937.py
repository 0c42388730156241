"""MT19937 with random access: the words at any positions of a seed's stream, without the words between.

A window far ahead is a sum of nearby ones: with X^n = sum of c_j X^j modulo the characteristic polynomial,
the window at n is the exclusive or of the windows at those j < 19,937 where c_j is set (Haramoto,
Matsumoto, Nishimura, Panneton and L'Ecuyer, "Efficient jump ahead for F2-linear random number generators",
2008).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.gf2 import Polynomial, exponents_of
from birthmark.generators.mt19937_field import DEGREE, characteristic
from birthmark.generators.mt19937_words import SIZE, continued, skipped, start, temper
from birthmark.numerics.compiled import kernel

#: Gaps up to here are stepped through: about what a jump costs.
STEPPED = 1 << 22
#: Words that are made at a time between two positions.
_PIECE = 1 << 16


def window_at(seed: int, position: int) -> NDArray[np.uint32]:
    """The raw words of the outputs `position` to `position` + 623 of a seed's stream, uint32[624].

    Raises:
        UsageError: a negative position.
    """
    if position < 0:
        raise UsageError(f"position {position} in an MT19937 stream; positions count from 0.")
    return moved(start(seed), position)


def moved(window: NDArray[np.uint32], steps: int) -> NDArray[np.uint32]:
    """The window `steps` >= 0 positions after a window."""
    if steps <= STEPPED:
        return skipped(window, steps)
    return _combined(continued(window, DEGREE + SIZE), exponents_of(characteristic().power_of_x(steps)))


def words(seed: int, position: int, count: int) -> NDArray[np.uint32]:
    """The outputs `position` to `position` + `count` - 1 of a seed's stream, uint32[count].

    Raises:
        UsageError: a negative position or count.
    """
    if count < 0:
        raise UsageError(f"{count} words of an MT19937 stream were asked for; expected 0 or more.")
    return temper(continued(window_at(seed, position), count))


def words_at(seed: int, positions: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The outputs at the given positions of a seed's stream, in their order and shape.

    Args:
        seed: any integer; only its low 32 bits count.
        positions: int64, any shape and order, repeats allowed.

    Raises:
        UsageError: a negative position.
    """
    flat = np.asarray(positions, np.int64).reshape(-1)
    if flat.size == 0:
        return np.zeros(np.shape(positions), np.uint32)
    order = np.argsort(flat, kind="stable")
    ascending = flat[order]
    first = int(ascending[0])
    found = following(window_at(seed, first), ascending - first)
    out = np.empty(len(flat), np.uint32)
    out[order] = found
    return out.reshape(np.shape(positions))


def following(window: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The outputs at ascending offsets >= 0 from a window's position, uint32 of the same length."""
    raw = np.empty(len(offsets), np.uint32)
    at, i = 0, 0
    while i < len(offsets):
        window = moved(window, int(offsets[i]) - at)
        at = int(offsets[i])
        stop = int(np.searchsorted(offsets, at + _PIECE))
        reach = int(offsets[stop - 1]) - at
        run = continued(window, reach + SIZE)
        raw[i:stop] = run[offsets[i:stop] - at]
        window, at, i = run[reach:].copy(), at + reach, stop
    return temper(raw)


@kernel()
def _combined(raw: NDArray[np.uint32], exponents: Polynomial) -> NDArray[np.uint32]:
    """The exclusive or of the windows that start at the exponents."""
    total = np.zeros(SIZE, np.uint32)
    for exponent in exponents:
        piece = raw[np.int64(exponent) : np.int64(exponent) + SIZE]
        for i in range(SIZE):
            total[i] ^= piece[i]
    return total
