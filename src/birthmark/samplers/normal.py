"""Normal draws by Box and Muller: two words give two standard normals, sine first, then cosine.

Float32 on NVIDIA is exact: cuRAND's formula (10.3.10 `curand_normal.h`) with the operations that the released
torch wheels contain. Half and bfloat16 draws are float32 draws rounded once. Two things are stand-ins and can be
off by a unit in the last place: everything of "amd" that reads a hardware table (logarithm, sine, cosine; here
correctly rounded), and the double precision functions of either vendor.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.logarithm import logf
from birthmark.numerics.sine import cosine, sine
from birthmark.samplers.arithmetic import AMD, PASCAL
from birthmark.samplers.uniform import unit

_ANGLE = np.uint32(0x30C90FDB).view(np.float32)  # 2 pi / 2^32
_HALF_ANGLE = np.uint32(0x30490FDB).view(np.float32)
_INVERSE_TURN = np.uint32(0x3E22F983).view(np.float32)  # 1 / (2 pi)
_TURN_STEPS = np.float64(2.0**25)
_UPPER_HALF = np.uint32(24)
_ONE = np.uint32(1)
_TWO = np.uint32(2)
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
    truncates it to 2^-25 turns, so that in the upper half turn the last bit is lost; Pascal and older keep it.
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
def pair_nvidia(x: np.uint32, y: np.uint32, code: np.uint32) -> tuple[np.float32, np.float32]:
    """Two standard normals of cuRAND from two words, bit for bit: radius times sine, radius times cosine."""
    u = fma(np.float32(x), np.float32(2.0**-32), np.float32(2.0**-33))
    v = fma(np.float32(y), _ANGLE, _HALF_ANGLE)
    radius = np.sqrt(np.float32(_MINUS_TWO * logf(u)))
    k = steps(v, code)
    return np.float32(sine(k) * radius), np.float32(cosine(k) * radius)


@kernel(inline=True)
def pair_amd(x: np.uint32, y: np.uint32) -> tuple[np.float32, np.float32]:
    """Two standard normals of rocRAND from two words, with stand-ins for the hardware's log2, sine and cosine."""
    u = unit(x, AMD)
    v = fma(np.float32(y), _ANGLE, _ANGLE)
    log2 = np.float32(np.log2(np.float64(u)))
    high = np.float32(log2 * _LN2_HIGH)
    low = fma(log2, _LN2_LOW, fma(log2, _LN2_HIGH, -high))
    radius = np.sqrt(np.float32(_MINUS_TWO * np.float32(high + low)))
    s, c = turns(np.float64(np.float32(v * _INVERSE_TURN)))
    return np.float32(np.float32(s) * radius), np.float32(np.float32(c) * radius)


@kernel(inline=True)
def pair(x: np.uint32, y: np.uint32, code: np.uint32) -> tuple[np.float32, np.float32]:
    """Two standard normals from two words under the arithmetic `code`: the sine value, the cosine value."""
    if code == AMD:
        return pair_amd(x, y)
    return pair_nvidia(x, y, code)


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
def standard(
    w0: np.uint32, w1: np.uint32, w2: np.uint32, w3: np.uint32, lane: np.uint32, code: np.uint32
) -> np.float32:
    """The standard normal in one of the four lanes of a block."""
    second = lane >= _TWO
    s, c = pair(w2 if second else w0, w3 if second else w1, code)
    return c if np.uint32(lane & _ONE) != np.uint32(0) else s
