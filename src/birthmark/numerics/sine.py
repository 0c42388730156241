"""The sine and cosine unit of NVIDIA GPUs (MUFU.SIN, MUFU.COS), bit for bit.

The data path is the quadratic interpolator of Oberman and Siu, "A high-performance area-efficient
multifunction interpolator" (ARITH-17, 2005): a table of 64 rows for the first quarter turn, a truncated
squarer, and a result truncated to 24 bits. Widths and truncations follow the envytools project's
description of the unit. The same table serves Volta, Turing, Ada, Hopper and Blackwell; `sine_table` says
how it was derived here.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import kernel
from birthmark.numerics.float32 import bits, from_bits, truncated
from birthmark.numerics.sine_table import C0, C1, C2

#: Bits of the argument: an angle is an integer number of 2^-25 turns.
TURN_BITS = 25

_QUADRANT = np.uint32(23)
_FRACTION = np.uint32(0x7FFFFF)
_ROW = np.uint32(17)
_WITHIN_ROW = np.uint32(0x1FFFF)
_ONE = np.uint32(1)
_SIGN = np.uint32(31)
_C0_SHIFT = np.uint64(11)
_UNIT = np.float64(2.0**-37)


@kernel(inline=True)
def squared(x: np.uint32) -> np.uint32:
    """The unit's square of a 17-bit x, about x^2 / 2^19: each partial product is truncated before the sum."""
    total = np.uint32(0)
    for bit in range(17):
        chosen = np.uint32(np.uint32(0) - np.uint32(np.uint32(x >> np.uint32(bit)) & _ONE))
        total = np.uint32(total + np.uint32(np.uint32(x >> np.uint32(18 - bit)) & chosen))
    return np.uint32(total >> _ONE)


@kernel(inline=True)
def quarter(fraction: np.uint32) -> np.float32:
    """Sine of fraction * 2^-25 turns, for fraction below 2^23 (the first quarter turn)."""
    row = np.uint32(fraction >> _ROW)
    x = np.uint32(fraction & _WITHIN_ROW)
    # C1*x < 2^32 exceeds C2*sq everywhere, so the difference is exact in 32 bits, and the sum below 2^38.
    linear = np.uint32(np.uint32(C1[row] * x) - np.uint32(C2[row] * squared(x)))
    return truncated(np.float64((np.uint64(C0[row]) << _C0_SHIFT) + np.uint64(linear)) * _UNIT)


@kernel(inline=True)
def sine(k: np.uint32) -> np.float32:
    """MUFU.SIN of k * 2^-25 turns, for k below 2^25; odd quadrants fold by one's complement."""
    quadrant = np.uint32(k >> _QUADRANT)
    fold = np.uint32(np.uint32(0) - np.uint32(quadrant & _ONE))
    magnitude = quarter(np.uint32(np.uint32(k ^ fold) & _FRACTION))
    sign = np.uint32(np.uint32(quadrant >> _ONE) << _SIGN)
    return from_bits(np.uint32(bits(magnitude) | sign))


@kernel(inline=True)
def cosine(k: np.uint32) -> np.float32:
    """MUFU.COS of k * 2^-25 turns, for k below 2^25: the sine path, one quadrant on."""
    return sine(np.uint32(np.uint32(k + np.uint32(1 << 23)) & np.uint32((1 << 25) - 1)))
