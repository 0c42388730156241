"""Threefry2x32-20 as JAX uses it: keys, how they are split and folded, and the bits of any element.

The block function is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011). How JAX counts is from jax-ml/jax `jax/_src/prng.py` (now `random/threefry2x32.py`), 0.1 to 0.10.2.
It knows two orders of the counters:

- *partitionable* (the default from 0.5.0, January 2025, on): element j encrypts (high word of j, low word of
  j), whatever the size of the draw.
- *original* (the default before): the numbers 0 to m - 1 are cut into halves that become the two input words,
  and the output halves follow each other; so the bits of an element depend on the draw's size.

Key and counters alone decide: no device, no thread layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.compiled import kernel

Counters = Literal["partitionable", "original"]

#: The two orders of the counters.
COUNTERS: Final[tuple[Counters, ...]] = ("partitionable", "original")
#: Widths of random bits that JAX draws.
WIDTHS: Final = (8, 16, 32, 64)
#: Words of an original draw above which JAX splits the key and starts again.
LARGEST_ORIGINAL: Final = (1 << 32) - 1

_PARITY = np.uint32(0x1BD11BDA)
_BITS = np.uint32(32)
_LOW = (1 << 32) - 1


@kernel(inline=True)
def _round(x0: np.uint32, x1: np.uint32, turn: np.uint32) -> tuple[np.uint32, np.uint32]:
    x0 = np.uint32(x0 + x1)
    x1 = np.uint32(np.uint32(x1 << turn) | np.uint32(x1 >> np.uint32(_BITS - turn)))
    return x0, np.uint32(x0 ^ x1)


@kernel(inline=True)
def _even(x0: np.uint32, x1: np.uint32) -> tuple[np.uint32, np.uint32]:
    x0, x1 = _round(x0, x1, np.uint32(13))
    x0, x1 = _round(x0, x1, np.uint32(15))
    x0, x1 = _round(x0, x1, np.uint32(26))
    return _round(x0, x1, np.uint32(6))


@kernel(inline=True)
def _odd(x0: np.uint32, x1: np.uint32) -> tuple[np.uint32, np.uint32]:
    x0, x1 = _round(x0, x1, np.uint32(17))
    x0, x1 = _round(x0, x1, np.uint32(29))
    x0, x1 = _round(x0, x1, np.uint32(16))
    return _round(x0, x1, np.uint32(24))


@kernel(inline=True)
def threefry2x32(k0: np.uint32, k1: np.uint32, c0: np.uint32, c1: np.uint32) -> tuple[np.uint32, np.uint32]:
    """The two words that a key makes of a counter, 20 rounds."""
    k2 = np.uint32(np.uint32(k0 ^ k1) ^ _PARITY)
    x0, x1 = _even(np.uint32(c0 + k0), np.uint32(c1 + k1))
    x0, x1 = _odd(np.uint32(x0 + k1), np.uint32(x1 + np.uint32(k2 + np.uint32(1))))
    x0, x1 = _even(np.uint32(x0 + k2), np.uint32(x1 + np.uint32(k0 + np.uint32(2))))
    x0, x1 = _odd(np.uint32(x0 + k0), np.uint32(x1 + np.uint32(k1 + np.uint32(3))))
    x0, x1 = _even(np.uint32(x0 + k1), np.uint32(x1 + np.uint32(k2 + np.uint32(4))))
    return np.uint32(x0 + k2), np.uint32(x1 + np.uint32(k0 + np.uint32(5)))


@kernel()
def _blocks(
    k0: NDArray[np.uint32],
    k1: NDArray[np.uint32],
    c0: NDArray[np.uint32],
    c1: NDArray[np.uint32],
    out: NDArray[np.uint32],
) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = threefry2x32(k0[i], k1[i], c0[i], c1[i])


def blocks(
    k0: NDArray[np.uint32], k1: NDArray[np.uint32], c0: NDArray[np.uint32], c1: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """The words of keys and counters that broadcast, uint32 of their shape with a last axis of 2."""
    a, b, c, d = (np.array(one) for one in np.broadcast_arrays(k0, k1, c0, c1))
    out = np.empty((a.size, 2), np.uint32)
    _blocks(a.ravel(), b.ravel(), c.ravel(), d.ravel(), out)
    return out.reshape(*a.shape, 2)


@dataclass(frozen=True, slots=True)
class Key:
    """A JAX key: two 32-bit words."""

    high: int
    low: int

    def __post_init__(self) -> None:
        if not (0 <= self.high <= _LOW and 0 <= self.low <= _LOW):
            raise UsageError(f"a key of the words {self.high} and {self.low}; expected 32-bit ones.")

    def split(self, number: int = 2, counters: Counters = "partitionable") -> tuple[Key, ...]:
        """What `jax.random.split(key, number)` gives.

        Raises:
            UsageError: a negative number.
            UnknownName: an unknown order of counters.
        """
        if number < 0:
            raise UsageError(f"a split into {number} keys; expected 0 or more.")
        return self.children(np.arange(number), number, counters)

    def children(
        self, which: NDArray[np.int64], number: int, counters: Counters = "partitionable"
    ) -> tuple[Key, ...]:
        """Some of the keys of `split(key, number)`, without the others."""
        if check(counters) == "partitionable":
            words = self.words((which >> 32).astype(np.uint32), (which & _LOW).astype(np.uint32))
            return tuple(Key(int(a), int(b)) for a, b in words)
        first = _original_words(self, 2 * number, 2 * np.asarray(which, np.int64))
        second = _original_words(self, 2 * number, 2 * np.asarray(which, np.int64) + 1)
        return tuple(Key(int(a), int(b)) for a, b in zip(first, second, strict=True))

    def fold_in(self, number: int) -> Key:
        """What `jax.random.fold_in(key, number)` gives; the same under both orders of the counters.

        Args:
            number: taken modulo 2^32, as JAX does.
        """
        a, b = self.words(np.zeros(1, np.uint32), np.array([number & _LOW], np.uint32))[0]
        return Key(int(a), int(b))

    def words(self, c0: NDArray[np.uint32], c1: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The words of counters under this key, uint32 of their shape with a last axis of 2."""
        return blocks(np.array(self.high, np.uint32), np.array(self.low, np.uint32), c0, c1)


