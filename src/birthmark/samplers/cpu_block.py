"""Normal draws of 16 and more values that the AVX2 kernel does not make: by the C library, in blocks of 16.

The scheme is that of `cpu_normal`: uniforms k and k + 8 of a block give a cosine and a sine. Float64 tensors
take it on every processor; float32 ones on processors without AVX2; 16-bit ones did up to 2.12. Up to 2.11
each quantity of a 16-bit draw, the uniforms too, is of the 16-bit type, so that values lie on a small set.
Source: pytorch `aten/src/ATen/native/cpu/DistributionTemplates.h` (`normal_fill`), 1.13.1 to 2.14.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics import rounding
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.dtypes import format_of, round_to
from birthmark.samplers import cpu_normal
from birthmark.samplers.cpu_call import CpuCall, Read, Values, carried, is_half
from birthmark.samplers.cpu_library import circlef, logf
from birthmark.samplers.cpu_uniform import unit, unit64
from birthmark.samplers.cpu_versions import CpuVersion

_ONE = np.float32(1.0)
_MINUS_TWO = np.float32(-2.0)
_TWO_PI = np.float64(2.0 * math.pi)


@dataclass(frozen=True, slots=True)
class BlockNormal:
    """The sampler of normals on 16 and more contiguous values, by the AVX2 kernel or by the library."""

    call: CpuCall

    def __post_init__(self) -> None:
        _, std = self.call.bounds
        if std < 0:
            raise UsageError(f"a normal draw with standard deviation {std}; expected 0 or more.")
        if not self.call.computing.vector and self.call.rules < CpuVersion(1, 5):
            raise UsageError(
                f"normals of PyTorch {self.call.version} without AVX2 are not known; expected 1.5 or later."
            )

    @property
    def _words(self) -> int:
        return 2 if self.call.dtype == "float64" else 1

    @property
    def _at_once(self) -> bool:
        """Whether the last 16 values of a ragged size follow at once, rather than after a filled tensor."""
        return is_half(self.call.dtype) and self.call.rules.half != "narrow"

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return self._words * cpu_normal.consumed(self.call.size, half=self._at_once)

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        call = self.call
        radius, angle, sine = cpu_normal.places(call.size, indices, half=self._at_once)
        places = np.stack([radius, angle])
        mean, std = call.bounds
        fused = call.fused or call.rules.fuses_itself
        if call.dtype == "float64":
            words = read(2 * places[..., None] + np.arange(2))
            return library_normal64(words[0], words[1], sine, mean, std, fused=fused)
        words = read(places)
        if is_half(call.dtype):
            half = call.rules.half
            if half == "narrow":
                loose = call.dtype == "float16" and not call.rules.half_functions
                return narrow_normal(
                    words[0], words[1], sine, mean, std, call.dtype, loose=loose, fused=fused
                )
            if half == "scalar":
                mean, std = round_to(np.array([mean, std], np.float32), call.dtype).tolist()
            if half == "scalar" or not call.computing.vector:
                made = library_normal(words[0], words[1], sine, mean, std, fused=fused)
            else:
                made = cpu_normal.normal(words[0], words[1], sine, mean, std)
            return carried(made, call.dtype)
        if call.computing.vector:
            return cpu_normal.normal(words[0], words[1], sine, mean, std)
        return library_normal(words[0], words[1], sine, mean, std, fused=fused)


def whole(sampler: BlockNormal, words: NDArray[np.uint32]) -> Values:
    """All values of a draw from its words in order; both of a pair at once where AVX2 makes them."""
    call = sampler.call
    half = is_half(call.dtype)
    if call.dtype == "float64" or not call.computing.vector or (half and call.rules.half != "vector"):
        return sampler.values(lambda places: words[places], np.arange(call.size, dtype=np.int64))
    made = cpu_normal.fill(words, call.size, *call.bounds, half=half)
    return carried(made, call.dtype) if half else made


def library_normal(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: float,
    std: float,
    *,
    fused: bool,
) -> NDArray[np.float32]:
    """The float32 values that words give by the library's functions.

    Args:
        radius: uint32, the word of each value's radius, any shape.
        angle: uint32, the word of its angle, same shape.
        sine: bool, same shape: the second value of the pair rather than the first.
        mean: as the caller passed it.
        std: as the caller passed it.
        fused: whether the last product and sum are rounded once.
    """
    out = np.empty(radius.size, np.float32)
    _library_all(radius.ravel(), angle.ravel(), sine.ravel(), np.float32(mean), np.float32(std), fused, out)
    return out.reshape(radius.shape)


def library_normal64(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: float,
    std: float,
    *,
    fused: bool,
) -> NDArray[np.float64]:
    """The float64 values that pairs of words give: as `library_normal`, with words of shape [..., 2]."""
    out = np.empty(sine.size, np.float64)
    first, second = radius.reshape(-1, 2), angle.reshape(-1, 2)
    _library_all64(first, second, sine.ravel(), np.float64(mean), np.float64(std), fused, out)
    return out.reshape(sine.shape)


def narrow_normal(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: float,
    std: float,
    dtype: str,
    *,
    loose: bool = False,
    fused: bool = True,
) -> NDArray[np.float32]:
    """The values of a 16-bit draw up to PyTorch 2.11, decoded; arguments as for `library_normal`.

    Args:
        radius: as there.
        angle: as there.
        sine: as there.
        mean: as there.
        std: as there.
        dtype: "bfloat16" or "float16".
        loose: only the radius, the angle and the result are rounded, as in float16 up to PyTorch 2.0.
        fused: as there; matters where `loose`.
    """
    bits = format_of(dtype).precision
    mask, step = np.uint32((1 << bits) - 1), np.float32(2.0**-bits)
    first, second = round_to(np.array([mean, std], np.float32), dtype)
    floor, lift, greatest = rounding.constants(dtype)
    out = np.empty(radius.size, np.float32)
    _narrow_all(
        *(radius.ravel(), angle.ravel(), sine.ravel(), first, second, mask, step, floor, lift, greatest),
        *(loose, fused, out),
    )
    return out.reshape(radius.shape)


@kernel()
def _library_all(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: np.float32,
    std: np.float32,
    fused: bool,
    out: NDArray[np.float32],
) -> None:
    for i in range(len(out)):
        r = np.sqrt(np.float32(_MINUS_TWO * logf(np.float32(_ONE - unit(radius[i])))))
        cosine, sinus = circlef(np.float32(_TWO_PI * np.float64(unit(angle[i]))))
        standard = np.float32(r * (sinus if sine[i] else cosine))
        out[i] = fma(standard, std, mean) if fused else np.float32(np.float32(standard * std) + mean)


@kernel()
def _library_all64(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: np.float64,
    std: np.float64,
    fused: bool,
    out: NDArray[np.float64],
) -> None:
    for i in range(len(out)):
        u1 = np.float64(1.0) - unit64(radius[i, 0], radius[i, 1])
        r = math.sqrt(np.float64(-2.0) * math.log(u1))
        theta = _TWO_PI * unit64(angle[i, 0], angle[i, 1])
        standard = r * (math.sin(theta) if sine[i] else math.cos(theta))
        out[i] = fma(standard, std, mean) if fused else np.float64(standard * std) + mean


@kernel()
def _narrow_all(
    radius: NDArray[np.uint32],
    angle: NDArray[np.uint32],
    sine: NDArray[np.bool_],
    mean: np.float32,
    std: np.float32,
    mask: np.uint32,
    step: np.float32,
    floor: np.uint64,
    lift: np.uint64,
    greatest: np.float64,
    loose: bool,
    fused: bool,
    out: NDArray[np.float32],
) -> None:
    for i in range(len(out)):
        u1 = np.float32(_ONE - np.float32(np.float32(radius[i] & mask) * step))
        logarithm = logf(rounding.rounded(u1, floor, lift, greatest))
        theta = np.float32(_TWO_PI * np.float64(np.float32(np.float32(angle[i] & mask) * step)))
        cosine, sinus = circlef(rounding.rounded(theta, floor, lift, greatest))
        turn = sinus if sine[i] else cosine
        if loose:
            r = rounding.rounded(np.sqrt(np.float32(_MINUS_TWO * logarithm)), floor, lift, greatest)
            standard = np.float32(r * turn)
            value = fma(standard, std, mean) if fused else np.float32(np.float32(standard * std) + mean)
        else:
            logarithm = rounding.rounded(logarithm, floor, lift, greatest)
            square = rounding.rounded(np.float32(_MINUS_TWO * logarithm), floor, lift, greatest)
            r = rounding.rounded(np.sqrt(square), floor, lift, greatest)
            turn = rounding.rounded(turn, floor, lift, greatest)
            standard = rounding.rounded(np.float32(r * turn), floor, lift, greatest)
            value = rounding.rounded(np.float32(standard * std), floor, lift, greatest)
            value = np.float32(value + mean)
        out[i] = rounding.rounded(value, floor, lift, greatest)
