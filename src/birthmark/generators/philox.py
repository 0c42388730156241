"""Philox4x32-10 as CUDA and ROCm use it: four words for any seed, thread and call.

The block function is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011), with the constants of random123 v1.14.0 `include/Random123/philox.h`. The key is the 64-bit seed
(low word, high word). The counter is (position, thread), each 64 bits, low word first, where position is
offset / 4 plus the number of calls that the thread made before (CUDA toolkit 12, `curand_kernel.h`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
KEY_STEP_0 = np.uint32(0x9E3779B9)
KEY_STEP_1 = np.uint32(0xBB67AE85)
ROUNDS = 10

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@kernel(inline=True)
def philox4x32(
    c0: np.uint32, c1: np.uint32, c2: np.uint32, c3: np.uint32, k0: np.uint32, k1: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Four words of the block with counter (c0, c1, c2, c3) under the key (k0, k1)."""
    for _ in range(ROUNDS):
        product_0 = MULTIPLIER_0 * np.uint64(c0)
        product_1 = MULTIPLIER_1 * np.uint64(c2)
        c0 = np.uint32(np.uint32(product_1 >> _HALF) ^ c1 ^ k0)
        c2 = np.uint32(np.uint32(product_0 >> _HALF) ^ c3 ^ k1)
        c1 = np.uint32(product_1 & _LOW)
        c3 = np.uint32(product_0 & _LOW)
        k0 = np.uint32(k0 + KEY_STEP_0)
        k1 = np.uint32(k1 + KEY_STEP_1)
    return c0, c1, c2, c3


@kernel(inline=True)
def block(
    key: np.uint64, counter: np.uint64, thread: np.uint64
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Four words of one thread's call: `philox4x32` with every 64-bit number split into its halves."""
    return philox4x32(
        np.uint32(counter & _LOW),
        np.uint32(counter >> _HALF),
        np.uint32(thread & _LOW),
        np.uint32(thread >> _HALF),
        np.uint32(key & _LOW),
        np.uint32(key >> _HALF),
    )


@kernel()
def _words(
    key: np.uint64, counter: NDArray[np.uint64], thread: NDArray[np.uint64], out: NDArray[np.uint32]
) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = block(key, counter[i], thread[i])


def key_of(seed: int) -> np.uint64:
    """The 64-bit key of a seed; negative seeds wrap modulo 2^64, as torch's do."""
    return np.uint64(seed % (1 << 64))


def words(seed: int, counter: NDArray[np.uint64], thread: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """The words at any positions of a stream.

    Args:
        seed: the generator's seed, any integer; taken modulo 2^64.
        counter: offset / 4 plus earlier calls of the thread, uint64, any shape.
        thread: global thread index, uint64, of a shape that broadcasts with `counter`.

    Returns:
        uint32 of the broadcast shape with a last axis of 4: the words w0..w3.
    """
    counters, threads = np.broadcast_arrays(np.asarray(counter, np.uint64), np.asarray(thread, np.uint64))
    out = np.empty((counters.size, 4), np.uint32)
    _words(key_of(seed), np.ascontiguousarray(counters).ravel(), np.ascontiguousarray(threads).ravel(), out)
    return out.reshape(*counters.shape, 4)
