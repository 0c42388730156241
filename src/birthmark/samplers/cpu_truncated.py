"""`torch.nn.init.trunc_normal_` on the CPU: by inversion up to 2.11, by drawing again from 2.12 on.

Up to 2.11, five steps in place, each rounding to the tensor's dtype: `uniform_(2 l - 1, 2 u - 1)` with l and
u the distribution function at both bounds in doubles, `erfinv_`, `mul_(std sqrt 2)`, `add_(mean)`,
`clamp_(a, b)`.

From 2.12 on, where the bounds hold more than 0.3 of the mass: `normal_(mean, std)`, and full-size normals
again until every element was in bounds once; each element keeps the first that is. With less mass, each
element is the first of uniforms over [a, b] that a second uniform accepts; candidates and second uniforms
are drawn alternately at full size. How many words all that takes depends on the seed.

Source: pytorch `torch/nn/init.py`, 1.13.1 to 2.14.1. `erfinv_` of the official x86 builds is Intel's, in its
high-accuracy mode; the correctly rounded one stands in for it. In float32 it gives 99.3 % of the values on a
processor with AVX-512 (99.96 % were seen on another), the others one unit in the last place off; in 16-bit
types all of 40,000; in float64 the last bit or two differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.samplers.cpu_block import BlockNormal
from birthmark.samplers.cpu_call import CpuCall, Read, Values, carried, is_half
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.samplers.cpu_scalar import ScalarNormal
from birthmark.samplers.cpu_uniform import Uniform
from birthmark.samplers.cpu_versions import CpuVersion
from birthmark.samplers.truncated import LEAST_MASS, masses

#: Full-size draws after which bounds are taken to hold no value of the dtype at all.
MOST_ROUNDS: Final = 10_000

_SQRT_2 = math.sqrt(2.0)


def normal_sampler(call: CpuCall, kept_at: int | None) -> BlockNormal | ScalarNormal:
    """The sampler of a normal draw: in blocks, or pair by pair."""
    if call.size >= BLOCK and call.contiguous:
        return BlockNormal(call)
    return ScalarNormal(call, kept_at)


def checked(call: CpuCall) -> tuple[float, float, float, float]:
    """(mean, std, a, b) of a truncated normal.

    Raises:
        UsageError: a std that is not above 0, or bounds out of order.
    """
    mean, std, low, high = call.parameters
    if std <= 0 or low > high:
        raise UsageError(
            f"a truncated normal of std {std} from {low} to {high}: expected a std above 0, and the lower "
            "bound first."
        )
    return mean, std, low, high


@dataclass(frozen=True, slots=True)
class Inverted:
    """The sampler up to 2.11."""

    call: CpuCall

    def __post_init__(self) -> None:
        checked(self.call)
        if is_half(self.call.dtype) and self.call.rules < CpuVersion(1, 13):
            raise UsageError(
                f"truncated normals in {self.call.dtype} of PyTorch {self.call.version} are not known; "
                "expected 1.13 or later."
            )

    @property
    def _uniform(self) -> Uniform:
        below, up_to = masses(self.call.parameters)
        bounds = (2.0 * below - 1.0, 2.0 * up_to - 1.0)
        return Uniform(replace(self.call, distribution="uniform", parameters=bounds))

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return self._uniform.consumed

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        from scipy.special import erfinv  # slow to import, and no other draw needs it

        dtype = self.call.dtype
        mean, std, low, high = self.call.parameters
        units = self._uniform.values(read, indices)
        # A number is added as the tensor's own dtype, but from 2.1 on multiplied with as float32.
        shift, lowest, highest, factor = carried(np.array([mean, low, high, std * _SQRT_2]), dtype)
        if self.call.rules.wide_factor:
            factor = _scalars((std * _SQRT_2,), dtype)[0]
        x = carried(erfinv(units.astype(np.float64)), dtype)
        x = carried(x * factor, dtype)
        x = carried(x + shift, dtype)
        return np.clip(x, lowest, highest)


@dataclass(frozen=True, slots=True)
class Redrawn:
    """The sampler from 2.12 on, where the bounds hold more than 0.3 of the mass."""

    call: CpuCall
    kept_at: int | None = None

    def __post_init__(self) -> None:
        checked(self.call)

    @property
    def consumed(self) -> None:
        """Depends on the words."""

    def outside(self, values: Values) -> NDArray[np.bool_]:
        """Which values lie beyond the bounds, rounded to the dtype."""
        lowest, highest = carried(np.array(self.call.parameters[2:]), self.call.dtype)
        beyond: NDArray[np.bool_] = (values < lowest) | (values > highest)
        return beyond

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        return self.run(read, indices)[0]

    def run(self, read: Read, indices: NDArray[np.int64]) -> tuple[Values, int, int | None]:
        """(values of elements, words until the last of them was in bounds, `keeps_at` then).

        Raises:
            UsageError: the bounds hold no value of the dtype.
        """
        normal = replace(self.call, distribution="normal", parameters=self.call.parameters[:2])

        def draw(
            at: int, kept_at: int | None, wanted: NDArray[np.int64]
        ) -> tuple[Values, NDArray[np.bool_], int, int | None]:
            sampler = normal_sampler(normal, None if kept_at is None else kept_at - at)
            drawn = sampler.values(lambda places: read(places + at), wanted)
            if isinstance(sampler, ScalarNormal):
                kept_at = None if sampler.keeps_at is None else sampler.keeps_at + at
            return drawn, self.outside(drawn), at + sampler.consumed, kept_at

        return _until_all(self.call, draw, indices, self.kept_at)


@dataclass(frozen=True, slots=True)
class Rejected:
    """The sampler from 2.12 on, where the bounds hold at most 0.3 of the mass."""

    call: CpuCall
    kept_at: int | None = None

    def __post_init__(self) -> None:
        checked(self.call)

    @property
    def consumed(self) -> None:
        """Depends on the words."""

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        return self.run(read, indices)[0]

    def run(self, read: Read, indices: NDArray[np.int64]) -> tuple[Values, int, int | None]:
        """(values of elements, words until the last of them was accepted, `keeps_at` then).

        Raises:
            UsageError: no candidate is ever accepted.
        """
        low, high = self.call.parameters[2:]
        candidates = Uniform(replace(self.call, distribution="uniform", parameters=(low, high)))
        seconds = Uniform(replace(self.call, distribution="uniform", parameters=(0.0, 1.0)))

        def draw(
            at: int, kept_at: int | None, wanted: NDArray[np.int64]
        ) -> tuple[Values, NDArray[np.bool_], int, int | None]:
            drawn = candidates.values(lambda places: read(places + at), wanted)
            at += candidates.consumed
            second = seconds.values(lambda places: read(places + at), wanted)
            with np.errstate(divide="ignore"):
                refused = carried(np.log(second.astype(np.float64)), self.call.dtype) > self._density(drawn)
            return drawn, refused, at + seconds.consumed, kept_at

        return _until_all(self.call, draw, indices, self.kept_at)

    def _density(self, candidates: Values) -> Values:
        """The logarithm of the normal's density at candidates, but for that of its peak."""
        dtype = self.call.dtype
        mean, std, low, high = self.call.parameters
        peak = -0.5 * ((max(low, min(mean, high)) - mean) / std) ** 2
        shift, height = carried(np.array([mean, peak]), dtype)
        x = carried(candidates - shift, dtype)
        x = carried(x / _scalars((std,), dtype)[0], dtype)
        x = carried(x * x, dtype)
        x = carried(x * _scalars((-0.5,), dtype)[0], dtype)
        return carried(x - height, dtype)


