"""Normal draws by Box and Muller: two words give two standard normals, sine first, then cosine.

Float32 on NVIDIA is exact: cuRAND's formula (10.3.10 `curand_normal.h`) with the operations that the released
torch wheels contain. Half and bfloat16 draws are float32 draws rounded once. Two things are stand-ins and can
be off by a unit in the last place: everything of "amd" that reads a hardware table (logarithm, sine, cosine;
here correctly rounded), and the double precision functions of either vendor.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.logarithm import logf
from birthmark.numerics.sine import cosine, sine
from birthmark.samplers.arithmetic import AMD, PASCAL
from birthmark.samplers.uniform import unit

#: The largest standard normals, sqrt(-2 log u) of the least u: 2^-33 in float32, 2^-54 in double.
LARGEST: Final = math.sqrt(66 * math.log(2))
LARGEST_64: Final = math.sqrt(108 * math.log(2))

_ANGLE = np.uint32(0x30C90FDB).view(np.float32)  # 2 pi / 2^32
_HALF_ANGLE = np.uint32(0x30490FDB).view(np.float32)
_INVERSE_TURN = np.uint32(0x3E22F983).view(np.float32)  # 1 / (2 pi)
_TURN_STEPS = np.float64(2.0**25)
_UPPER_HALF = np.uint32(24)
_ONE = np.uint32(1)
_TWO = np.uint32(2)
_QUADRANT = np.uint32(23)
_TURN = np.uint32((1 << 25) - 1)
_MINUS_TWO = np.float32(-2.0)

_LN2_HIGH = np.uint32(0x3F317217).view(np.float32)
_LN2_LOW = np.uint32(0x3377D1CF).view(np.float32)

_PI = np.float64(np.pi)
_WORD_64 = np.float64(2.0**-53)
_HALF_WORD_64 = np.float64(2.0**-54)
_HIGH_SHIFT = np.uint64(21)


@kernel(inline=True)
def steps(v: np.float32, code: np.uint32) -> np.uint32:
    """An angle in radians as the sine unit's argument, in 2^-25 turns.

    The product with 1 / (2 pi) is exact in float64. Volta and later truncate it to 24 bits before the unit
    truncates it to 2^-25 turns, so that in the upper half turn the last bit is lost. Pascal and older keep
    it.
    """
    k = np.uint32(np.float64(v) * np.float64(_INVERSE_TURN) * _TURN_STEPS)
    lost = np.uint32(0) if code == PASCAL else np.uint32(k >> _UPPER_HALF)
    return np.uint32(k & np.uint32(~lost))


@kernel(inline=True)
def turns(t: np.float64) -> tuple[np.float64, np.float64]:
    """Sine and cosine of t turns, 0 <= t <= 1, in float64; the folding to an eighth turn is exact."""
    eighth = np.uint32(t * np.float64(8.0))
    quadrant = np.uint32(np.uint32(eighth + _ONE) >> _ONE)
    rest = (t - np.float64(quadrant) * np.float64(0.25)) * (np.float64(2.0) * _PI)
    s = np.sin(rest)
    c = np.cos(rest)
    if np.uint32(quadrant & _ONE) != np.uint32(0):
        s, c = c, -s
    if np.uint32(quadrant & _TWO) != np.uint32(0):
        s, c = -s, -c
    return s, c


@kernel(inline=True)
def radius(x: np.uint32, code: np.uint32) -> np.float32:
    """The Box-Muller radius of a word, sqrt(-2 log u)."""
    u = unit(x, code)
    if code == AMD:
        log2 = np.float32(np.log2(np.float64(u)))
        high = np.float32(log2 * _LN2_HIGH)
        low = fma(log2, _LN2_LOW, fma(log2, _LN2_HIGH, -high))
        log = np.float32(high + low)
    else:
        log = logf(u)
    return np.float32(np.sqrt(np.float32(_MINUS_TWO * log)))


@kernel(inline=True)
def angle(y: np.uint32, code: np.uint32) -> np.float32:
    """The Box-Muller angle of a word in radians, in (0, 2 pi]."""
    return np.float32(fma(np.float32(y), _ANGLE, _ANGLE if code == AMD else _HALF_ANGLE))


@kernel(inline=True)
def pair(x: np.uint32, y: np.uint32, code: np.uint32) -> tuple[np.float32, np.float32]:
    """Two standard normals from two words under the arithmetic `code`: the sine value, the cosine value."""
    v = angle(y, code)
    if code == AMD:
        wide_s, wide_c = turns(np.float64(np.float32(v * _INVERSE_TURN)))
        s, c = np.float32(wide_s), np.float32(wide_c)
    else:
        k = steps(v, code)
        s, c = sine(k), cosine(k)
    r = radius(x, code)
    return np.float32(s * r), np.float32(c * r)


@kernel(inline=True)
def pair64(
    w0: np.uint32, w1: np.uint32, w2: np.uint32, w3: np.uint32, code: np.uint32
) -> tuple[np.float64, np.float64]:
    """Two double standard normals from the four words of a block: the sine value, the cosine value."""
    radial = np.uint64(w0) ^ (np.uint64(w1) << _HIGH_SHIFT)
    angular = np.uint64(w2) ^ (np.uint64(w3) << _HIGH_SHIFT)
    step = _WORD_64 if code == AMD else _HALF_WORD_64
    radius = np.sqrt(np.float64(-2.0) * np.log(fma(np.float64(radial), _WORD_64, step)))
    s, c = turns(fma(np.float64(angular), _WORD_64, step))
    return s * radius, c * radius


@kernel(inline=True)
def half(x: np.uint32, y: np.uint32, odd: np.uint32, code: np.uint32) -> np.float32:
    """One of the two standard normals of a pair: the sine value, or with `odd` the cosine value."""
    v = angle(y, code)
    if code == AMD:
        wide_s, wide_c = turns(np.float64(np.float32(v * _INVERSE_TURN)))
        s = np.float32(wide_c if odd else wide_s)
    else:
        s = sine(np.uint32(np.uint32(steps(v, code) + np.uint32(odd << _QUADRANT)) & _TURN))
    return np.float32(s * radius(x, code))


@kernel(inline=True)
def standard(
    w0: np.uint32, w1: np.uint32, w2: np.uint32, w3: np.uint32, lane: np.uint32, code: np.uint32
) -> np.float32:
    """The standard normal in one of the four lanes of a block."""
    second = lane >= _TWO
    return half(w2 if second else w0, w3 if second else w1, np.uint32(lane & _ONE), code)
