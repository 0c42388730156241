"""The inverse error function of CUDA's math library in float32, but for two of the hardware's tables.

PyTorch compiles `erfinv` on the GPU at run time, from the device library's erfinvf: Giles's method (M. Giles,
"Approximating the erfinv function", GPU Computing Gems Jade Edition, 2011), one polynomial in
w = -log2(1 - a^2) and one in 1/sqrt(w) for the tails. The operations and constants are those of the device
libraries of CUDA 12 and 13; the two differ in the last step of the tail.

The device takes log2 and 1/sqrt from table units (MUFU.LG2, MUFU.RSQ). Their tables are not derived here:
correctly rounded functions stand in for them. `docs/numerics.md` says how many values that changes.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from birthmark.numerics.compiled import fma, kernel

#: Code of the tail's last step: p * (1 / r) up to CUDA 12.9, p * (w * r) from CUDA 13.0 on.
UP_TO_CUDA_12: Final = np.uint32(0)
FROM_CUDA_13: Final = np.uint32(1)

_ONE = np.float32(1.0)
_TAIL = np.uint32(0x41033333).view(np.float32)  # 8.2: beyond, |a| > 0.9983

# Coefficients in w, highest power first.
_C0 = np.uint32(0xAF8A6370).view(np.float32)
_C1 = np.uint32(0x3221F645).view(np.float32)
_C2 = np.uint32(0xB4016FDA).view(np.float32)
_C3 = np.uint32(0x3468F846).view(np.float32)
_C4 = np.uint32(0x370742AA).view(np.float32)
_C5 = np.uint32(0xB804DB4D).view(np.float32)
_C6 = np.uint32(0xBA4AFEA1).view(np.float32)
_C7 = np.uint32(0x3BB5C027).view(np.float32)
_C8 = np.uint32(0x3E24AE0F).view(np.float32)
_C9 = np.uint32(0x3F62DFC4).view(np.float32)

# Coefficients in r = 1/sqrt(w), highest power first.
_T0 = np.uint32(0xBF1704A1).view(np.float32)
_T1 = np.uint32(0xBF29BAA5).view(np.float32)
_T2 = np.uint32(0x3FCC6ADC).view(np.float32)
_T3 = np.uint32(0xBF2CDAED).view(np.float32)
_T4 = np.uint32(0xBDC30537).view(np.float32)
_T5 = np.uint32(0x3F55D9B9).view(np.float32)


@kernel(inline=True)
def log2(u: np.float32) -> np.float32:
    """A float32's base-2 logarithm, rounded once; stands in for MUFU.LG2."""
    return np.float32(np.log2(np.float64(u)))


@kernel(inline=True)
def reciprocal_root(w: np.float32) -> np.float32:
    """1/sqrt of a float32, rounded once; stands in for MUFU.RSQ."""
    return np.float32(np.float64(1.0) / np.sqrt(np.float64(w)))


@kernel(inline=True)
def erfinvf(a: np.float32, tail: np.uint32) -> np.float32:
    """CUDA's erfinvf.

    Args:
        a: from -1 to 1; the ends give the infinities.
        tail: UP_TO_CUDA_12 or FROM_CUDA_13.
    """
    w = np.float32(-log2(fma(a, np.float32(-a), _ONE)))
    if w <= _TAIL:
        p = fma(_C0, w, _C1)
        p = fma(p, w, _C2)
        p = fma(p, w, _C3)
        p = fma(p, w, _C4)
        p = fma(p, w, _C5)
        p = fma(p, w, _C6)
        p = fma(p, w, _C7)
        p = fma(p, w, _C8)
        p = fma(p, w, _C9)
        return np.float32(a * p)
    if w == np.float32(np.inf):
        return np.float32(np.copysign(w, a))
    r = reciprocal_root(w)
    p = fma(_T0, r, _T1)
    p = fma(p, r, _T2)
    p = fma(p, r, _T3)
    p = fma(p, r, _T4)
    p = fma(p, r, _T5)
    root = np.float32(w * r) if tail == FROM_CUDA_13 else np.float32(_ONE / r)
    return np.float32(np.copysign(np.float32(p * root), a))
