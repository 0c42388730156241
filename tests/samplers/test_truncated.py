"""Truncated normals: five rounded steps against torch's own operators, then redraws, ends and refusals."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import UnknownName
from birthmark.numerics.dtypes import round_to
from birthmark.numerics.erfinv import FROM_CUDA_13, UP_TO_CUDA_12, erfinvf
from birthmark.samplers.fill import finish, standard_range, stored_range
from birthmark.samplers.storing import source_of, standard
from birthmark.samplers.truncated import VERSIONS, masses, truncated, truncation

TRUNCATED = "truncated-normal"
BOUNDS = {2: (-0.04, 0.04), 3: (-0.06, 0.06), 100: (-2.0, 2.0)}


@numba.njit  # type: ignore[untyped-decorator]
def inverses(a: NDArray[np.float32], tail: np.uint32) -> NDArray[np.float32]:
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = erfinvf(a[i], tail)
    return out


def units(n: int) -> NDArray[np.float32]:
    """Uniforms in (0, 1] as words make them, with both ends."""
    words = np.random.default_rng(5).integers(0, 2**32, n, dtype=np.uint32)
    words[:4] = 0, 2**32 - 1, 2**32 - 128, 2**31
    return np.asarray(words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33), np.float32)


def by_torch(
    u: NDArray[np.float32],
    parameters: tuple[float, ...],
    dtype: str,
    *,
    old: bool = False,
    tail: Any = UP_TO_CUDA_12,
) -> NDArray[np.float32]:
    """`trunc_normal_` up to 2.11 step by step on tensors of the dtype; erfinv alone is birthmark's.

    Torch's CPU operators round each step as the GPU's do. The uniforms go in by hand, with CUDA's rule for
    the ends.
    """
    mean, std, a, b = parameters
    kind = getattr(torch, dtype)
    below, up_to = ((1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0 for x in (a, b))
    low, high = (torch.tensor(2 * x - 1, dtype=kind) for x in (below, up_to))
    span = (high - low).double()
    raw = torch.from_numpy(u).double()
    if old:
        raw = torch.where(raw == 1, torch.zeros_like(raw), raw)
    # In doubles the product is exact and the sum nearly so: one rounding to float32, as a fused step has.
    tensor = (raw * span + low.double()).float().to(kind)
    if not old:
        tensor = torch.where(tensor == high, low, tensor)
    inverse = torch.from_numpy(inverses(tensor.float().numpy(), tail)).to(kind)
    inverse.mul_(std * math.sqrt(2.0))
    # On the CPU the mean is rounded to a 16-bit dtype first, on CUDA it is not.
    moved = (inverse.float() + torch.tensor(mean, dtype=torch.float32)).to(kind)
    found: NDArray[np.float32] = moved.clamp_(min=a, max=b).float().numpy()
    return found


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("sigmas", BOUNDS)
@pytest.mark.parametrize("mean", [0.0, 0.013])
@pytest.mark.parametrize("version", ["2.1+", "2.1+cuda13", "2.0-"])
def test_five_steps_round_as_torch_rounds_them(dtype: str, sigmas: int, mean: float, version: str) -> None:
    """Bit for bit what stock torch's own operators give for the same uniforms, in every dtype."""
    u = units(20_000)
    parameters = (mean, 0.02, *BOUNDS[sigmas])
    tail = FROM_CUDA_13 if version == "2.1+cuda13" else UP_TO_CUDA_12
    expected = by_torch(u, parameters, dtype, old=version == "2.0-", tail=tail)
    found = finish(TRUNCATED, u, parameters, dtype, version)
    assert np.array_equal(found, expected)
    assert np.array_equal(round_to(found, dtype), found)


def test_each_step_must_round() -> None:
    """Rounding once at the end gives other bfloat16 values: a quarter and more of them."""
    u = units(20_000)
    once = round_to(finish(TRUNCATED, u, (0.0, 0.02, -0.06, 0.06), "float32"), "bfloat16")
    assert np.mean(once != finish(TRUNCATED, u, (0.0, 0.02, -0.06, 0.06), "bfloat16")) > 0.25


def test_double_draws_are_the_formula_in_doubles() -> None:
    """A float64 draw is the five steps in doubles."""
    u = np.random.default_rng(6).random(5000)
    found = finish(TRUNCATED, u, (0.1, 0.5, -0.3, 0.9), "float64")
    low, high = (2 * mass - 1 for mass in masses((0.1, 0.5, -0.3, 0.9)))
    tensor = torch.from_numpy(u * (high - low) + low).erfinv_().mul_(0.5 * math.sqrt(2.0)).add_(0.1)
    assert np.allclose(found, tensor.clamp_(-0.3, 0.9).numpy(), rtol=1e-12, atol=1e-15)


