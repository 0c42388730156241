"""One random call on the CPU: what it draws, into what tensor, in which version and arithmetic.

A sampler turns a call into words and values: which words of the stream stand behind an element, and what
they become. It reads words through a function of positions, so that it does not matter whether they come
one after another or by jumping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import FORMATS, round_to
from birthmark.samplers.cpu_arithmetic import CpuArithmetic, arithmetic_of
from birthmark.samplers.cpu_versions import NEWEST, CpuVersion, version_of

#: The words at positions counted from the draw's first word; int64 in, uint32 of the same shape out.
Read: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.uint32]]
#: Values of a draw, decoded: float32, or float64 for float64 tensors, or a tensor's integers.
Values: TypeAlias = NDArray[Any]

#: Integer dtypes, by torch's names.
INTEGERS: Final = ("bool", "uint8", "int8", "int16", "int32", "int64")
#: Dtypes of the tensors that a distribution fills.
DTYPES: Final[dict[str, tuple[str, ...]]] = {
    "normal": tuple(FORMATS),
    "uniform": tuple(FORMATS),
    "truncated-normal": tuple(FORMATS),
    "exponential": tuple(FORMATS),
    "cauchy": tuple(FORMATS),
    "log-normal": tuple(FORMATS),
    "geometric": (*FORMATS, *INTEGERS[1:]),
    "bernoulli": (*FORMATS, *INTEGERS),
    "integers": (*FORMATS, *INTEGERS),
    "permutation": (*FORMATS, *INTEGERS[1:]),
}
#: How many parameters a distribution has.
PARAMETERS: Final[dict[str, tuple[int, ...]]] = {
    "normal": (2,),
    "uniform": (2,),
    "truncated-normal": (4,),
    "exponential": (1,),
    "cauchy": (2,),
    "log-normal": (2,),
    "geometric": (1,),
    "bernoulli": (1,),
    "integers": (0, 1, 2),
    "permutation": (0,),
}


@dataclass(frozen=True, slots=True)
class CpuCall:
    """One random call.

    Attributes:
        distribution: one of `DTYPES`.
        parameters: as the caller passed them: (mean, std) of a normal or log-normal, (low, high) of a
            uniform, (mean, std, a, b) of a truncated normal, (rate,) of an exponential, (median, sigma) of a
            Cauchy, (p,) of a Bernoulli or geometric. Of integers (low, high) with high left out of the
            range, (high,), or () for the dtype's own range. A permutation has none.
        size: elements of the tensor.
        dtype: the tensor's dtype when drawn.
        version: PyTorch's version.
        arithmetic: one of `birthmark.samplers.cpu_arithmetic.ARITHMETICS`.
        contiguous: whether the tensor is contiguous. If not, elements count in the order of storage.
        mkl: whether the build leaves what it can to Intel's library: x86 builds up to 2.6, on Intel
            processors only.
    """

    distribution: str
    parameters: tuple[float, ...]
    size: int
    dtype: str = "float32"
    version: str = NEWEST
    arithmetic: str = "cpu-fused"
    contiguous: bool = True
    mkl: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no call.

        Raises:
            UnknownName: a distribution or arithmetic that nobody knows.
            UsageError: a dtype, size, version or number of parameters that cannot be.
        """
        if self.distribution not in DTYPES:
            raise UnknownName("CPU distribution", self.distribution, DTYPES)
        arithmetic_of(self.arithmetic)
        version_of(self.version)
        if self.dtype not in DTYPES[self.distribution]:
            raise UsageError(
                f"a CPU {self.distribution} draw in {self.dtype}; known are "
                f"{', '.join(DTYPES[self.distribution])}."
            )
        if self.size < 0:
            raise UsageError(f"a draw of {self.size} elements; expected 0 or more.")
        expected = PARAMETERS[self.distribution]
        if len(self.parameters) not in expected:
            raise UsageError(
                f"{len(self.parameters)} parameters of a {self.distribution} draw; expected "
                f"{' or '.join(map(str, expected))}."
            )
        # Narrower floats are computed in float32; other dtypes take their numbers as they are.
        carrier = "float32" if self.dtype in FORMATS and self.dtype != "float64" else "float64"
        if not all(abs(value) <= FORMATS[carrier].greatest for value in self.parameters):
            raise UsageError(f"parameters {self.parameters}: expected finite numbers that fit {carrier}.")

    @property
    def rules(self) -> CpuVersion:
        """What the version does."""
        return version_of(self.version)

    @property
    def computing(self) -> CpuArithmetic:
        """How the build computes."""
        return arithmetic_of(self.arithmetic)

    @property
    def fused(self) -> bool:
        """Whether this draw's last product and sum are rounded once.

        x86 wheels up to 1.5 compiled uniforms without the AVX2 options, and up to 1.4 all else but the
        vectorised normals (run on 1.2.0, 1.4.0, 1.5.1 and 1.6.0).
        """
        if self.computing.fused or self.distribution == "uniform":
            return self.computing.fused
        return self.computing.vector and self.rules >= CpuVersion(1, 5)

    @property
    def bounds(self) -> tuple[float, float]:
        """The first two parameters."""
        first, second = self.parameters[:2]
        return first, second

    @property
    def by_mkl(self) -> bool:
        """Whether Intel's library makes this draw."""
        return self.mkl and self.rules.by_mkl(self.distribution)


class CpuSampler(Protocol):
    """How the words of a stream become the values of one call."""

    @property
    def consumed(self) -> int | None:
        """Words that the draw takes; None where that depends on the words themselves."""

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements.

        Args:
            read: the words at positions counted from the draw's first one.
            indices: int64, any shape and order, within the tensor.
        """


def stored(values: NDArray[np.float64], call: CpuCall) -> Values:
    """Doubles as a call's tensor holds them.

    On the way to 16 bits they pass through float32, but for float16 on processors that convert at once
    (Arm; run on the aarch64 build of 2.6.0).
    """
    if call.dtype == "float16" and call.computing.converts:
        return round_to(values, call.dtype)
    return carried(values, call.dtype)


def is_half(dtype: str) -> bool:
    """Whether a dtype is one of the two 16-bit float types."""
    return dtype in ("bfloat16", "float16")


def carried(values: NDArray[Any], dtype: str) -> Values:
    """Computed values as a float tensor of a dtype holds them; doubles pass through float32 to 16 bits."""
    narrow = values if dtype == "float64" else np.asarray(values, np.float32)
    return round_to(narrow, dtype)
