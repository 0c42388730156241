"""JAX's initialisers, which flax uses too: from a name and a shape to a draw.

Source: jax-ml/jax `jax/_src/nn/initializers.py`, 0.2 to 0.10.2. Kernels are stored [..., in, out]; what lies
before these two axes is the receptive field, which counts into both fans. The variance is rounded to the
dtype, then its root, then the quotient by the truncated normal's standard deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.threefry import Counters
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.jax_draw import Distribution, JaxDraw

Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]

#: Standard deviation of a standard normal cut at two, by which truncated initialisers divide.
TRUNCATED_STD: Final = 0.87962566103423978


@dataclass(frozen=True, slots=True)
class VarianceScaling:
    """An initialiser whose variance is scale / fan.

    Attributes:
        scale: numerator.
        mode: which fan.
        distribution: what is drawn; truncated normals are cut at two standard deviations.
    """

    scale: float
    mode: Mode
    distribution: Distribution

    def factor(self, shape: tuple[int, ...], dtype: str = "float32", *, embedding: bool = False) -> float:
        """What the drawn values are multiplied by, as a value of the dtype.

        Args:
            shape: extents of the parameter, at least two.
            dtype: of the draw.
            embedding: whether it is [entries, features], as flax's `Embed` has it.

        Raises:
            UsageError: fewer than two axes, or an empty one.
        """
        fan_in, fan_out = fans(shape, embedding=embedding)
        fan = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": math.sqrt(fan_in * fan_out),
        }[self.mode]
        variance = _rounded(self.scale / fan, dtype)
        if self.distribution == "uniform":
            return _rounded(math.sqrt(_rounded(3 * variance, dtype)), dtype)
        root = _rounded(math.sqrt(variance), dtype)
        return _rounded(root / _rounded(TRUNCATED_STD, dtype), dtype) if self.truncated else root

    def draw(
        self,
        shape: tuple[int, ...],
        *,
        dtype: str = "float32",
        counters: Counters = "partitionable",
        arithmetic: str = "xla-cpu",
        embedding: bool = False,
    ) -> JaxDraw:
        """The draw that makes a parameter of this shape; see `factor` for the arguments."""
        bounds = {"normal": None, "uniform": (-1.0, 1.0), "truncated-normal": (-2.0, 2.0)}[self.distribution]
        factor = self.factor(shape, dtype, embedding=embedding)
        return JaxDraw(self.distribution, math.prod(shape), bounds, factor, dtype, counters, arithmetic)

    @property
    def truncated(self) -> bool:
        """Whether the normal is cut."""
        return self.distribution == "truncated-normal"


#: The named ones, aliases included.
INITIALIZERS: Final[dict[str, VarianceScaling]] = {
    "lecun_normal": VarianceScaling(1.0, "fan_in", "truncated-normal"),
    "he_normal": VarianceScaling(2.0, "fan_in", "truncated-normal"),
    "glorot_normal": VarianceScaling(1.0, "fan_avg", "truncated-normal"),
    "lecun_uniform": VarianceScaling(1.0, "fan_in", "uniform"),
    "he_uniform": VarianceScaling(2.0, "fan_in", "uniform"),
    "glorot_uniform": VarianceScaling(1.0, "fan_avg", "uniform"),
}
ALIASES: Final = {
    "xavier_normal": "glorot_normal",
    "xavier_uniform": "glorot_uniform",
    "kaiming_normal": "he_normal",
    "kaiming_uniform": "he_uniform",
}
#: flax's `Embed`: normal, variance 1 / features.
EMBED: Final = VarianceScaling(1.0, "fan_in", "normal")


def initializer(name: str) -> VarianceScaling:
    """The initialiser of a name.

    Raises:
        UnknownName: there is none.
    """
    found = INITIALIZERS.get(ALIASES.get(name, name))
    if found is None:
        raise UnknownName("JAX initialiser", name, (*INITIALIZERS, *ALIASES))
    return found


def fans(shape: tuple[int, ...], *, embedding: bool = False) -> tuple[float, float]:
    """(fan in, fan out) of a kernel [..., in, out], or of an embedding, both of which are its features.

    Raises:
        UsageError: fewer than two axes, or an empty one.
    """
    if len(shape) < 2 or min(shape) < 1:
        raise UsageError(f"fans of the shape {shape}; expected two axes or more, none of them empty.")
    inward, outward = shape[-2], shape[0] if embedding else shape[-1]
    field = math.prod(shape) / inward / outward
    return inward * field, outward * field


def normal(
    shape: tuple[int, ...],
    std: float = 1e-2,
    *,
    dtype: str = "float32",
    counters: Counters = "partitionable",
    compiled: bool = False,
) -> JaxDraw:
    """`normal(stddev)`; `compiled` where the call ran under `jax.jit`, which merges the factors."""
    return JaxDraw("normal", math.prod(shape), None, std, dtype, counters, merged=compiled)


def truncated_normal(
    shape: tuple[int, ...],
    std: float = 1e-2,
    *,
    dtype: str = "float32",
    counters: Counters = "partitionable",
) -> JaxDraw:
    """`truncated_normal(stddev)`: cut at two, not corrected; Haiku's `TruncatedNormal` is the same."""
    return JaxDraw("truncated-normal", math.prod(shape), (-2.0, 2.0), std, dtype, counters)


def orthogonal_source(
    shape: tuple[int, ...], *, dtype: str = "float32", counters: Counters = "partitionable"
) -> tuple[JaxDraw, tuple[int, int]]:
    """The normal draw behind `orthogonal()`, and its shape (long side, short side).

    The matrix drawn is always taller than wide; QR and the signs of R's diagonal make it orthogonal, and it
    is transposed where rows are fewer than columns. So the first column of the draw, divided by its length,
    is the first column (or row) of the result up to the sign.
    """
    rows, columns = math.prod(shape[:-1]), shape[-1]
    tall = max(rows, columns), min(rows, columns)
    return JaxDraw("normal", rows * columns, dtype=dtype, counters=counters), tall


def _rounded(value: float, dtype: str) -> float:
    return float(round_to(np.array([value], np.float64), dtype)[0])