def truncated_sampler(call: CpuCall, kept_at: int | None) -> Inverted | Redrawn | Rejected:
    """The sampler of a truncated normal draw in its version."""
    if not call.rules.redraws:
        return Inverted(call)
    checked(call)
    below, up_to = masses(call.parameters)
    return Redrawn(call, kept_at) if up_to - below > LEAST_MASS else Rejected(call, kept_at)


_Round = Callable[[int, "int | None", NDArray[np.int64]], tuple[Values, NDArray[np.bool_], int, "int | None"]]


def _until_all(
    call: CpuCall, draw: _Round, indices: NDArray[np.int64], kept_at: int | None
) -> tuple[Values, int, int | None]:
    """Rounds at full size until every element that is wanted was taken once."""
    flat = np.asarray(indices, np.int64).ravel()
    values = np.empty(flat.size, np.float64 if call.dtype == "float64" else np.float32)
    open_ones = np.arange(flat.size)
    at = 0
    for _ in range(MOST_ROUNDS):
        drawn, again, at, kept_at = draw(at, kept_at, flat[open_ones])
        values[open_ones[~again]] = drawn[~again]
        open_ones = open_ones[again]
        if not open_ones.size:
            return values.reshape(np.shape(indices)), at, kept_at
    raise UsageError(
        f"bounds {call.parameters[2:]} took in no value of {call.dtype} within {MOST_ROUNDS} draws."
    )


def _scalars(numbers: tuple[float, ...], dtype: str) -> NDArray[Any]:
    """Python numbers as a tensor operation takes them: float64 for float64 tensors, else float32."""
    return np.array(numbers, np.float64 if dtype == "float64" else np.float32)
