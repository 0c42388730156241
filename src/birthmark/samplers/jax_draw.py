"""One draw of `jax.random` with random access: any elements, from a key.

Sources: jax-ml/jax `jax/_src/random.py` (now `random/core.py`) and `nn/initializers.py`, 0.2 to 0.10.2.
A uniform's mantissa comes from the high random bits (32 of float32, 16 of float16, 8 of bfloat16), put into
[1, 2), less 1, times the range, plus the lower bound, and never below it. A normal is sqrt(2) erfinv of a
uniform on (-1, 1); a truncated one of a uniform between the bounds' error functions, clipped into the open
interval. Initialisers multiply by a factor in the draw's dtype.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.threefry import Counters, Key, bits_at, check
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.jax_cuda import erfinv_cuda
from birthmark.samplers.jax_erfinv import ROOT_2, erfinv

Distribution = Literal["normal", "uniform", "truncated-normal"]
Floats = NDArray[np.float32]

#: How XLA computed. "xla-cpu": fused multiply-add in float32, every step rounded in 16 bits. "xla-cpu-fp16":
#: the same on a processor that has float16 arithmetic of its own, which fuses there too. "xla-cuda": an
#: NVIDIA GPU, nothing fused before erfinv (see `jax_cuda` for its only witness; its 16-bit draws have none).
ARITHMETICS: Final = ("xla-cpu", "xla-cpu-fp16", "xla-cuda")
#: Random bits and mantissa bits of each dtype.
_BITS: Final = {"float32": (32, 23), "float16": (16, 10), "bfloat16": (8, 7)}
_DISTRIBUTIONS: Final = ("normal", "uniform", "truncated-normal")


@dataclass(frozen=True, slots=True)
class JaxDraw:
    """One call of `jax.random.normal`, `uniform` or `truncated_normal`, and what multiplies its values.

    Attributes:
        distribution: which of the three.
        size: elements of the draw.
        bounds: of a uniform, or of a truncated normal in standard deviations; a normal has none. The error
            functions of truncation bounds other than 0.5, 1, 2 and 3 may be off by a unit in the last place.
        factor: what an initialiser multiplies the values by; None where it does not.
        dtype: "float32", "bfloat16" or "float16".
        counters: the order of the generator's counters.
        arithmetic: one of `ARITHMETICS`.
        merged: whether sqrt(2) and the factor became one number first, as XLA makes of a normal whose
            initialiser was compiled together with its scaling (`jax.jit`).
    """

    distribution: Distribution
    size: int
    bounds: tuple[float, float] | None = None
    factor: float | None = None
    dtype: str = "float32"
    counters: Counters = "partitionable"
    arithmetic: str = "xla-cpu"
    merged: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UnknownName: an unknown distribution, dtype, order of counters or arithmetic.
            UsageError: a negative size, bounds that are missing, not wanted, or in the wrong order.
        """
        for kind, name, known in (
            ("distribution", self.distribution, _DISTRIBUTIONS),
            ("JAX dtype", self.dtype, _BITS),
            ("arithmetic", self.arithmetic, ARITHMETICS),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        check(self.counters)
        if self.size < 0:
            raise UsageError(f"a draw of {self.size} elements; expected 0 or more.")
        if (self.bounds is None) != (self.distribution == "normal"):
            raise UsageError(f"a {self.distribution} draw with the bounds {self.bounds}; normals have none.")
        if self.bounds is not None and not -math.inf < self.bounds[0] < self.bounds[1] < math.inf:
            raise UsageError(f"the bounds {self.bounds}; expected two finite ones, the lower first.")
        if self.factor is not None and not math.isfinite(self.factor):
            raise UsageError(f"values times {self.factor}; expected a finite factor.")

    def values(self, key: Key, indices: NDArray[np.int64]) -> Floats:
        """The values of the given elements, decoded to float32.

        Args:
            key: what the call was given.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the draw.
        """
        # In bfloat16 a rounding lies between the two products, and they stay two.
        if self.merged and self.factor is not None and self.bounds is None and self.dtype != "bfloat16":
            return self._round(self._erfinv(key, indices) * self._scalar(ROOT_2 * self._scalar(self.factor)))
        drawn = self.standard(key, indices)
        return drawn if self.factor is None else self._round(drawn * self._scalar(self.factor))

    def standard(self, key: Key, indices: NDArray[np.int64]) -> Floats:
        """The values before the factor."""
        if self.distribution == "uniform" and self.bounds is not None:
            return self._uniform(key, indices, *(float(self._scalar(bound)) for bound in self.bounds))
        drawn = self._round(self._erfinv(key, indices) * self._scalar(math.sqrt(2.0)))
        if self.bounds is None:
            return drawn
        low, high = (float(self._scalar(bound)) for bound in self.bounds)
        least, most = _toward(low, math.inf, self.dtype), _toward(high, -math.inf, self.dtype)
        return np.clip(drawn, np.float32(least), np.float32(most))

    def _erfinv(self, key: Key, indices: NDArray[np.int64]) -> Floats:
        if self.bounds is None:
            low, high = _toward(-1.0, 0.0, self.dtype), 1.0
        else:
            root = float(self._scalar(math.sqrt(2.0)))
            scaled = (float(self._scalar(float(self._scalar(bound)) / root)) for bound in self.bounds)
            low, high = (float(self._scalar(math.erf(bound))) for bound in scaled)
        u = self._uniform(key, indices, low, high)
        out = np.empty_like(u)
        _erfinvs(u.reshape(-1), self.arithmetic == "xla-cuda", out.reshape(-1))
        return self._round(out)

    def _uniform(self, key: Key, indices: NDArray[np.int64], low: float, high: float) -> Floats:
        width, mantissa = _BITS[self.dtype]
        drawn = bits_at(key, self.size, indices, width=width, counters=self.counters)
        unit = (drawn >> np.uint64(width - mantissa)).astype(np.float64) * 2.0**-mantissa
        span = self._scalar(self._scalar(high).astype(np.float64) - low)
        if self.dtype == "float32" and self.arithmetic != "xla-cuda":
            spread = np.empty(unit.shape, np.float32)
            fractions = unit.astype(np.float32).reshape(-1)
            _fused(fractions, np.float32(span), np.float32(low), spread.reshape(-1))
        elif self.dtype == "float16" and self.arithmetic == "xla-cpu-fp16":
            spread = self._round(unit * span + low)  # exact in float64, so rounded once
        else:
            spread = self._round(self._round(unit * span) + self._scalar(low))
        return np.maximum(np.float32(low), spread)

    def _scalar(self, value: float | np.floating) -> np.float32:
        return np.float32(round_to(np.array([value], np.float64), self.dtype)[0])

    def _round(self, values: NDArray[np.floating]) -> Floats:
        """Rounded to the dtype; products and sums of float32 numbers were rounded to float32 before."""
        if self.dtype == "float32":
            return np.asarray(values, np.float32)
        return np.asarray(round_to(values, self.dtype), np.float32)


def _toward(value: float, target: float, dtype: str) -> float:
    """The value of a dtype next to one that it holds, in the direction of another."""
    if dtype == "float32":
        return float(np.nextafter(np.float32(value), np.float32(target)))
    if dtype == "float16":
        return float(np.nextafter(np.float16(value), np.float16(target)))
    if value == 0.0:
        return math.copysign(2.0**-133, target)
    pattern = int(np.float32(value).view(np.uint32)) >> 16
    pattern += 1 if (target > value) == (value > 0.0) else -1
    return float(np.uint32(pattern << 16).view(np.float32))


@kernel()
def _erfinvs(u: Floats, cuda: bool, out: Floats) -> None:
    for i in range(len(u)):
        out[i] = erfinv_cuda(u[i]) if cuda else erfinv(u[i])


@kernel()
def _fused(unit: Floats, span: np.float32, low: np.float32, out: Floats) -> None:
    for i in range(len(unit)):
        out[i] = fma(unit[i], span, low)
