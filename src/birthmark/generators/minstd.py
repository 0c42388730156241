"""The minimal standard generator of Thrust: a word at any position, backwards too, and states from intervals.

x' = 48271 x modulo 2^31 - 1 (S. Park, K. Miller and P. Stockmeyer, "Another test for randomness", CACM 36,
1993); Thrust calls it `minstd_rand` and its default engine. The older multiplier 16807 (`minstd_rand0`) is
known too. PaddlePaddle makes one such engine for every element and skips it to the element's index. That the
multiplier is 48271, that seeding takes the seed modulo 2^31 - 1 and that element 0 is the first step after
it was read off jieba 0.42.1's word table, which holds 628,096 values of seed 1885516243 to the last bit.

There are 2^31 - 2 states, in one cycle, so two values fix the seed: nothing needs to be searched.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import kernel

MODULUS: Final = (1 << 31) - 1
#: The multipliers of `minstd_rand` (Thrust's default engine) and `minstd_rand0`.
MULTIPLIER: Final = 48271
OLD_MULTIPLIER: Final = 16807

_MODULUS = np.uint64(MODULUS)
_SHIFT = np.uint64(31)
_ORDER = MODULUS - 1


def state_of(seed: int) -> int:
    """The state that a 32-bit seed gives: the seed modulo 2^31 - 1, or 1 where that is 0."""
    return (seed & 0xFFFFFFFF) % MODULUS or 1


def seeds_of(state: int) -> tuple[int, ...]:
    """All 32-bit seeds that give a state, ascending: two for every state but 1, which has six.

    Raises:
        UsageError: not a state.
    """
    _check(state)
    seeds = list(range(state, 1 << 32, MODULUS))
    if state == 1:
        seeds += [0, MODULUS, 2 * MODULUS]
    return tuple(sorted(seeds))


def jumped(state: int, steps: int, multiplier: int = MULTIPLIER) -> int:
    """The state `steps` later; earlier where negative.

    Raises:
        UsageError: not a state.
    """
    _check(state)
    return state * pow(multiplier, steps % _ORDER, MODULUS) % MODULUS


def words_at(seed: int, positions: NDArray[np.int64], multiplier: int = MULTIPLIER) -> NDArray[np.uint32]:
    """The outputs at the given positions of a seed's stream, 1 to 2^31 - 2, uint32 of their shape.

    Args:
        seed: any integer; its low 32 bits count.
        positions: int64, 0 or more, any shape and order.
        multiplier: of the engine.

    Raises:
        UsageError: a negative position.
    """
    flat = np.ascontiguousarray(positions, np.int64).reshape(-1)
    if flat.size and int(flat.min()) < 0:
        raise UsageError(f"position {flat.min()} in a stream; positions count from 0.")
    out = np.empty(len(flat), np.uint32)
    _jumps(np.uint64(state_of(seed)), flat, _powers(multiplier), out)
    return out.reshape(np.shape(positions))


def consistent(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    positions: NDArray[np.int64],
    least: int,
    multiplier: int = MULTIPLIER,
) -> NDArray[np.int64]:
    """The states at the first position that lie in its interval and agree with enough of the others.

    Args:
        low: int64[n], least words that are possible at each position.
        high: int64[n], greatest ones.
        positions: int64[n], where the words stand, any order.
        least: how many of the intervals after the first must hold their word.
        multiplier: of the engine.

    Returns:
        int64, the states of the first position that pass, ascending.

    Raises:
        UsageError: no interval, arrays of unequal lengths, a `least` that is not among them.
    """
    if not len(low) == len(high) == len(positions) or not 0 < least < len(low):
        raise UsageError(
            f"{len(low)}, {len(high)} and {len(positions)} intervals of which {least} must agree; "
            "expected as many of each, and fewer that must."
        )
    factors = np.array(
        [jumped(1, int(position) - int(positions[0]), multiplier) for position in positions], np.uint64
    )
    first, last = max(1, int(low[0])), min(MODULUS - 1, int(high[0]))
    found = np.empty(max(0, last - first + 1), np.int64)
    count = _consistent(first, last, factors, low.astype(np.uint64), high.astype(np.uint64), least, found)
    return found[:count].copy()


def _powers(multiplier: int) -> NDArray[np.uint64]:
    """The multiplier to the powers 2^0 to 2^62."""
    powers = [multiplier % MODULUS]
    for _ in range(62):
        powers.append(powers[-1] ** 2 % MODULUS)
    return np.array(powers, np.uint64)


def _check(state: int) -> None:
    if not 1 <= state < MODULUS:
        raise UsageError(f"the state {state} of a minimal standard generator; expected 1 to {MODULUS - 1}.")


@kernel()
def _jumps(
    state: np.uint64, positions: NDArray[np.int64], powers: NDArray[np.uint64], out: NDArray[np.uint32]
) -> None:
    last, current = np.int64(-1), state
    for i in range(len(positions)):
        steps = positions[i] - last
        if steps < 0:  # start again from the seed
            steps, current = positions[i] + 1, state
        bit = 0
        while steps:
            if steps & 1:
                current = current * powers[bit] % _MODULUS
            steps >>= 1
            bit += 1
        last = positions[i]
        out[i] = np.uint32(current)


@kernel()
def _consistent(
    first: int,
    last: int,
    factors: NDArray[np.uint64],
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    least: int,
    found: NDArray[np.int64],
) -> int:
    count = 0
    others = len(factors) - 1
    for state in range(first, last + 1):
        agree = 0
        for j in range(1, others + 1):
            # Modulo 2^31 - 1 the bits above the lowest 31 count as ones.
            product = np.uint64(state) * factors[j]
            word = (product & _MODULUS) + (product >> _SHIFT)
            word = (word & _MODULUS) + (word >> _SHIFT)
            agree += 1 if low[j] <= word <= high[j] else 0
            if agree >= least or agree + others - j < least:
                break
        if agree >= least:
            found[count] = state
            count += 1
    return count
