"""How NumPy and Python make a generator's state of a seed.

Sources: numpy `numpy/random/bit_generator.pyx`, `_mt19937.pyx`, `src/mt19937/mt19937.c`, 1.17 to 2.4; CPython
`Modules/_randommodule.c`, 3.2 to 3.13; M. O'Neill, "Developing a seed_seq alternative" (2015).

- `numpy.random.seed(s)` and `RandomState(s)` of an integer: MT19937 with `init_genrand`, as PyTorch's CPU
  generator seeds (`mt19937_words.start`).
- `RandomState` of an array, and Python's `random.seed(s)` of an integer: MT19937 with `init_by_array`; of
  Python's seed the 32-bit digits of its magnitude, lowest first.
- `default_rng(s)` and other bit generators: a `SeedSequence`, a hash of a pool of four words.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937_words import SIZE, advance, continued, seeded
from birthmark.numerics.compiled import kernel

#: Words of a SeedSequence's pool.
POOL: Final = 4

_LOW = (1 << 32) - 1
_ARRAY_SEED = np.uint32(19650218)
_FIRST = np.uint32(1664525)
_SECOND = np.uint32(1566083941)
_TOP = np.uint32(0x80000000)
_THIRTY = np.uint32(30)

_INIT_A = np.uint32(0x43B0D7E5)
_MULT_A = np.uint32(0x931E8875)
#: The constant that the first word of a state is hashed with.
INIT_B = np.uint32(0x8B51F9DD)
_MULT_B = np.uint32(0x58F38DED)
_MIX_L = np.uint32(0xCA01F9DD)
_MIX_R = np.uint32(0x4973F715)
_HALF = np.uint32(16)


def digits(number: int) -> NDArray[np.uint32]:
    """The 32-bit digits of a number >= 0, lowest first; one 0 for 0.

    Raises:
        UsageError: a negative number.
    """
    if number < 0:
        raise UsageError(f"the seed {number}; expected 0 or more.")
    found = [number & _LOW]
    while number := number >> 32:
        found.append(number & _LOW)
    return np.array(found, np.uint32)


def array_window(key: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The window at position 0 of the MT19937 stream that `init_by_array(key)` starts, uint32[624].

    Raises:
        UsageError: an empty key.
    """
    if len(key) == 0:
        raise UsageError("an empty key for init_by_array; expected one word or more.")
    state = by_array(np.asarray(key, np.uint32))
    advance(state)
    return state


def python_window(seed: int) -> NDArray[np.uint32]:
    """The window at position 0 of the stream that Python's `random.seed(seed)` of an integer starts."""
    return array_window(digits(abs(seed)))


def sequence_window(entropy: int, spawn_key: tuple[int, ...] = ()) -> NDArray[np.uint32]:
    """The window at position 0 of NumPy's `MT19937(entropy)`, seeded through a SeedSequence.

    The stream begins with the last word of the seeded state, where all other seedings begin behind it.
    """
    state = seed_sequence(entropy, SIZE, spawn_key)
    state[0] = _TOP  # as numpy does, so that no state is all zeros
    return continued(state, 2 * SIZE - 1)[SIZE - 1 :].copy()


def seed_sequence(entropy: int, words: int, spawn_key: tuple[int, ...] = ()) -> NDArray[np.uint32]:
    """`SeedSequence(entropy, spawn_key=spawn_key).generate_state(words)`, uint32.

    Args:
        entropy: the seed, 0 or more.
        words: how many; two 32-bit words, the low one first, make one 64-bit word of NumPy's.
        spawn_key: of a child made by `spawn`.

    Raises:
        UsageError: a negative number.
    """
    assembled = digits(entropy)
    if spawn_key:
        filled = np.zeros(max(POOL, len(assembled)), np.uint32)
        filled[: len(assembled)] = assembled
        assembled = np.concatenate([filled, *(digits(one) for one in spawn_key)])
    return state_words(pool_of(assembled), words)


