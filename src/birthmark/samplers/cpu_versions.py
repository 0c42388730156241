"""What PyTorch's CPU generator did in which version: the rules that differ, each under its own name.

Read from pytorch `aten/src/ATen/core/DistributionsHelper.h`, `TransformationHelper.h` and
`aten/src/ATen/native/cpu/DistributionTemplates.h`, and run on the x86 builds that
`cpu_known_answers.txt` names, on an Intel machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from birthmark.errors import UsageError

#: The newest version whose draws were compared, and the default everywhere.
NEWEST: Final = "2.13"

_FORM = re.compile(r"(\d{1,3})\.(\d{1,3})(?:[.+\-a-z].*)?")
#: Dtypes for which ranges of 2^32 and more took two words before 2.7; the others never did.
_ONCE_WIDE: Final = frozenset({"int64", "float64", "float32", "bfloat16"})


@dataclass(frozen=True, slots=True, order=True)
class CpuVersion:
    """A version of PyTorch, as far as its CPU draws depend on it.

    Attributes:
        major: the first number.
        minor: the second number; patch releases and builds draw alike.
    """

    major: int
    minor: int

    @property
    def wheels(self) -> str:
        """The arithmetic of the official x86 wheels on processors with AVX2: fused from 1.6 on."""
        return "cpu-fused" if self >= CpuVersion(1, 6) else "cpu-unfused"

    @property
    def one_minus(self) -> bool:
        """Whether logarithms are taken of 1 - u, rounded, rather than by log1p (up to 1.13)."""
        return self < CpuVersion(2, 0)

    @property
    def half(self) -> Literal["narrow", "scalar", "vector"]:
        """How 16-bit normals of 16 and more values are made.

        "narrow": every quantity is of the 16-bit type, uniforms included (up to 2.11). "scalar": float32 by
        the C library, mean and deviation rounded to the type (2.12). "vector": as float32 tensors (2.13 on).
        """
        if self < CpuVersion(2, 12):
            return "narrow"
        return "scalar" if self < CpuVersion(2, 13) else "vector"

    @property
    def half_functions(self) -> bool:
        """Whether logarithm, root, sine and cosine of a float16 are float16 (2.1 on), not float32."""
        return self >= CpuVersion(2, 1)

    @property
    def wide_factor(self) -> bool:
        """Whether 16-bit tensors are multiplied with a number as float32 (2.1 on), not as their own type."""
        return self >= CpuVersion(2, 1)

    @property
    def narrow_uniform(self) -> bool:
        """Whether 16-bit uniforms have only as many random bits as the type has (up to 2.11)."""
        return self < CpuVersion(2, 12)

    @property
    def open_end(self) -> bool:
        """Whether a uniform that rounds up to the upper bound becomes the lower one (2.12 on)."""
        return self >= CpuVersion(2, 12)

    @property
    def fuses_itself(self) -> bool:
        """Whether the scalar normal asks for a fused last step, whatever the compiler does (2.13 on)."""
        return self >= CpuVersion(2, 13)

    @property
    def redraws(self) -> bool:
        """Whether `trunc_normal_` draws again what lies out of bounds, instead of inverting (2.12 on)."""
        return self >= CpuVersion(2, 12)

    def wide(self, span: int, dtype: str) -> bool:
        """Whether integers out of `span` values take two words each."""
        if self < CpuVersion(2, 7):
            return span >= 1 << 32 and dtype in _ONCE_WIDE
        return span >= 1 << 28

    def by_mkl(self, distribution: str) -> bool:
        """Whether builds with MKL left a distribution to it on Intel processors.

        Bernoulli draws with one probability up to 2.6, exponential ones from 2.0 to 2.6.
        """
        if self >= CpuVersion(2, 7):
            return False
        return distribution == "bernoulli" or (distribution == "exponential" and self >= CpuVersion(2, 0))


def version_of(text: str) -> CpuVersion:
    """The version that a text such as "2.13", "2.13.0+cpu" or "1.13.1" names.

    Raises:
        UsageError: no version of that form.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"PyTorch version {text!r}: expected two numbers such as {NEWEST}.")
    return CpuVersion(int(found[1]), int(found[2]))
