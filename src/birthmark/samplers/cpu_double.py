"""Exponential, Cauchy, geometric and Bernoulli draws of PyTorch's CPU generator: two words and doubles each.

Whatever the tensor's dtype, a value is computed in double from one 53-bit uniform u in [0, 1), and then
converted: exponential -1/rate log1p(-u) (up to 1.13 by log(1 - u)), Cauchy median + sigma tan(pi (u - 1/2)),
geometric ceil(log u / log1p(-p)), Bernoulli u < p. Sources: pytorch
`aten/src/ATen/core/TransformationHelper.h` and `aten/src/ATen/native/cpu/DistributionTemplates.h`, 1.13.1
to 2.14.1. The functions are the C library's. Where a build leaves exponentials or Bernoullis to Intel's
library, see `cpu_mkl`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import fma, kernel
from birthmark.samplers.cpu_call import INTEGERS, CpuCall, Read, Values, carried, stored
from birthmark.samplers.cpu_uniform import units64
from birthmark.samplers.cpu_versions import CpuVersion

#: Up to 1.5 `geometric_` took p for the chance of failure.
_GEOMETRIC_SINCE: Final = CpuVersion(1, 6)

_ONE = np.float64(1.0)
_HALF = np.float64(0.5)
_PI = np.float64(math.pi)


@dataclass(frozen=True, slots=True)
class Doubles:
    """The sampler of the four."""

    call: CpuCall

    def __post_init__(self) -> None:
        """Refuse parameters that torch refuses.

        Raises:
            UsageError: see the message.
        """
        call = self.call
        first = call.parameters[0]
        if call.distribution == "exponential" and first <= 0:
            raise UsageError(f"an exponential draw of rate {first}; expected more than 0.")
        if call.distribution == "cauchy" and call.parameters[1] <= 0:
            raise UsageError(f"a Cauchy draw of scale {call.parameters[1]}; expected more than 0.")
        if call.distribution == "bernoulli" and not 0 <= first <= 1:
            raise UsageError(f"a Bernoulli draw of probability {first}; expected 0 to 1.")
        if call.distribution == "geometric":
            if not 0 < first < 1:
                raise UsageError(f"a geometric draw of probability {first}; expected between 0 and 1.")
            if call.rules < _GEOMETRIC_SINCE:
                raise UsageError("geometric draws of PyTorch up to 1.5 are not known; expected 1.6 or later.")

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return 2 * self.call.size

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        call = self.call
        units = units64(read(2 * indices[..., None] + np.arange(2)))
        if call.distribution == "bernoulli":
            return whole(units < call.parameters[0], call.dtype)
        flat = units.ravel()
        out = np.empty_like(flat)
        if call.distribution == "exponential":
            _exponential_all(flat, np.float64(-1.0 / call.parameters[0]), call.rules.one_minus, out)
        elif call.distribution == "cauchy":
            median, sigma = call.bounds
            _cauchy_all(flat, np.float64(median), np.float64(sigma), call.fused, out)
        else:
            p = call.parameters[0]
            _geometric_all(
                flat, np.float64(math.log(1.0 - p) if call.rules.one_minus else math.log1p(-p)), out
            )
            return whole(out.reshape(units.shape), call.dtype)
        return stored(out.reshape(units.shape), call)


def whole(values: NDArray[np.generic], dtype: str) -> Values:
    """Whole numbers as a tensor of a dtype holds them."""
    if dtype in INTEGERS:
        with np.errstate(invalid="ignore"):
            return values.astype(dtype)
    return carried(values.astype(np.float64), dtype)


@kernel()
def _exponential_all(
    units: NDArray[np.float64], factor: np.float64, one_minus: bool, out: NDArray[np.float64]
) -> None:
    for i in range(len(units)):
        out[i] = factor * (math.log(_ONE - units[i]) if one_minus else math.log1p(-units[i]))


@kernel()
def _cauchy_all(
    units: NDArray[np.float64], median: np.float64, sigma: np.float64, fused: bool, out: NDArray[np.float64]
) -> None:
    for i in range(len(units)):
        turn = math.tan(_PI * (units[i] - _HALF))
        out[i] = fma(sigma, turn, median) if fused else np.float64(sigma * turn) + median


@kernel()
def _geometric_all(units: NDArray[np.float64], scale: np.float64, out: NDArray[np.float64]) -> None:
    for i in range(len(units)):
        out[i] = math.ceil(np.log(units[i]) / scale)
