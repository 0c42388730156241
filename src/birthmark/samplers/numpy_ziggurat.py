"""NumPy's ziggurat: `Generator.standard_normal` in float64 and float32, from PCG64.

The method is that of G. Marsaglia and W. W. Tsang, "The ziggurat method for generating random variables"
(Journal of Statistical Software 5, 2000) with 256 layers, as numpy lays it out in
`numpy/random/src/distributions/distributions.c`, 1.17 to 2.4.

The tables are derived here as whoever made numpy's must have done it: in double precision from the edge
inwards, with one exponential a unit too large (layer 38). All 256 widths then explain every one of 150,000
drawn values to the last bit. Of 100 values 99 take one word, the others two or more, so where an element's
words lie is known only after all before it were made: there is no jump, but marks on the way
(`samplers.numpy_draw`) save a second pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.pcg64 import output, step
from birthmark.numerics.compiled import kernel

LAYERS: Final = 256
#: Where the last layer ends and the tail begins, and the area of a layer; four units below the true one.
EDGE: Final = 3.6541528853610087963519472518
AREA: Final = float.fromhex("0x1.43016a5a4372ep-8")
#: The layer whose density numpy's tables round up.
LIFTED: Final = 38

_EDGE = np.float64(EDGE)
_INVERSE_EDGE = np.float64(1.0 / EDGE)
_EDGE_32 = np.float32(EDGE)
_INVERSE_EDGE_32 = np.float32(1.0 / EDGE)
_STEP = np.float64(2.0**-53)
_STEP_32 = np.float32(2.0**-24)
_MASK_64 = np.uint64(0x000FFFFFFFFFFFFF)
_MASK_32 = np.uint32(0x007FFFFF)
_LAYER = np.uint64(0xFF)
_LAYER_32 = np.uint32(0xFF)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The layers.

    Attributes:
        inside: uint64[256], below which a magnitude surely lies in its layer.
        width: [256] of the dtype, what a magnitude is multiplied by.
        height: [256] of the dtype, the density at a layer's edge.
    """

    inside: NDArray[np.uint64] = field(repr=False)
    width: NDArray[Any] = field(repr=False)
    height: NDArray[Any] = field(repr=False)


@cache
def tables(bits: int) -> Tables:
    """The tables of magnitudes of 52 bits (float64) or 23 bits (float32)."""
    unit = float(1 << bits)
    x, density = [0.0] * LAYERS, [1.0] * LAYERS
    inside = [0] * LAYERS
    x[-1], density[-1] = float(_EDGE), _exp(float(_EDGE))
    x[0] = AREA / density[-1]
    whole = int if bits > 32 else round  # which is seen in float32 alone: one value in 10 million
    inside[0] = whole(x[-1] * density[-1] / AREA * unit)
    for i in range(LAYERS - 2, 0, -1):
        x[i] = _root_log(AREA / x[i + 1] + density[i + 1])
        density[i] = _exp(x[i])
        if i == LIFTED:
            density[i] = math.nextafter(density[i], 1.0)
        inside[i + 1] = whole(x[i] / x[i + 1] * unit)
    dtype = np.float64 if bits > 32 else np.float32
    return Tables(
        np.array(inside, np.uint64),
        np.array([one / unit for one in x]).astype(dtype),
        np.array(density).astype(dtype),
    )


def _exp(x: float) -> float:
    """exp(-x^2/2), the exponential rounded once."""
    with localcontext() as context:
        context.prec = 40
        return float(Decimal(-0.5 * x * x).exp())


def _root_log(y: float) -> float:
    """sqrt(-2 log y), the logarithm rounded once."""
    with localcontext() as context:
        context.prec = 40
        return math.sqrt(-2.0 * float(Decimal(y).ln()))


