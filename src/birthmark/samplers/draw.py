"""A draw: one random call during construction, and how its values come about.

Three words for three stages. *Raw* values are what a generator's words alone give: standard normals, or
uniforms in (0, 1]. *Standard* values are what the draw's own scale multiplies: the raw ones, but for a
truncated normal that is made from uniforms. *Stored* values have gone through every step and rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.layout import unroll_of
from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import FORMATS, itemsize, round_to
from birthmark.samplers.fill import finish
from birthmark.samplers.normal import LARGEST, LARGEST_64
from birthmark.samplers.storing import DISTRIBUTIONS, TRUNCATED, source_of, standard, versions
from birthmark.samplers.truncated import LEAST_MASS, REDRAWING, inverting_versions, masses

Distribution = Literal["normal", "uniform", "truncated-normal"]
Values = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Draw:
    """One random call during construction.

    Attributes:
        distribution: "normal", "uniform" or "truncated-normal".
        parameters: (mean, std) of a normal, (low, high) of a uniform, (mean, std, a, b) of a truncated
            normal, as the caller passed them.
        shape: extents of the tensor that the call fills, before any sharding.
        dtype: the dtype at draw time: "float32", "float16", "bfloat16" or "float64".
        version: PyTorch's end-point rule of a uniform: "2.1+" or "2.0-"; of a truncated normal also what
            drew it: "2.1+" (to 2.11, CUDA up to 12), "2.1+cuda13", "2.0-" or "2.12+".
    """

    distribution: Distribution
    parameters: tuple[float, ...]
    shape: tuple[int, ...]
    dtype: str = "float32"
    version: str = "2.1+"

    def __post_init__(self) -> None:
        if self.dtype not in FORMATS:
            raise UnknownName("float dtype", self.dtype, FORMATS)
        if self.distribution not in DISTRIBUTIONS:
            raise UnknownName("distribution", self.distribution, DISTRIBUTIONS)
        if self.version not in versions(self.distribution):
            raise UnknownName("version rule", self.version, versions(self.distribution))
        if any(extent < 0 for extent in self.shape):
            raise UsageError(f"shape {self.shape}: expected extents of 0 or more.")
        expected = 4 if self.distribution == TRUNCATED else 2
        if len(self.parameters) != expected:
            raise UsageError(
                f"{len(self.parameters)} parameters of a {self.distribution} draw: expected {expected}."
            )
        # A normal's parameters are float32 even where its values are narrower; a uniform's bounds are not.
        carrier = "float32" if self.distribution != "uniform" and self.dtype != "float64" else self.dtype
        if not all(abs(value) <= FORMATS[carrier].greatest for value in self.parameters):
            raise UsageError(f"parameters {self.parameters}: expected finite numbers that fit {carrier}.")
        first, second = self.parameters[:2]
        if self.distribution == "normal" and second < 0:
            raise UsageError(f"a normal draw with standard deviation {second}: expected 0 or more.")
        if self.distribution == "uniform" and first > second:
            raise UsageError(f"a uniform draw from {first} to {second}: expected the lower bound first.")
        if self.distribution == TRUNCATED:
            self._check_truncated()

    def _check_truncated(self) -> None:
        _, std, low, high = self.parameters
        if std <= 0 or low > high:
            raise UsageError(
                f"a truncated normal draw of std {std} from {low} to {high}: "
                "expected a std above 0, and the lower bound first."
            )
        if self.version not in (REDRAWING, *inverting_versions(self.dtype)):
            raise UsageError(
                "torch up to 2.0 draws no truncated normals in bfloat16 on a GPU: it has no erfinv."
            )
        below, up_to = masses(self.parameters)
        if self.version == REDRAWING and up_to - below <= LEAST_MASS:
            raise UsageError(
                f"bounds {low} to {high} hold {up_to - below:.2g} of the normal's mass: "
                f"torch from 2.12 on is predicted from {LEAST_MASS} on."
            )

    @property
    def size(self) -> int:
        """Elements of the whole tensor."""
        return math.prod(self.shape)

    @property
    def source(self) -> Literal["normal", "uniform"]:
        """What the draw is made from: standard normals, or uniforms in (0, 1]."""
        return source_of(self.distribution, self.version)

    @property
    def unroll(self) -> int:
        """Values that one call of a thread makes: 2 in double precision, else 4."""
        return unroll_of(self.dtype)

    @property
    def width(self) -> int:
        """Bytes of a stored element."""
        return itemsize(self.dtype)

    @property
    def redraws(self) -> bool:
        """Whether values can lie out of bounds and are drawn again, as truncated normals from torch 2.12 on.

        It repeats full-size draws, one after the other, until every element was in bounds once; each element
        keeps the first that is. How many it takes, and so where the generator ends, depends on the seed.
        """
        if self.distribution != TRUNCATED or self.version != REDRAWING:
            return False
        mean, std, low, high = self.parameters
        reach = std * (LARGEST_64 if self.dtype == "float64" else LARGEST)
        return mean - reach < low or mean + reach > high

    def standard(self, raw: Values) -> Values:
        """What the draw's own scale multiplies, from raw values of any shape; see `Hypothesis.standard`."""
        found: Values = standard(self.distribution, self.parameters, raw, self.dtype, self.version)
        return found

    def finish(self, raw: Values) -> Values:
        """What the draw stores for raw values of any shape."""
        found: Values = finish(self.distribution, raw, self.parameters, self.dtype, self.version)
        return found

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds of a truncated normal, rounded to the dtype as torch from 2.12 on compares with them."""
        carried = np.asarray(self.parameters[2:], np.float64 if self.dtype == "float64" else np.float32)
        low, high = round_to(carried, self.dtype).tolist()
        return low, high

    def outside(self, values: Values) -> NDArray[np.bool_]:
        """Which stored values lie out of those bounds."""
        low, high = self.limits
        beyond: NDArray[np.bool_] = (values < low) | (values > high)
        return beyond
