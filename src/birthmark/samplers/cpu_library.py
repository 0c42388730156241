"""Logarithm, sine and cosine in float32 as the C library of Linux computes them, bit for bit.

PyTorch's scalar kernels call the library's functions. The GNU C library (2.27 to 2.41 at the least) takes
them from Arm's optimized routines: double precision inside, so that nearly every result is the correctly
rounded one, but not all. Sources: ARM-software/optimized-routines `math/logf.c`, `math/logf_data.c`,
`math/sincosf.h`, `math/sincosf_data.c` (v23.01). Compared with the library on all 2^24 arguments that draws
have. Other libraries (macOS, musl, Windows) differ in last bits.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import kernel


def _doubles(*texts: str) -> tuple[np.float64, ...]:
    return tuple(np.float64(float.fromhex(text)) for text in texts)


# For each sixteenth of the significand's range: 1/c and log(c) of a point c inside it.
_INVERSES = _doubles(
    "0x1.661ec79f8f3bep+0", "0x1.571ed4aaf883dp+0", "0x1.49539f0f010bp+0", "0x1.3c995b0b80385p+0",
    "0x1.30d190c8864a5p+0", "0x1.25e227b0b8eap+0", "0x1.1bb4a4a1a343fp+0", "0x1.12358f08ae5bap+0",
    "0x1.0953f419900a7p+0", "0x1p+0", "0x1.e608cfd9a47acp-1", "0x1.ca4b31f026aap-1",
    "0x1.b2036576afce6p-1", "0x1.9c2d163a1aa2dp-1", "0x1.886e6037841edp-1", "0x1.767dcf5534862p-1",
)  # fmt: skip
_LOGARITHMS = _doubles(
    "-0x1.57bf7808caadep-2", "-0x1.2bef0a7c06ddbp-2", "-0x1.01eae7f513a67p-2", "-0x1.b31d8a68224e9p-3",
    "-0x1.6574f0ac07758p-3", "-0x1.1aa2bc79c81p-3", "-0x1.a4e76ce8c0e5ep-4", "-0x1.1973c5a611cccp-4",
    "-0x1.252f438e10c1ep-5", "0x0p+0", "0x1.aa5aa5df25984p-5", "0x1.c5e53aa362eb4p-4",
    "0x1.526e57720db08p-3", "0x1.bc2860d22477p-3", "0x1.1058bc8a07ee1p-2", "0x1.4043057b6ee09p-2",
)  # fmt: skip
_LOG_TWO, _LOG_0, _LOG_1, _LOG_2 = _doubles(
    "0x1.62e42fefa39efp-1", "-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2"
)
_LOG_OFFSET = np.uint32(0x3F330000)
_LOG_EXPONENT = np.uint32(0xFF800000)

_QUARTERS, _HALF_PI, _SIN_1, _SIN_2, _SIN_3 = _doubles(
    "0x1.45f306dc9c883p+23", "0x1.921fb54442d18p+0",
    "-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13",
)  # fmt: skip
_COS_1, _COS_2, _COS_3, _COS_4 = _doubles(
    "-0x1.ffffffd0c621cp-2", "0x1.55553e1068f19p-5", "-0x1.6c087e89a359dp-10", "0x1.99343027bf8c3p-16"
)
_ONE = np.float64(1.0)
_QUARTER_PI = np.float32(0.785398163397448309616)
_TINY = np.float32(2.0**-12)


@kernel(inline=True)
def logf(x: np.float32) -> np.float32:
    """The natural logarithm of a normal, positive float32."""
    bits = np.float32(x).view(np.uint32)
    shifted = np.uint32(bits - _LOG_OFFSET)
    piece = np.int64(np.uint32(shifted >> np.uint32(19)) & np.uint32(15))
    exponent = np.float64(np.int32(shifted) >> np.int32(23))
    significand = np.float64(np.uint32(bits - np.uint32(shifted & _LOG_EXPONENT)).view(np.float32))
    r = significand * _INVERSES[piece] - _ONE
    start = _LOGARITHMS[piece] + exponent * _LOG_TWO
    square = r * r
    y = _LOG_0 * square + (_LOG_1 * r + _LOG_2)
    return np.float32(y * square + (start + r))


@kernel(inline=True)
def _polynomial(x: np.float64, square: np.float64, cosine: bool, sign: np.float64) -> np.float32:
    """The sine, or the cosine times a sign, of an angle within a quarter of pi."""
    if cosine:
        fourth = square * square
        c = sign + square * (sign * _COS_1) + fourth * (sign * _COS_2)
        return np.float32(c + fourth * square * (sign * _COS_3 + square * (sign * _COS_4)))
    cube = x * square
    return np.float32(x + cube * _SIN_1 + cube * square * (_SIN_2 + square * _SIN_3))


@kernel(inline=True)
def circlef(angle: np.float32) -> tuple[np.float32, np.float32]:
    """(cosine, sine) of a float32 angle from 0 to 100, each as the library's function gives it."""
    x = np.float64(angle)
    if angle < _QUARTER_PI:
        square = x * x
        cosine = np.float32(1.0) if angle < _TINY else _polynomial(x, square, True, _ONE)
        sine = angle if angle < _TINY else _polynomial(x, square, False, _ONE)
        return cosine, sine
    quarter = np.int64(np.int64(x * _QUARTERS) + np.int64(0x800000)) >> np.int64(24)
    x = x - np.float64(quarter) * _HALF_PI
    square = x * x
    turn = quarter & np.int64(3)
    # Quarters 1 and 2 negate the angle, 2 and 3 the cosine's polynomial.
    turned = -x if turn == 1 or turn == 2 else x
    sign = -_ONE if turn >= 2 else _ONE
    odd = (turn & np.int64(1)) == 1
    return _polynomial(turned, square, not odd, sign), _polynomial(turned, square, odd, sign)