@kernel()
def skip64(
    state: NDArray[np.uint64],
    first: int,
    wanted: NDArray[np.int64],
    inside: NDArray[np.uint64],
    width: NDArray[np.float64],
    height: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Run over a stream of float64 normals and keep the wanted ones.

    Args:
        state: uint64[5], PCG64's halves and a word that is not used here; left behind the last value.
        first: number of the value that comes next.
        wanted: int64, ascending numbers, none below `first`.
        inside: of `tables(52)`, as are `width` and `height`.
        width: see there.
        height: see there.
        out: float64, the values kept.
    """
    high, low, c_high, c_low = state[0], state[1], state[2], state[3]
    value = np.float64(0.0)
    at = first - 1
    for i in range(len(wanted)):
        while at < wanted[i]:
            at += 1
            while True:
                high, low = step(high, low, c_high, c_low)
                word = output(high, low)
                layer = np.int64(word & _LAYER)
                word >>= np.uint64(8)
                magnitude = np.uint64((word >> np.uint64(1)) & _MASK_64)
                value = np.float64(magnitude) * width[layer]
                if word & np.uint64(1):
                    value = -value
                if magnitude < inside[layer]:
                    break
                high, low = step(high, low, c_high, c_low)
                drawn = np.float64(output(high, low) >> np.uint64(11)) * _STEP
                if layer:
                    slope = height[layer - 1] - height[layer]
                    if slope * drawn + height[layer] < np.exp(np.float64(-0.5) * value * value):
                        break
                    continue
                # The tail, by Marsaglia's exponential rejection.
                x = -_INVERSE_EDGE * np.log1p(-drawn)
                high, low = step(high, low, c_high, c_low)
                y = -np.log1p(-np.float64(output(high, low) >> np.uint64(11)) * _STEP)
                while not y + y > x * x:
                    high, low = step(high, low, c_high, c_low)
                    x = -_INVERSE_EDGE * np.log1p(-np.float64(output(high, low) >> np.uint64(11)) * _STEP)
                    high, low = step(high, low, c_high, c_low)
                    y = -np.log1p(-np.float64(output(high, low) >> np.uint64(11)) * _STEP)
                value = _EDGE + x
                if (magnitude >> np.uint64(8)) & np.uint64(1):
                    value = -value
                break
        out[i] = value
    state[0], state[1] = high, low


@kernel(inline=True)
def word32(state: NDArray[np.uint64]) -> np.uint32:
    """The next 32-bit word: each 64-bit word gives its low half, then its high half.

    Args:
        state: uint64[5], PCG64's halves and the half that is left, with bit 32 set; 0 where none is.
    """
    if state[4]:
        left = np.uint32(state[4] & _LOW)
        state[4] = np.uint64(0)
        return left
    high, low = step(state[0], state[1], state[2], state[3])
    state[0], state[1] = high, low
    word = output(high, low)
    state[4] = np.uint64((word >> np.uint64(32)) | np.uint64(0x100000000))
    return np.uint32(word & _LOW)


@kernel(inline=True)
def _float(state: NDArray[np.uint64]) -> np.float32:
    return np.float32(np.float32(np.uint32(word32(state) >> np.uint32(8))) * _STEP_32)


@kernel()
def skip32(
    state: NDArray[np.uint64],
    first: int,
    wanted: NDArray[np.int64],
    inside: NDArray[np.uint64],
    width: NDArray[np.float32],
    height: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """The same of float32 normals, with the tables of `tables(23)`."""
    value = np.float32(0.0)
    at = first - 1
    for i in range(len(wanted)):
        while at < wanted[i]:
            at += 1
            while True:
                word = word32(state)
                layer = np.int64(word & _LAYER_32)
                magnitude = np.uint32(np.uint32(word >> np.uint32(9)) & _MASK_32)
                value = np.float32(np.float32(magnitude) * width[layer])
                if word & np.uint32(0x100):
                    value = np.float32(-value)
                if np.uint64(magnitude) < inside[layer]:
                    break
                if layer:
                    slope = np.float32(height[layer - 1] - height[layer])
                    lifted = np.float32(np.float32(slope * _float(state)) + height[layer])
                    wide = np.float64(value)
                    if np.float64(lifted) < np.exp(np.float64(-0.5) * wide * wide):
                        break
                    continue
                while True:
                    x = np.float32(-_INVERSE_EDGE_32 * np.float32(np.log1p(np.float32(-_float(state)))))
                    y = np.float32(-np.float32(np.log1p(np.float32(-_float(state)))))
                    if np.float32(y + y) > np.float32(x * x):
                        break
                value = np.float32(_EDGE_32 + x)
                if np.uint32(magnitude >> np.uint32(8)) & np.uint32(1):
                    value = np.float32(-value)
                break
        out[i] = value
