"""Uniform draws: words to numbers in (0, 1], and from there to a range.

Sources: cuRAND 10.3.10 `curand_uniform.h`; rocRAND dc3656f `rocrand_uniform.h`; PyTorch
`aten/src/ATen/native/cuda/DistributionTemplates.h` and `ATen/core/TransformationHelper.h`, 1.7.1 to 2.15.0.
"""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import fma, kernel
from birthmark.samplers.arithmetic import AMD

_WORD = np.float32(2.0**-32)
_HALF_WORD = np.float32(2.0**-33)
_WORD_64 = np.float64(2.0**-53)
_HALF_WORD_64 = np.float64(2.0**-54)
_HIGH_SHIFT = np.uint64(21)
_LOW_BITS = np.uint32(11)
_WORD_BITS = np.uint64(32)


@kernel(inline=True)
def unit(word: np.uint32, code: np.uint32) -> np.float32:
    """A word as float32 in (0, 1]: x * 2^-32 plus half a step (NVIDIA) or a whole step (AMD)."""
    step = _WORD if code == AMD else _HALF_WORD
    return np.float32(fma(np.float32(word), _WORD, step))


@kernel(inline=True)
def unit64(w0: np.uint32, w1: np.uint32, code: np.uint32) -> np.float64:
    """Two words as float64 in (0, 1]; the vendors join the 53 bits in different ways."""
    if code == AMD:
        joined = np.uint64(w0) | (np.uint64(np.uint32(w1 >> _LOW_BITS)) << _WORD_BITS)
        return np.float64(fma(np.float64(joined), _WORD_64, _WORD_64))
    joined = np.uint64(w0) ^ (np.uint64(w1) << _HIGH_SHIFT)
    return np.float64(fma(np.float64(joined), _WORD_64, _HALF_WORD_64))
