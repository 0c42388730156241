"""The natural logarithm of CUDA's math library, bit for bit.

The polynomial is that of `logf` in the device libraries of CUDA 11.8 to 13.0 (identical in all of them), read
from the machine code that the released torch wheels carry. Its error reaches 0.86 units in the last place, so
a correctly rounded logarithm is not the same function: they agree for 92.3 % of the arguments that occur.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.float32 import bits, from_bits

_ONE = np.float32(1.0)
_LN2 = np.uint32(0x3F317218).view(np.float32)
_SPLIT = np.uint32(0x3F2AAAAB)  # two thirds: mantissas are taken from [2/3, 4/3)
_EXPONENT = np.uint32(0xFF800000)
_EXPONENT_UNIT = np.float32(2.0**-23)

# Coefficients of f^10 down to f^2; every decimal is the exact value of a float32.
_K0 = np.uint32(0xBE055027).view(np.float32)
_K1 = np.float32(0.14084610342979431152)
_K2 = np.float32(-0.12148627638816833496)
_K3 = np.float32(0.13980610668659210205)
_K4 = np.float32(-0.16684235632419586182)
_K5 = np.float32(0.20012299716472625732)
_K6 = np.float32(-0.24999669194221496582)
_K7 = np.float32(0.33333182334899902344)
_K8 = np.float32(-0.5)


@kernel(inline=True)
def logf(u: np.float32) -> np.float32:
    """CUDA's logf for a positive normal float32; in a draw nothing else occurs."""
    pattern = bits(u)
    exponent = np.uint32(np.uint32(pattern - _SPLIT) & _EXPONENT)
    f = np.float32(from_bits(np.uint32(pattern - exponent)) - _ONE)
    power = np.float32(np.float32(np.int32(exponent)) * _EXPONENT_UNIT)
    r = fma(f, _K0, _K1)
    r = fma(f, r, _K2)
    r = fma(f, r, _K3)
    r = fma(f, r, _K4)
    r = fma(f, r, _K5)
    r = fma(f, r, _K6)
    r = fma(f, r, _K7)
    r = fma(f, r, _K8)
    r = np.float32(f * r)
    r = fma(f, r, f)
    return np.float32(fma(power, _LN2, r))