@kernel()
def by_array(key: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The 624 words that `init_by_array` makes of a key: the state before the first output."""
    state = seeded(_ARRAY_SEED)
    i, j = 1, 0
    for _ in range(max(SIZE, len(key))):
        last = state[i - 1]
        mixed = np.uint32(state[i] ^ np.uint32(np.uint32(last ^ np.uint32(last >> _THIRTY)) * _FIRST))
        state[i] = np.uint32(mixed + np.uint32(key[j] + np.uint32(j)))
        i, j = i + 1, j + 1
        if i >= SIZE:
            state[0] = state[SIZE - 1]
            i = 1
        if j >= len(key):
            j = 0
    for _ in range(SIZE - 1):
        last = state[i - 1]
        mixed = np.uint32(state[i] ^ np.uint32(np.uint32(last ^ np.uint32(last >> _THIRTY)) * _SECOND))
        state[i] = np.uint32(mixed - np.uint32(i))
        i += 1
        if i >= SIZE:
            state[0] = state[SIZE - 1]
            i = 1
    state[0] = _TOP
    return state


@kernel(inline=True)
def _hashed(value: np.uint32, constant: np.uint32) -> tuple[np.uint32, np.uint32]:
    value = np.uint32(value ^ constant)
    constant = np.uint32(constant * _MULT_A)
    value = np.uint32(value * constant)
    return np.uint32(value ^ np.uint32(value >> _HALF)), constant


@kernel(inline=True)
def _mixed(x: np.uint32, y: np.uint32) -> np.uint32:
    result = np.uint32(np.uint32(_MIX_L * x) - np.uint32(_MIX_R * y))
    return np.uint32(result ^ np.uint32(result >> _HALF))


@kernel(inline=True)
def _spread(
    source: np.uint32, x: np.uint32, y: np.uint32, z: np.uint32, constant: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Three pool words after one was mixed into each, and the constant that follows."""
    value, constant = _hashed(source, constant)
    x = _mixed(x, value)
    value, constant = _hashed(source, constant)
    y = _mixed(y, value)
    value, constant = _hashed(source, constant)
    return x, y, _mixed(z, value), constant


@kernel(inline=True)
def pool_of_seed(seed: np.uint64) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """`pool_of` the two words of a seed below 2^64, without an array."""
    low, high = np.uint32(seed & np.uint64(0xFFFFFFFF)), np.uint32(seed >> np.uint64(32))
    p0, constant = _hashed(low, _INIT_A)
    p1, constant = _hashed(high, constant)
    p2, constant = _hashed(np.uint32(0), constant)
    p3, constant = _hashed(np.uint32(0), constant)
    p1, p2, p3, constant = _spread(p0, p1, p2, p3, constant)
    p0, p2, p3, constant = _spread(p1, p0, p2, p3, constant)
    p0, p1, p3, constant = _spread(p2, p0, p1, p3, constant)
    p0, p1, p2, constant = _spread(p3, p0, p1, p2, constant)
    return p0, p1, p2, p3


@kernel(inline=True)
def state_word(word: np.uint32, constant: np.uint32) -> tuple[np.uint32, np.uint32]:
    """One word that a pool word gives, and the constant that follows."""
    value = np.uint32(word ^ constant)
    constant = np.uint32(constant * _MULT_B)
    value = np.uint32(value * constant)
    return np.uint32(value ^ np.uint32(value >> _HALF)), constant


@kernel()
def pool_of(entropy: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The pool that a SeedSequence makes of assembled entropy words, uint32[4]."""
    pool = np.zeros(POOL, np.uint32)
    constant = _INIT_A
    for i in range(POOL):
        word = entropy[i] if i < len(entropy) else np.uint32(0)
        pool[i], constant = _hashed(word, constant)
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                value, constant = _hashed(pool[source], constant)
                pool[target] = _mixed(pool[target], value)
    for source in range(POOL, len(entropy)):
        for target in range(POOL):
            value, constant = _hashed(entropy[source], constant)
            pool[target] = _mixed(pool[target], value)
    return pool


@kernel()
def state_words(pool: NDArray[np.uint32], words: int) -> NDArray[np.uint32]:
    """The words that a pool gives, uint32[words]."""
    out = np.empty(words, np.uint32)
    constant = INIT_B
    for i in range(words):
        out[i], constant = state_word(pool[i % POOL], constant)
    return out
