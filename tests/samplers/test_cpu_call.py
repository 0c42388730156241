"""What a CPU call may be."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.cpu_call import CpuCall, stored
from birthmark.samplers.cpu_samplers import sampler_of


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"distribution": "gamma"}, "gamma"),
        ({"arithmetic": "cpu-gpu"}, "cpu-gpu"),
        ({"version": "today"}, "today"),
        ({"dtype": "int8"}, "int8"),
        ({"size": -1}, "-1 elements"),
        ({"parameters": (1.0,)}, "1 parameters"),
        ({"parameters": (float("nan"), 1.0)}, "finite"),
    ],
)
def test_what_is_no_call_is_refused(call: dict[str, object], message: str) -> None:
    """The message names what was wrong."""
    plain: dict[str, object] = {"distribution": "normal", "parameters": (0.0, 1.0), "size": 16}

    with pytest.raises(UsageError, match=message):
        CpuCall(**(plain | call))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("distribution", "parameters"),
    [
        ("normal", (0.0, -1.0)),
        ("uniform", (1.0, 0.0)),
        ("truncated-normal", (0.0, 0.0, -1.0, 1.0)),
        ("truncated-normal", (0.0, 1.0, 1.0, -1.0)),
        ("exponential", (0.0,)),
        ("cauchy", (0.0, 0.0)),
        ("log-normal", (0.0, 0.0)),
        ("geometric", (1.0,)),
        ("bernoulli", (1.5,)),
        ("integers", (3, 3)),
        ("integers", (0.5, 3)),
    ],
)
def test_parameters_that_torch_refuses_are_refused(distribution: str, parameters: tuple[float, ...]) -> None:
    """Whatever the size, and whether it is made in blocks or one by one."""
    for size in (1, 16):
        with pytest.raises(UsageError):
            sampler_of(CpuCall(distribution, parameters, size))


@pytest.mark.parametrize(
    ("distribution", "parameters", "dtype", "version", "arithmetic"),
    [
        ("integers", (0, 1 << 25), "float32", "1.4", "cpu-unfused"),
        ("normal", (0.0, 1.0), "float32", "1.4", "cpu-scalar"),
        ("truncated-normal", (0.0, 1.0, -2.0, 2.0), "bfloat16", "1.7", "cpu-fused"),
        ("geometric", (0.3,), "float32", "1.5", "cpu-unfused"),
    ],
)
def test_what_old_versions_did_otherwise_is_refused(
    distribution: str, parameters: tuple[float, ...], dtype: str, version: str, arithmetic: str
) -> None:
    """Draws that the comparison with old builds left unexplained are not predicted."""
    with pytest.raises(UsageError, match="not known"):
        sampler_of(CpuCall(distribution, parameters, 16, dtype, version, arithmetic))


def test_names_are_suggested() -> None:
    """A near miss names the right one."""
    with pytest.raises(UnknownName, match="truncated-normal"):
        CpuCall("truncated_normal", (0.0, 1.0), 1)


def test_fusing_depends_on_kernel_and_version() -> None:
    """x86 wheels fused uniforms from 1.6 on, other draws from 1.5 on; without AVX2 nothing is fused."""

    def fused(distribution: str, version: str, arithmetic: str) -> bool:
        return CpuCall(distribution, (0.0, 1.0), 1, "float64", version, arithmetic).fused

    assert fused("uniform", "1.6", "cpu-fused")
    assert not fused("uniform", "1.5", "cpu-unfused")
    assert fused("normal", "1.5", "cpu-unfused")
    assert not fused("normal", "1.4", "cpu-unfused")
    assert not fused("normal", "2.12", "cpu-scalar")


def test_arm_rounds_doubles_to_float16_at_once() -> None:
    """A value just above a tie of float16, which float32 rounds onto the tie, goes up on Arm only."""
    tie = np.array([1.0 + 2.0**-11 + 2.0**-40])

    def kept(arithmetic: str) -> float:
        call = CpuCall("cauchy", (0.0, 1.0), 1, "float16", arithmetic=arithmetic)
        return float(stored(tie, call)[0])

    assert kept("cpu-fused") == 1.0
    assert kept("cpu-scalar-fused") == 1.0 + 2.0**-10


@pytest.mark.parametrize(("dtype", "refused"), [("float32", True), ("bfloat16", True), ("float64", False)])
def test_numbers_that_the_dtype_cannot_hold_are_refused(dtype: str, refused: bool) -> None:
    """A mean beyond float32 would make every value infinite."""
    if refused:
        with pytest.raises(UsageError, match="fit float32"):
            CpuCall("normal", (1e39, 1.0), 32, dtype)
    else:
        assert CpuCall("normal", (1e39, 1.0), 32, dtype).parameters == (1e39, 1.0)
