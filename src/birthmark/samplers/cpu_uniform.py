"""Uniform draws of PyTorch's CPU generator: one word a value, its low 24 bits.

Sources: pytorch `aten/src/ATen/core/DistributionsHelper.h`, `TransformationHelper.h`, 1.13.1 to 2.15.0.
Builds whose compiler contracts a multiplication and an addition round once ("cpu-fused": the official x86
wheels of today), others twice ("cpu-unfused": wheels up to 1.5; or processors without AVX2). Which one fits
tells something about the build. From 2.12 on a value that rounds up to the upper bound becomes the lower
bound; bounds symmetric around zero never round so in float32.

Doubles take two words a value, and 53 bits of them. Uniforms of 16-bit types are float32 ones rounded from
2.12 on; up to 2.11 a word gives them only as many bits as their significand has, and bounds and range are
of the 16-bit type too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.dtypes import format_of, round_to
from birthmark.samplers.cpu_arithmetic import arithmetic_of
from birthmark.samplers.cpu_call import CpuCall, Read, Values, carried, is_half

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
    """The code of an arithmetic's scaling: 1 for one rounding, 0 for two.

    Raises:
        UnknownName: no CPU arithmetic has that name.
    """
    return int(arithmetic_of(arithmetic).fused)


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


def uniform64(
    words: NDArray[np.uint32],
    low: float,
    high: float,
    arithmetic: str = "cpu-fused",
    *,
    open_end: bool = True,
) -> NDArray[np.float64]:
    """What `uniform_(low, high)` makes of words on a float64 tensor: two words a value.

    Args:
        words: uint32[..., 2]; the first of a pair is the high half.
        low: the lower bound.
        high: the upper bound.
        arithmetic: a CPU arithmetic.
        open_end: as for `uniform`.

    Raises:
        UsageError: the last axis does not hold pairs.
        UnknownName: another arithmetic.
    """
    if words.shape[-1] != 2:
        raise UsageError(
            f"words of shape {words.shape} for float64 values; the last axis must hold two words."
        )
    out = np.empty(words[..., 0].size, np.float64)
    pairs = np.ascontiguousarray(words, np.uint32).reshape(-1, 2)
    _scaled_all64(pairs, np.float64(low), np.float64(high - low), scaling_code(arithmetic), out)
    if open_end:
        out[out == np.float64(high)] = np.float64(low)
    return out.reshape(words.shape[:-1])


def units64(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Pairs of words as float64 in [0, 1): float64[...] of uint32[..., 2]."""
    return uniform64(words, 0.0, 1.0, open_end=False)


def narrow_uniform(words: NDArray[np.uint32], low: float, high: float, dtype: str) -> NDArray[np.float32]:
    """What `uniform_(low, high)` made of words on a 16-bit tensor up to PyTorch 2.11, decoded.

    Args:
        words: uint32, any shape.
        low: the lower bound, as the caller passed it.
        high: the upper bound.
        dtype: "bfloat16" or "float16".
    """
    bits = format_of(dtype).precision
    first, last = round_to(np.array([low, high], np.float32), dtype)
    width = round_to(np.array([last - first], np.float32), dtype)[0]
    units = (np.asarray(words, np.uint32) & np.uint32((1 << bits) - 1)).astype(np.float32)
    # The product of two such numbers is exact, so that it does not matter whether it is fused.
    scaled_units: NDArray[np.float32] = units * np.float32(2.0**-bits) * width + first
    return round_to(scaled_units, dtype)


@dataclass(frozen=True, slots=True)
class Uniform:
    """The sampler of `uniform_(low, high)`."""

    call: CpuCall

    def __post_init__(self) -> None:
        low, high = self.call.bounds
        if low > high:
            raise UsageError(f"a uniform draw from {low} to {high}: expected the lower bound first.")

    @property
    def _words(self) -> int:
        return 2 if self.call.dtype == "float64" else 1

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return self._words * self.call.size

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        call = self.call
        low, high = call.bounds
        rules = call.rules
        if call.dtype == "float64":
            pairs = read(2 * indices[..., None] + np.arange(2))
            return uniform64(pairs, low, high, call.arithmetic, open_end=rules.open_end)
        words = read(indices)
        if not is_half(call.dtype):
            return uniform(words, low, high, call.arithmetic, open_end=rules.open_end)
        if rules.narrow_uniform:
            return narrow_uniform(words, low, high, call.dtype)
        drawn = carried(uniform(words, low, high, call.arithmetic), call.dtype)
        first, last = carried(np.array([low, high]), call.dtype)
        return np.where(drawn == last, first, drawn)


@kernel(inline=True)
def unit64(first: np.uint32, second: np.uint32) -> np.float64:
    """Two words as float64 in [0, 1): the low 53 bits, the first word being the high half, times 2^-53."""
    joined = (np.uint64(first) << _WORD) | np.uint64(second)
    return np.float64(joined & _MASK_64) * _STEP_64


@kernel()
def _scaled_all64(
    pairs: NDArray[np.uint32], low: np.float64, width: np.float64, fused: int, out: NDArray[np.float64]
) -> None:
    for i in range(len(pairs)):
        u = unit64(pairs[i, 0], pairs[i, 1])
        out[i] = fma(u, width, low) if fused else np.float64(np.float64(u * width) + low)