def key_of(seed: int, *, wide: bool = False) -> Key:
    """What `jax.random.PRNGKey(seed)` (and `key`) gives.

    Args:
        seed: any integer that JAX accepts.
        wide: whether JAX's 64-bit mode is on. Without it a seed is cut to its low 32 bits.
    """
    return Key((seed >> 32) & _LOW if wide else 0, seed & _LOW)


def check(counters: str) -> Counters:
    """The order of counters of that name.

    Raises:
        UnknownName: there is none.
    """
    for known in COUNTERS:
        if counters == known:
            return known
    raise UnknownName("order of counters", counters, COUNTERS)


def bits_at(
    key: Key,
    size: int,
    indices: NDArray[np.int64],
    *,
    width: int = 32,
    counters: Counters = "partitionable",
) -> NDArray[np.uint64]:
    """The random bits of any elements of `jax.random.bits(key, shape)`.

    Args:
        key: the draw's key.
        size: elements of the draw.
        indices: int64, flat, any shape and order, each in [0, size).
        width: bits of an element.
        counters: which order.

    Returns:
        uint64 of the shape of `indices`, below 2^width.

    Raises:
        UsageError: an unknown width, an index outside the draw, an original draw of 2^32 - 1 words or more.
        UnknownName: an unknown order of counters.
    """
    flat = np.asarray(indices, np.int64)
    if width not in WIDTHS:
        raise UsageError(f"random bits of width {width}; expected one of {WIDTHS}.")
    if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= size):
        raise UsageError(f"an index from {flat.min()} to {flat.max()} in a draw of {size} elements.")
    if check(counters) == "original":
        return _original_bits(key, size, flat, width)
    words = key.words((flat >> 32).astype(np.uint32), (flat & _LOW).astype(np.uint32))
    if width == 64:
        return _joined(words[..., 0], words[..., 1])
    return (words[..., 0] ^ words[..., 1]).astype(np.uint64) & np.uint64((1 << width) - 1)


def _original_bits(key: Key, size: int, flat: NDArray[np.int64], width: int) -> NDArray[np.uint64]:
    total = -(-size * width // 32)
    if total >= LARGEST_ORIGINAL:
        raise UsageError(f"an original draw of {total} words; predicted are those below {LARGEST_ORIGINAL}.")
    if width == 64:
        return _joined(_original_words(key, total, flat), _original_words(key, total, flat + size))
    packed = 32 // width
    words = _original_words(key, total, flat // packed).astype(np.uint64)
    return (words >> (np.uint64(width) * (flat % packed).astype(np.uint64))) & np.uint64((1 << width) - 1)


def _original_words(key: Key, total: int, places: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The words at the given places of an original draw of `total` words."""
    half = (total + 1) // 2
    second = places >= half
    c0 = np.where(second, places - half, places)
    # An odd number of words is filled up with a counter of 0.
    c1 = np.where(c0 + half < total, c0 + half, 0)
    words = key.words(c0.astype(np.uint32), c1.astype(np.uint32))
    return np.where(second, words[..., 1], words[..., 0])


def _joined(high: NDArray[np.uint32], low: NDArray[np.uint32]) -> NDArray[np.uint64]:
    return high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
