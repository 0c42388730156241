"""Draws that transform a normal or a uniform through the GPU's fast functions: log-normal, Cauchy, geometric.

| draw | value | the fast function |
|---|---|---|
| `log_normal_(mean, std)` | exp(fma(z, std, mean)) | 2^x of x log2 e |
| `cauchy_(median, sigma)` | fma(sigma, tan(pi (u - 1/2)), median) | sine over cosine |
| `geometric_(p)` | ceil(log u / log(1 - p)) | log2 times ln 2 |

All in float32 for every dtype but float64, rounded at the store. A uniform of a float32 Cauchy draw is first
moved an epsilon away from 0 and 1. Sources: pytorch `aten/src/ATen/core/TransformationHelper.h` and
`ATen/NumericUtils.h` (2.0 to 2.15.0), CUDA's `device_functions` for the fast ones. The sine unit is exact
(`birthmark.numerics.sine`); the units for 2^x, log2 and 1/x are correctly rounded stand-ins, as are the
double precision functions and all of AMD's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.dtypes import FORMATS, format_of, is_float, round_to
from birthmark.numerics.sine import cosine, sine
from birthmark.samplers.exponential import fast_log
from birthmark.samplers.integers import BOUNDED, RANGES
from birthmark.samplers.per_call import OneEach

_LOG2_E = np.uint32(0x3FB8AA3B).view(np.float32)
_PI = np.float32(math.pi)
_HALF = np.float32(0.5)
_EPSILON = np.float32(2.0**-23)
_INVERSE_TURN = np.uint32(0x3E22F983).view(np.float32)
_TURN_STEPS = np.float64(2.0**25)


@dataclass(frozen=True, slots=True)
class LogNormal(OneEach):
    """`log_normal_(mean, std)`: mean and std of the logarithm; std above 0."""

    mean: float = 1.0
    std: float = 2.0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        format_of(self.dtype)
        if not math.isfinite(self.mean) or not 0 < self.std < math.inf:
            raise UsageError(
                f"a log-normal draw of mean {self.mean} and std {self.std}: expected a std above 0."
            )

    @property
    def source(self) -> Literal["normal"]:
        """It is made from standard normals."""
        return "normal"

    def finish(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The values of standard normals of any shape; float64 for a float64 draw, else float32."""
        with np.errstate(over="ignore"):
            if self.dtype == "float64":
                out = np.empty(raw.size, np.float64)
                _scaled_64(_line(raw, np.float64), np.float64(self.std), np.float64(self.mean), out)
                return np.exp(out).reshape(raw.shape)
            narrow = np.empty(raw.size, np.float32)
            _exponentials(_line(raw, np.float32), np.float32(self.std), np.float32(self.mean), narrow)
        return round_to(narrow.reshape(raw.shape), self.dtype)


@dataclass(frozen=True, slots=True)
class Cauchy(OneEach):
    """`cauchy_(median, sigma)`; sigma above 0."""

    median: float = 0.0
    sigma: float = 1.0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        format_of(self.dtype)
        if not math.isfinite(self.median) or not 0 < self.sigma < math.inf:
            raise UsageError(
                f"a Cauchy draw of median {self.median} and sigma {self.sigma}: expected a sigma above 0."
            )

    @property
    def source(self) -> Literal["uniform"]:
        """It is made from uniforms in (0, 1]."""
        return "uniform"

    def finish(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The values of uniforms of any shape; float64 for a float64 draw, else float32."""
        if self.dtype == "float64":
            tangents = np.tan(np.float64(math.pi) * (raw - 0.5))
            out = np.empty(raw.size, np.float64)
            _scaled_64(_line(tangents, np.float64), np.float64(self.sigma), np.float64(self.median), out)
            return out.reshape(raw.shape)
        narrow = np.empty(raw.size, np.float32)
        _tangents(_line(raw, np.float32), np.float32(self.sigma), np.float32(self.median), narrow)
        return round_to(narrow.reshape(raw.shape), self.dtype)


@dataclass(frozen=True, slots=True)
class Geometric(OneEach):
    """`geometric_(p)`: trials up to the first success of probability p, between 0 and 1."""

    p: float
    dtype: str = "float32"

    def __post_init__(self) -> None:
        known = [name for name in (*RANGES, *FORMATS) if name not in (*BOUNDED, "bool")]
        if self.dtype not in known:
            raise UnknownName("dtype of a geometric draw", self.dtype, known)
        if not 0 < self.p < 1:
            raise UsageError(
                f"a geometric draw of probability {self.p}: expected more than 0 and less than 1."
            )

    @property
    def source(self) -> Literal["uniform"]:
        """It is made from uniforms in (0, 1]."""
        return "uniform"

    def finish(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The values of uniforms of any shape; float64 or float32 for float dtypes, int64 for integers.

        Raises:
            UsageError: a value that an integer dtype does not hold; what a GPU stores then is not known.
        """
        if self.dtype == "float64":
            return np.asarray(np.ceil(np.log(raw) / np.log1p(-self.p)))
        out = np.empty(raw.size, np.float32)
        _trials(_line(raw, np.float32), np.float32(self.p), out)
        found = out.reshape(raw.shape)
        if is_float(self.dtype):
            return round_to(found, self.dtype)
        if found.size and float(found.max()) > RANGES[self.dtype][2]:
            raise UsageError(f"a geometric draw reached {found.max():.0f}, more than {self.dtype} holds.")
        return found.astype(np.int64)


def _line(values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    return np.require(np.reshape(values, -1), dtype, ["C", "A", "W"])


@kernel()
def _scaled_64(
    values: NDArray[np.float64], factor: np.float64, shift: np.float64, out: NDArray[np.float64]
) -> None:
    for i in range(out.size):
        out[i] = fma(values[i], factor, shift)


@kernel()
def _exponentials(
    normals: NDArray[np.float32], std: np.float32, mean: np.float32, out: NDArray[np.float32]
) -> None:
    for i in range(out.size):
        power = np.float32(fma(normals[i], std, mean) * _LOG2_E)
        out[i] = np.float32(np.exp2(np.float64(power)))


@kernel()
def _tangents(
    units: NDArray[np.float32], sigma: np.float32, median: np.float32, out: NDArray[np.float32]
) -> None:
    for i in range(out.size):
        u = min(max(units[i], _EPSILON), np.float32(np.float32(1.0) - _EPSILON))
        angle = np.float32(_PI * np.float32(u - _HALF))
        # The sine unit takes the magnitude in 2^-25 turns; the angle ends at a quarter turn.
        turn = np.uint32(np.float64(np.abs(angle)) * np.float64(_INVERSE_TURN) * _TURN_STEPS)
        inverse = np.float32(np.float64(1.0) / np.float64(cosine(turn)))
        tangent = np.float32(np.copysign(sine(turn), angle) * inverse)
        out[i] = fma(sigma, tangent, median)


@kernel()
def _trials(units: NDArray[np.float32], p: np.float32, out: NDArray[np.float32]) -> None:
    divisor = fast_log(np.float32(np.float32(1.0) - p))
    for i in range(out.size):
        out[i] = np.float32(np.ceil(np.float32(fast_log(units[i]) / divisor)))
