"""Single precision down to its bits: patterns, truncation to 24 bits, and exact helpers for arrays."""

from __future__ import annotations

import numpy as np

from birthmark.numerics.compiled import kernel

_KEEP_24_BITS = np.uint64(0xFFFFFFFFE0000000)


@kernel(inline=True)
def bits(x: np.float32) -> np.uint32:
    """The bit pattern of a float32."""
    return np.float32(x).view(np.uint32)


@kernel(inline=True)
def from_bits(pattern: np.uint32) -> np.float32:
    """The float32 with a bit pattern."""
    return np.uint32(pattern).view(np.float32)


@kernel(inline=True)
def truncated(x: np.float64) -> np.float32:
    """A float64 in the normal range of float32, rounded toward zero to float32's 24 bits."""
    return np.float32(np.uint64(np.float64(x).view(np.uint64) & _KEEP_24_BITS).view(np.float64))
