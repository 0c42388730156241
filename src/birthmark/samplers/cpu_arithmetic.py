"""The arithmetics of CPU builds: which kernel runs, and whether the compiler fused multiply and add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from birthmark.errors import UnknownName


@dataclass(frozen=True, slots=True)
class CpuArithmetic:
    """How a build of PyTorch computes on the processor at hand.

    Attributes:
        name: what it goes by.
        vector: whether float32 normals run through the AVX2 kernel.
        fused: whether the compiler contracted a product and a sum to one operation with one rounding.
        converts: whether the processor rounds a double to float16 at once, rather than by way of float32.
    """

    name: str
    vector: bool
    fused: bool
    converts: bool = False


#: "cpu-fused": the official x86 wheels from 1.6 on, on any machine with AVX2. "cpu-unfused": those up to 1.5,
#: whose uniforms round twice; their normals are those of the AVX2 kernel. "cpu-scalar": x86 without AVX2, or
#: ATEN_CPU_CAPABILITY=default. "cpu-scalar-fused": processors whose plain instructions fuse, such as Arm.
ARITHMETICS: Final[dict[str, CpuArithmetic]] = {
    arithmetic.name: arithmetic
    for arithmetic in (
        CpuArithmetic("cpu-fused", vector=True, fused=True),
        CpuArithmetic("cpu-unfused", vector=True, fused=False),
        CpuArithmetic("cpu-scalar", vector=False, fused=False),
        CpuArithmetic("cpu-scalar-fused", vector=False, fused=True, converts=True),
    )
}


def arithmetic_of(name: str) -> CpuArithmetic:
    """The arithmetic of a name.

    Raises:
        UnknownName: no arithmetic has that name.
    """
    try:
        return ARITHMETICS[name]
    except KeyError:
        raise UnknownName("CPU arithmetic", name, ARITHMETICS) from None