def test_far_bounds_collect_what_the_uniform_rounds_to_one() -> None:
    """With bounds at 100 sigma a bfloat16 draw has 2 values in 1,000 at the lower bound, from 2.1 on."""
    u = np.asarray((np.arange(1 << 17) + 0.5) / (1 << 17), np.float32)
    new, old = (finish(TRUNCATED, u, (0.0, 0.02, -2.0, 2.0), "bfloat16", v) for v in ("2.1+", "2.0-"))
    assert set(new[np.abs(new) > 0.2].tolist()) == {-2.0}
    assert 0.0015 < np.mean(new == -2.0) < 0.0025
    assert {-2.0, 2.0} < set(old.tolist())
    wide = finish(TRUNCATED, u, (0.0, 0.02, -2.0, 2.0), "float32")
    assert np.abs(wide).max() < 0.11


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-3, 3),
    st.floats(1e-4, 3),
    st.floats(-4, 4),
    st.floats(0, 6),
    st.sampled_from(["float32", "float16", "bfloat16", "float64"]),
    st.sampled_from(VERSIONS[:-1]),
)
def test_values_lie_within_bounds_and_rise_with_the_uniform(
    mean: float, std: float, low: float, width: float, dtype: str, version: str
) -> None:
    """Nothing leaves [a, b] as the dtype rounds it; but at the ends larger uniforms give no less."""
    parameters = (mean, std, mean + low * std, mean + (low + width) * std)
    u = np.linspace(0.001, 0.999, 400).astype(np.float64 if dtype == "float64" else np.float32)
    values = finish(TRUNCATED, u, parameters, dtype, version)
    ends = round_to(np.asarray(parameters[2:]).astype(u.dtype), dtype)
    assert ends[0] <= values.min() <= values.max() <= ends[1]
    z = standard(TRUNCATED, parameters, u, dtype, version)
    assert z.dtype == u.dtype
    assert np.isfinite(z).all()
    inside = values[values < ends[1]]
    top = np.spacing(np.abs(values).max()) * (4 if u.dtype == np.float32 else 64)
    if dtype in ("float32", "float64"):
        assert np.all(np.diff(inside[1:-1]) >= -top)


def test_standard_values_have_the_truncated_spread() -> None:
    """Between 2 and 3 sigma cut off the std of what remains is 0.880 and 0.987 of the nominal one."""
    u = np.asarray((np.arange(100_000) + 0.5) / 100_000, np.float32)
    for sigmas, spread in ((2, 0.8796), (3, 0.9866), (100, 1.0)):
        z = standard(TRUNCATED, (0.0, 0.02, *BOUNDS[sigmas]), u, "float32", "2.1+")
        assert float(z.std()) == pytest.approx(spread, abs=5e-4)
        assert np.abs(z).max() <= min(sigmas, 5) + 1e-6


def test_standard_values_stay_finite_where_erfinv_is_not() -> None:
    """A uniform at the very end has the standard value of the bound, not infinity."""
    z = standard(TRUNCATED, (0.0, 0.02, -2.0, 2.0), np.ones(1, np.float32), "float32", "2.1+")
    assert z.tolist() == [-100.0]


def test_one_value_and_many_agree() -> None:
    """The scalar that kernels call is what `finish` does to arrays."""
    u = units(50)
    constants = truncation((0.0, 0.02, -0.06, 0.06), "bfloat16", "2.1+")
    many = finish(TRUNCATED, u, (0.0, 0.02, -0.06, 0.06), "bfloat16")
    assert [float(truncated(v, constants)) for v in u] == many.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("version", VERSIONS)
def test_stored_runs_are_finished_raw_runs(dtype: str, version: str) -> None:
    """One pass gives what two give, in every dtype and version; from 2.12 on it is the first draw."""
    parameters = (0.1, 0.5, -0.7, 0.9)
    source = source_of(TRUNCATED, version)
    arithmetic = "nvidia-volta+"
    raw = standard_range(source, 1, 1024, 100, 9000, arithmetic, double=dtype == "float64")
    found = stored_range(TRUNCATED, parameters, dtype, 1, 1024, 100, 9000, arithmetic, version=version)
    assert found.tobytes() == finish(TRUNCATED, raw, parameters, dtype, version).tobytes()
    if version == "2.12+":
        normal = stored_range("normal", parameters[:2], dtype, 1, 1024, 100, 9000, arithmetic)
        assert found.tobytes() == normal.tobytes()


def test_unknown_versions_are_refused() -> None:
    """Versions go by name."""
    with pytest.raises(UnknownName, match="version"):
        finish(TRUNCATED, np.zeros(1, np.float32), (0.0, 1.0, -2.0, 2.0), "float32", "2.11")
    with pytest.raises(UnknownName, match="truncated"):
        finish("truncated", np.zeros(1, np.float32), (0.0, 1.0, -2.0, 2.0), "float32")
