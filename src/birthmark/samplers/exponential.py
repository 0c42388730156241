"""Exponential draws as PyTorch makes them on a GPU: -1 / rate times the fast logarithm of a uniform.

`exponential_(rate)` takes a uniform u in (0, 1], in float32 for every dtype but float64. Where u is 1 or the
float before it, half an epsilon stands for -log u, so that 0 is never drawn (from PyTorch 1.10 on; before,
the float below 1 stood for 1). The logarithm is the GPU's fast one, log2 of the table unit (MUFU.LG2) times
ln 2; the factor -1 / rate is rounded first, and the product is rounded to the dtype.

Sources: pytorch `aten/src/ATen/core/TransformationHelper.h` and `ATen/NumericUtils.h`. Stand-ins, where
the last bits can differ: the table unit's log2, here correctly rounded (`birthmark.numerics.erfinv.log2`),
float64's logarithm, and all of AMD's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.compiled import kernel
from birthmark.numerics.dtypes import format_of, round_to
from birthmark.numerics.erfinv import log2
from birthmark.samplers.per_call import OneEach

VERSIONS: Final = ("1.10+", "1.9-")

_LN2 = np.uint32(0x3F317218).view(np.float32)
_NEAR_ONE = np.float32(1.0 - 2.0**-24)
_LEAST_LOG = np.float32(-(2.0**-24))
_NEAR_ONE_64 = np.float64(1.0 - 2.0**-53)
_LEAST_LOG_64 = np.float64(-(2.0**-53))


@dataclass(frozen=True, slots=True)
class Exponential(OneEach):
    """A draw of exponentials.

    Attributes:
        rate: the rate, above 0.
        dtype: the dtype at draw time, a float dtype.
        version: "1.10+" or "1.9-": what stands for uniforms near 1.
    """

    rate: float = 1.0
    dtype: str = "float32"
    version: str = "1.10+"

    def __post_init__(self) -> None:
        format_of(self.dtype)
        if self.version not in VERSIONS:
            raise UnknownName("version rule of exponentials", self.version, VERSIONS)
        if not 0 < self.rate < float("inf"):
            raise UsageError(f"exponentials of rate {self.rate}: expected a finite rate above 0.")

    @property
    def source(self) -> Literal["uniform"]:
        """Exponentials are made from uniforms in (0, 1]."""
        return "uniform"

    def finish(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The values of uniforms of any shape; float64 for a float64 draw, else float32."""
        if self.dtype == "float64":
            least = self.version == "1.10+"
            logs = np.log(np.minimum(raw, 1.0 if least else _NEAR_ONE_64))
            if least:
                logs = np.where(raw >= _NEAR_ONE_64, _LEAST_LOG_64, logs)
            return np.asarray(np.float64(-1.0) / np.float64(self.rate) * logs)
        out = np.empty(raw.size, np.float32)
        _fill(
            np.ascontiguousarray(raw, np.float32).reshape(-1),
            np.float32(-1.0) / np.float32(self.rate),
            np.bool_(self.version == "1.10+"),
            out,
        )
        return round_to(out.reshape(raw.shape), self.dtype)


@kernel(inline=True)
def fast_log(u: np.float32) -> np.float32:
    """`__logf` of CUDA: log2 of the table unit, times ln 2."""
    return np.float32(log2(u) * _LN2)


@kernel()
def _fill(units: NDArray[np.float32], factor: np.float32, least: np.bool_, out: NDArray[np.float32]) -> None:
    for i in range(out.size):
        u = units[i]
        if u >= _NEAR_ONE:
            out[i] = factor * (_LEAST_LOG if least else fast_log(_NEAR_ONE))
        else:
            out[i] = factor * fast_log(u)
