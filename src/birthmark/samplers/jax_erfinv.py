"""XLA's inverse error function in float32 on the CPU, operation for operation.

JAX makes its normals from erf_inv. XLA expands it into Giles's two polynomials in w = -log1p(-x^2) (M. Giles,
"Approximating the erfinv function", GPU Computing Gems Jade Edition, 2011), and log1p into a rational
function near 0 and Cephes's logarithm elsewhere (S. Moshier, Cephes Mathematical Library, `log1p.c`,
`logf.c`). On a processor with fused multiply-add the compiler fuses every product that is used once; which
ones was read off the machine code of jaxlib 0.10.2 on x86-64, and all 2^23 uniforms on (-1, 1) that JAX can
draw give the same bits. Other jaxlib releases expand log1p differently, and GPUs take it from their own
library: there the results are a few units in the last place away.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import fma, kernel

_ONE = np.float32(1.0)
_HALF = np.float32(0.5)
_INFINITY = np.float32(np.inf)

#: Below this |x| log1p is the rational function, from there on the logarithm of 1 + x.
_NEAR = np.uint32(0x3ED413CD).view(np.float32)

# log1p(x) = x - x^2/2 + x^3 P(x)/Q(x); P and Q highest power first, Q's leading coefficient is 1.
_P0 = np.float32(4.527e-05)
_P1 = np.uint32(0x3EFF40C5).view(np.float32)
_P2 = np.uint32(0x40D284FA).view(np.float32)
_P3 = np.uint32(0x41EF4B9C).view(np.float32)
_P4 = np.uint32(0x4273CC76).view(np.float32)
_P5 = np.uint32(0x426473AD).view(np.float32)
_P6 = np.uint32(0x41A05101).view(np.float32)
_Q1 = np.uint32(0x417101AD).view(np.float32)
_Q2 = np.uint32(0x42A6185B).view(np.float32)
_Q3 = np.uint32(0x435DC32D).view(np.float32)
_Q4 = np.uint32(0x439A8CA3).view(np.float32)
_Q5 = np.uint32(0x43586D8A).view(np.float32)
_Q6 = np.uint32(0x42707982).view(np.float32)

# The logarithm's polynomial in m = mantissa - 1, highest power first, and ln 2 in two parts.
_L0 = np.uint32(0x3D9021BB).view(np.float32)
_L1 = np.uint32(0xBDEBD1B8).view(np.float32)
_L2 = np.uint32(0x3DEF251A).view(np.float32)
_L3 = np.uint32(0xBDFE5D4F).view(np.float32)
_L4 = np.uint32(0x3E11E9BF).view(np.float32)
_L5 = np.uint32(0xBE2AAE50).view(np.float32)
_L6 = np.uint32(0x3E4CCEAC).view(np.float32)
_L7 = np.uint32(0xBE7FFFFC).view(np.float32)
_L8 = np.uint32(0x3EAAAAAA).view(np.float32)
_LN2_LOW = np.uint32(0xB95E8083).view(np.float32)
_LN2_HIGH = np.uint32(0x3F318000).view(np.float32)
_ROOT_HALF = np.uint32(0x3F3504F3).view(np.float32)
_LEAST = np.uint32(0x00800000).view(np.float32)
_MANTISSA = np.uint32(0x007FFFFF)
_BIASED_HALF = np.uint32(0x3F000000)
_EXPONENT_SHIFT = np.uint32(23)

# Giles's polynomials, highest power first: in w - 2.5 for w < 5, in sqrt(w) - 3 beyond.
_CENTRE = (
    np.uint32(0x32F16588).view(np.float32),
    np.uint32(0x34B84B36).view(np.float32),
    np.uint32(0xB66C7357).view(np.float32),
    np.uint32(0xB6935AC1).view(np.float32),
    np.uint32(0x396532DB).view(np.float32),
    np.uint32(0xBAA45408).view(np.float32),
    np.uint32(0xBB88E4EF).view(np.float32),
    np.uint32(0x3E7C8F63).view(np.float32),
    np.uint32(0x3FC02E2F).view(np.float32),
)
_TAIL = (
    np.uint32(0xB951F09B).view(np.float32),
    np.uint32(0x38D3B56B).view(np.float32),
    np.uint32(0x3AB0DC72).view(np.float32),
    np.uint32(0xBB70BDE7).view(np.float32),
    np.uint32(0x3BBC127B).view(np.float32),
    np.uint32(0xBBF9C5D7).view(np.float32),
    np.uint32(0x3C1AA57E).view(np.float32),
    np.uint32(0x3F8036DB).view(np.float32),
    np.uint32(0x40354F7E).view(np.float32),
)
_SPLIT = np.float32(5.0)
_CENTRED_AT = np.float32(2.5)
_TAIL_AT = np.float32(3.0)

#: sqrt(2) in float32, which every normal is multiplied by.
ROOT_2: Final = np.uint32(0x3FB504F3).view(np.float32)


@kernel(inline=True)
def _log(x: np.float32) -> np.float32:
    """The natural logarithm of 0 <= x < infinity."""
    clamped = x if x > _LEAST else _LEAST
    pattern = np.float32(clamped).view(np.uint32)
    exponent = np.float32(np.int32(pattern >> _EXPONENT_SHIFT) - np.int32(126))
    mantissa = np.uint32((pattern & _MANTISSA) | _BIASED_HALF).view(np.float32)
    m = np.float32(mantissa - _ONE)
    if mantissa < _ROOT_HALF:
        m = np.float32(m + mantissa)
        exponent = np.float32(exponent - _ONE)
    square = np.float32(m * m)
    cube = np.float32(square * m)
    high = fma(fma(_L0, m, _L1), m, _L2)
    middle = fma(fma(_L3, m, _L4), m, _L5)
    low = fma(fma(_L6, m, _L7), m, _L8)
    series = fma(fma(high, cube, middle), cube, low)
    tail = fma(series, cube, np.float32(exponent * _LN2_LOW))
    total = np.float32(fma(np.float32(-_HALF), square, m) + tail)
    result = fma(exponent, _LN2_HIGH, total)
    return np.float32(-_INFINITY) if x == np.float32(0.0) else result


@kernel(inline=True)
def log1p(x: np.float32) -> np.float32:
    """XLA's log(1 + x) on the CPU, for -1 <= x < infinity."""
    if not np.abs(x) < _NEAR:
        return _log(np.float32(x + _ONE))
    square = np.float32(x * x)
    q = fma(fma(fma(fma(fma(fma(_ONE, x, _Q1), x, _Q2), x, _Q3), x, _Q4), x, _Q5), x, _Q6)
    p = fma(fma(fma(fma(fma(fma(_P0, x, _P1), x, _P2), x, _P3), x, _P4), x, _P5), x, _P6)
    third = np.float32(np.float32(x * square) * np.float32(p / q))
    return np.float32(x + fma(np.float32(-_HALF), square, third))


@kernel(inline=True)
def erfinv(x: np.float32) -> np.float32:
    """XLA's inverse error function on the CPU; the ends -1 and 1 give the infinities."""
    w = np.float32(-log1p(np.float32(x * np.float32(-x))))
    return erfinv_of(x, w)


@kernel(inline=True)
def erfinv_of(x: np.float32, w: np.float32) -> np.float32:
    """The polynomials alone: erfinv of x from w = -log1p(-x^2)."""
    if w < _SPLIT:
        at = np.float32(w - _CENTRED_AT)
        p = fma(_CENTRE[0], at, _CENTRE[1])
        for coefficient in _CENTRE[2:]:
            p = fma(p, at, coefficient)
    else:
        at = np.float32(np.sqrt(w) - _TAIL_AT)
        p = fma(_TAIL[0], at, _TAIL[1])
        for coefficient in _TAIL[2:]:
            p = fma(p, at, coefficient)
    if np.abs(x) == _ONE:
        p = _INFINITY
    return np.float32(x * p)


@kernel()
def erfinvs(x: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """`erfinv` of every element of a flat array."""
    for i in range(len(x)):
        out[i] = erfinv(x[i])
