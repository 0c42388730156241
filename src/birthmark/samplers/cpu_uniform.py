"""Uniform draws of PyTorch's CPU generator: one word a value, its low 24 bits.

Sources: pytorch `aten/src/ATen/core/DistributionsHelper.h`, `TransformationHelper.h`, 2.1.0 to 2.15.0.
Builds whose compiler contracts a multiplication and an addition round once ("cpu-fused": the official x86
wheels of today), others twice ("cpu-unfused": older wheels). Which one fits tells something about the
build. From 2.12 on (run on 2.13.0) a value that rounds up to the upper bound becomes the lower bound;
bounds symmetric around zero never round so in float32.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.compiled import fma, kernel

#: The two ways to scale a uniform, and the code by which kernels know them.
SCALINGS: Final[dict[str, int]] = {"cpu-fused": 1, "cpu-unfused": 0}
#: Bits of a word that a float32 uniform uses.
BITS: Final = 24

_MASK = np.uint32((1 << BITS) - 1)
_STEP = np.float32(2.0**-BITS)
_STEP_64 = np.float64(2.0**-53)
_MASK_64 = np.uint64((1 << 53) - 1)
_WORD = np.uint64(32)


def scaling_code(arithmetic: str) -> int:
    """The code of a scaling.

    Raises:
        UnknownName: neither "cpu-fused" nor "cpu-unfused".
    """
    if arithmetic not in SCALINGS:
        raise UnknownName("CPU arithmetic", arithmetic, SCALINGS)
    return SCALINGS[arithmetic]


def span(low: float, high: float) -> tuple[np.float32, np.float32]:
    """(low, high - low) as `uniform_` computes them: float32, the difference rounded."""
    return np.float32(low), np.float32(np.float32(high) - np.float32(low))


@kernel(inline=True)
def unit(word: np.uint32) -> np.float32:
    """A word as float32 in [0, 1): its low 24 bits times 2^-24."""
    return np.float32(np.float32(np.uint32(word & _MASK)) * _STEP)


@kernel(inline=True)
def scaled(word: np.uint32, low: np.float32, width: np.float32, fused: int) -> np.float32:
    """The value that a word gives over [low, low + width), which rounding can take to the upper bound."""
    if fused:
        return np.float32(fma(unit(word), width, low))
    return np.float32(np.float32(unit(word) * width) + low)


@kernel()
def _scaled_all(
    words: NDArray[np.uint32], low: np.float32, width: np.float32, fused: int, out: NDArray[np.float32]
) -> None:
    for i in range(len(words)):
        out[i] = scaled(words[i], low, width, fused)


def uniform(
    words: NDArray[np.uint32],
    low: float,
    high: float,
    arithmetic: str = "cpu-fused",
    *,
    open_end: bool = True,
) -> NDArray[np.float32]:
    """What `uniform_(low, high)` makes of words on a float32 tensor, one value a word.

    Args:
        words: uint32, any shape.
        low: the lower bound, as the caller passed it.
        high: the upper bound.
        arithmetic: "cpu-fused" or "cpu-unfused".
        open_end: turn a value equal to the upper bound into the lower one, as PyTorch does from 2.12 on.

    Raises:
        UnknownName: another arithmetic.
    """
    code = scaling_code(arithmetic)
    flat = np.ascontiguousarray(words, np.uint32).reshape(-1)
    out = np.empty(len(flat), np.float32)
    first, width = span(low, high)
    _scaled_all(flat, first, width, code, out)
    if open_end:
        out[out == np.float32(high)] = first
    return out.reshape(np.shape(words))


def uniform64(words: NDArray[np.uint32], low: float, high: float) -> NDArray[np.float64]:
    """What `uniform_(low, high)` makes of words on a float64 tensor: two words a value, fused.

    Args:
        words: uint32[..., 2]; the first of a pair is the high half.
        low: the lower bound.
        high: the upper bound.

    Raises:
        UsageError: the last axis does not hold pairs.
    """
    if words.shape[-1] != 2:
        raise UsageError(
            f"words of shape {words.shape} for float64 values; the last axis must hold two words."
        )
    out = np.empty(words[..., 0].size, np.float64)
    pairs = np.ascontiguousarray(words, np.uint32).reshape(-1, 2)
    _scaled_all64(pairs, np.float64(low), np.float64(high - low), out)
    return out.reshape(words.shape[:-1])


@kernel(inline=True)
def unit64(first: np.uint32, second: np.uint32) -> np.float64:
    """Two words as float64 in [0, 1): the low 53 bits, the first word being the high half, times 2^-53."""
    joined = (np.uint64(first) << _WORD) | np.uint64(second)
    return np.float64(joined & _MASK_64) * _STEP_64


@kernel()
def _scaled_all64(
    pairs: NDArray[np.uint32], low: np.float64, width: np.float64, out: NDArray[np.float64]
) -> None:
    for i in range(len(pairs)):
        out[i] = fma(unit64(pairs[i, 0], pairs[i, 1]), width, low)
