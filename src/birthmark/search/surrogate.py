"""Scores of very many seeds on the first wave, by cheap stand-ins for the standard values.

For a weak trace every seed must be correlated with thousands of values, so the values are made quickly
rather than exactly: a logarithm and a sine by short polynomials, which agree with the true normals to a few
thousandths. Elements of the first wave are drawn by lane 0 of the first call, whatever the layout. Sums are
integers: the same on every machine, in whatever order a processor takes them. Normal and uniform draws use
the same words, so both are scored at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import KEY_STEP_0, KEY_STEP_1, MULTIPLIER_0, MULTIPLIER_1
from birthmark.numerics.compiled import kernel
from birthmark.numerics.float32 import bits, from_bits
from birthmark.search.vectors import widest_vectors

#: Steps in one standard deviation of a stored value, of a stand-in normal, and in the unit of a uniform.
VALUE_STEPS, NORMAL_STEPS, UNIFORM_STEPS = 1024, 2048, 32768
#: Standard deviation of a uniform stand-in, in its steps.
UNIFORM_STD = UNIFORM_STEPS / 3.0**0.5

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_STEP_0, _STEP_1 = np.uint64(KEY_STEP_0), np.uint64(KEY_STEP_1)
_TOP = np.uint32(1 << 31)
_ONE, _FOUR = np.float32(1.0), np.float32(4.0)
_MINUS_2_LN2 = np.float32(-1.3862943611198906)
# log2(1 + f) for 0 <= f < 1, within 0.001; 0 and 1 at the ends.
_L1, _L2, _L3 = np.float32(1.42086), np.float32(-0.57725), np.float32(0.15639)
# sin(pi t) from the parabola 4 t (1 - |t|), within 0.001.
_BEND = np.float32(0.225)
_SIGNED_TURN = np.float32(2.0**-31)
_STEPS = np.float32(NORMAL_STEPS)
_FRACTION, _EXPONENT_OF_ONE = np.uint32(0x7FFFFF), np.uint32(0x3F800000)
_MANTISSA_BITS, _BIAS = np.int32(23), np.int32(127 + 31)
_SHIFT_16 = np.int32(16)


def products(threads: NDArray[np.int64]) -> NDArray[np.uint64]:
    """What the first round owes to the thread index: it is the same for every seed."""
    return threads.astype(np.uint64) * MULTIPLIER_1


@kernel(inline=True)
def _words(
    key_0: np.uint64, key_1: np.uint64, counter: np.uint64, product: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Words 0 and 1 of a block whose thread index fits 32 bits; upper halves hold junk on the way."""
    first = MULTIPLIER_0 * (counter & _LOW)
    x0 = (product >> _HALF) ^ (counter >> _HALF) ^ key_0
    x1 = product
    x2 = (first >> _HALF) ^ key_1
    x3 = first
    for _ in range(8):
        key_0 = key_0 + _STEP_0
        key_1 = key_1 + _STEP_1
        product_0 = MULTIPLIER_0 * (x0 & _LOW)
        product_1 = MULTIPLIER_1 * (x2 & _LOW)
        x0 = (product_1 >> _HALF) ^ x1 ^ key_0
        x1 = product_1
        x2 = (product_0 >> _HALF) ^ x3 ^ key_1
        x3 = product_0
    last = MULTIPLIER_1 * (x2 & _LOW)
    return ((last >> _HALF) ^ x1 ^ (key_0 + _STEP_0)) & _LOW, last & _LOW


@kernel(inline=True)
def stand_in(w0: np.uint64, w1: np.uint64) -> np.int32:
    """The sine value of a pair of words, in steps."""
    word = np.float32(np.int32(w0 >> np.uint64(1))) + np.float32(0.5)
    pattern = bits(word)
    exponent = np.float32(np.int32(pattern >> np.uint32(_MANTISSA_BITS)) - _BIAS)
    f = from_bits(np.uint32((pattern & _FRACTION) | _EXPONENT_OF_ONE)) - _ONE
    log2 = exponent + f * (_L1 + f * (_L2 + f * _L3))
    radius = np.sqrt(max(np.float32(0.0), log2 * _MINUS_2_LN2))
    t = np.float32(np.int32(np.uint32(w1))) * _SIGNED_TURN
    bow = _FOUR * t * (_ONE - abs(t))
    sine = _BEND * (bow * abs(bow) - bow) + bow
    return np.int32(radius * sine * _STEPS)


@kernel(inline=True)
def _uniform(w0: np.uint64) -> np.int32:
    """2 u - 1 of a word, in steps."""
    return np.int32(np.uint32(w0) ^ _TOP) >> _SHIFT_16


@kernel()
def staged(
    seeds: NDArray[np.uint64],
    counter: np.uint64,
    thread_products: NDArray[np.uint64],
    values: NDArray[np.int32],
    ends: NDArray[np.int64],
    limits: NDArray[np.int64],
    sums: NDArray[np.int64],
    reached: NDArray[np.int64],
) -> None:
    """Score seeds stage by stage, each only as far as it keeps above a limit.

    Args:
        seeds: 64-bit seeds.
        counter: offset / 4 of the draw.
        thread_products: `products` of the elements' indices.
        values: the stored values, in steps.
        ends: where each stage ends.
        limits: int64[stages, 2], what the sums with normals and with uniforms must exceed after each stage.
        sums: int64[seeds, 2], filled with both sums as far as they went.
        reached: int64[seeds], filled with the number of stages that a seed passed.
    """
    widest_vectors()
    for s in range(seeds.size):
        key_0, key_1 = seeds[s] & _LOW, seeds[s] >> _HALF
        normal, uniform = np.int64(0), np.int64(0)
        first, passed = np.int64(0), 0
        for stage in range(ends.size):
            # Slices, because an index that might be negative keeps the loop from the vector units.
            part, stored = thread_products[first : ends[stage]], values[first : ends[stage]]
            for i in range(part.size):
                w0, w1 = _words(key_0, key_1, counter, part[i])
                normal += np.int64(stand_in(w0, w1) * stored[i])
                uniform += np.int64(_uniform(w0) * stored[i])
            if normal <= limits[stage, 0] and uniform <= limits[stage, 1]:
                break
            first = ends[stage]
            passed += 1
        sums[s, 0], sums[s, 1] = normal, uniform
        reached[s] = passed
