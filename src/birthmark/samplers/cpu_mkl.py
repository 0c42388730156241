"""Bernoulli and exponential draws that PyTorch left to Intel's library: builds with MKL, up to 2.6, on Intel.

One word of the generator (the second of two, for exponentials in float64) seeds a multiplicative generator
of the library, x[i + 1] = 1132489760 x[i] mod 2^31 - 1, and x[i] / (2^31 - 1) makes element i: whether it
is smaller than p, or its negative logarithm. So a draw of any size takes one word, and repeats as soon as
its word does. From 2.7 on official builds no longer do so. Source: pytorch
`aten/src/ATen/native/cpu/DistributionKernels.cpp`, 1.13.1 to 2.6.0. Run on the x86 builds 1.2.0 to 2.6.0 on
an Intel processor: Bernoullis agree in all values, exponentials in float32 within one unit in the last place
(85 % equal) and in float64 within 1e-9, because the library's logarithm is its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_call import CpuCall, Read, Values, carried
from birthmark.samplers.cpu_double import whole

#: The library's generator MCG31m1 (Intel, "Notes for oneMKL Vector Statistics").
MODULUS: Final = np.uint64((1 << 31) - 1)
MULTIPLIER: Final = np.uint64(1132489760)
#: The library's exponentials are moved by this much, lest they be 0.
_SHIFT: Final = np.float32(2.0**-126)
_ONE = np.uint64(1)


@dataclass(frozen=True, slots=True)
class ByMkl:
    """The sampler of a Bernoulli or exponential draw by the library."""

    call: CpuCall

    @property
    def _double(self) -> bool:
        return self.call.distribution == "exponential" and self.call.dtype == "float64"

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return 2 if self._double else 1

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        call = self.call
        seed = int(read(np.array([self.consumed - 1], np.int64))[0])
        states = members(seed, np.asarray(indices, np.int64))
        if call.distribution == "bernoulli":
            return whole(states / float(MODULUS) < call.parameters[0], call.dtype)
        rate = call.parameters[0]
        if self._double:
            return carried(-np.log(states / float(MODULUS)) / rate, call.dtype)
        units = states.astype(np.float32) * np.float32(1.0 / float(MODULUS))
        drawn = (-np.log(units.astype(np.float64))).astype(np.float32) * np.float32(1.0 / rate)
        return carried(drawn + _SHIFT, call.dtype)


def members(seed: int, indices: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The members x[i] of the library's sequence, uint64 of the same shape.

    Args:
        seed: the low 32 bits count; 0 modulo 2^31 - 1 stands for 1.
        indices: int64, not negative.
    """
    start = np.uint64((seed & 0xFFFFFFFF) % int(MODULUS) or 1)
    out = np.empty(indices.size, np.uint64)
    _members_all(start, indices.ravel().astype(np.uint64), out)
    return out.reshape(indices.shape)


@kernel()
def _members_all(start: np.uint64, indices: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    for i in range(len(indices)):
        left = indices[i]
        power = MULTIPLIER
        x = start
        while left:
            if left & _ONE:
                x = np.uint64(np.uint64(x * power) % MODULUS)
            power = np.uint64(np.uint64(power * power) % MODULUS)
            left = np.uint64(left >> _ONE)
        out[i] = x
