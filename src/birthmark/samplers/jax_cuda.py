"""XLA's inverse error function in float32 on an NVIDIA GPU: its polynomials over CUDA's own log(1 + x).

XLA hands log1p to CUDA's device library, whose operations and constants are those of `__nv_log1pf` in
libdevice.10.bc of CUDA 12.9. Only the witness below says that the rest is as on the CPU: the kernels of a
public flax agent of 2022 (RobertTLange/gymnax-blines 3f029d6b98, FourRooms-misc ppo), whose values agree with
this to the last bit, but for the scale's last bit. There the step from [0, 1) to the uniform's bounds is not
fused. Of the tail, |x| > 0.9966, no value was seen; its square root is taken as correctly rounded.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import fma, kernel
from birthmark.samplers.jax_erfinv import erfinv_of

_ONE = np.float32(1.0)
_QUARTER = np.float32(0.25)
_MINUS_HALF = np.float32(-0.5)
_THREE_QUARTERS = np.uint32(0x3F400000)
_FOUR = np.uint32(0x40800000)
_EXPONENT = np.uint32(0xFF800000)
_LN2 = np.uint32(0x3F317218).view(np.float32)
_PER_EXPONENT = np.float32(2.0**-23)

# (log(1 + m) - m + m^2/2) / m^3 on [-0.25, 0.5], highest power first.
_SERIES = (
    np.uint32(0xBD39BF78).view(np.float32),
    np.uint32(0x3DD80012).view(np.float32),
    np.uint32(0xBE0778E0).view(np.float32),
    np.uint32(0x3E146475).view(np.float32),
    np.uint32(0xBE2A68DD).view(np.float32),
    np.uint32(0x3E4CAF9E).view(np.float32),
    np.uint32(0xBE800042).view(np.float32),
    np.uint32(0x3EAAAAE6).view(np.float32),
)


@kernel(inline=True)
def log1pf(a: np.float32) -> np.float32:
    """CUDA's log1pf for -1 < a <= 0, all that erfinv asks for."""
    total = np.float32(a + _ONE)
    # Toward zero: one pattern less where the sum was rounded up. Taking 1 away again is exact.
    up = np.uint32(1) if np.float32(total - _ONE) > a else np.uint32(0)
    pattern = np.uint32(np.float32(total).view(np.uint32) - up)
    octave = np.uint32(np.uint32(pattern - _THREE_QUARTERS) & _EXPONENT)
    m = np.uint32(np.float32(a).view(np.uint32) - octave).view(np.float32)
    m = np.float32(m + fma(_QUARTER, np.uint32(_FOUR - octave).view(np.float32), np.float32(-_ONE)))
    exponent = np.float32(np.float32(np.int32(octave)) * _PER_EXPONENT)
    series = fma(_SERIES[0], m, _SERIES[1])
    for coefficient in _SERIES[2:]:
        series = fma(series, m, coefficient)
    series = np.float32(fma(series, m, _MINUS_HALF) * m)
    return np.float32(fma(exponent, _LN2, fma(series, m, m)))


@kernel(inline=True)
def erfinv_cuda(x: np.float32) -> np.float32:
    """XLA's inverse error function on an NVIDIA GPU, for -1 < x < 1."""
    return erfinv_of(x, np.float32(-log1pf(np.float32(x * np.float32(-x)))))
