"""From standard to stored values: fused, rounded once, with the end points of each torch version."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName
from birthmark.numerics.dtypes import interval, round_to
from birthmark.samplers.fill import finish
from birthmark.samplers.scaling import scaled, scaling

DTYPES = ("float32", "float16", "bfloat16", "float64")


def test_normal_is_one_fused_operation() -> None:
    """z * std + mean is rounded once; multiplying first gives another float32."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=5000).astype(np.float32)
    mean, std = np.float32(0.3), np.float32(0.02)
    found = finish("normal", z, (0.3, 0.02), "float32")
    exact = [Fraction(float(v)) * Fraction(float(std)) + Fraction(float(mean)) for v in z]
    lo, hi = interval(found, "float32")
    assert all(
        Fraction(low) <= value <= Fraction(high) for low, value, high in zip(lo, exact, hi, strict=True)
    )
    assert np.mean(found != z * std + mean) > 0.01


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_normals_are_float32_normals_rounded_once(dtype: str) -> None:
    """Mean and standard deviation stay float32; only the result is rounded."""
    z = np.random.default_rng(1).normal(size=20_000).astype(np.float32)
    wide = finish("normal", z, (0.1, 0.02), "float32")
    assert np.array_equal(finish("normal", z, (0.1, 0.02), dtype), round_to(wide, dtype))
    rounded_first = (float(round_to(np.array([p], np.float64), dtype)[0]) for p in (0.1, 0.02))
    mean, std = rounded_first
    assert not np.array_equal(finish("normal", z, (mean, std), dtype), round_to(wide, dtype))


def test_the_published_bfloat16_bounds() -> None:
    """uniform_(-0.1, 0.3) in bfloat16: low, high and range are each rounded to bfloat16."""
    constants = scaling("uniform", (-0.1, 0.3), "bfloat16")
    found = [float(value) for value in (constants.shift, constants.top, constants.factor)]
    assert found == [-0.10009765625, 0.30078125, 0.400390625]
    normal = scaling("normal", (-0.1, 0.3), "bfloat16")
    assert (normal.shift, normal.factor) == (np.float32(-0.1), np.float32(0.3))
    assert np.isnan(normal.top)


@pytest.mark.parametrize("dtype", DTYPES)
def test_upper_end_becomes_the_lower_one_from_2_1_on(dtype: str) -> None:
    """u = 1 gives low in both versions, and a value that rounds up to high gives low only from 2.1 on."""
    real = np.float64 if dtype == "float64" else np.float32
    u = np.asarray([1.0, np.nextafter(real(1), real(0)), 0.5], real)
    high = float(round_to(np.array([0.02], np.float64), dtype)[0])
    new, old = (finish("uniform", u, (-0.02, 0.02), dtype, version) for version in ("2.1+", "2.0-"))
    assert new[0] == old[0] == -high
    assert high not in new
    if dtype in ("float16", "bfloat16"):
        assert (new[1], old[1]) == (-high, high)
    assert new[2] == old[2]


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_an_inexact_range_may_miss_the_upper_end(dtype: str) -> None:
    """low + (high - low) with a rounded range need not be high; such a value stays, as it does in torch."""
    u = np.ones(1, np.float64 if dtype == "float64" else np.float32)
    (value,) = finish("uniform", u, (-0.1, 0.3), dtype).tolist()
    low, high = (float(v) for v in round_to(np.array([-0.1, 0.3], np.float64), dtype))
    assert value not in (low, high)
    assert value == pytest.approx(high, rel=1e-3)


def test_end_points_are_a_noticeable_share_in_bfloat16() -> None:
    """A few thousandths of bfloat16 uniforms on (-1, 1) move from the upper to the lower end."""
    u = (np.arange(1, 100_001) / 100_000).astype(np.float32)
    new, old = (finish("uniform", u, (-1.0, 1.0), "bfloat16", version) for version in ("2.1+", "2.0-"))
    assert 0.0005 < np.mean(new != old) < 0.005
    assert set(new[new != old].tolist()) == {-1.0}
    assert set(old[new != old].tolist()) == {1.0}


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.sampled_from(["float16", "bfloat16"]))
def test_bounds_round_as_torch_rounds_python_numbers(a: float, b: float, dtype: str) -> None:
    """Bounds become the dtype as a Python number in a tensor does, and so does their difference."""
    kind = getattr(torch, dtype)
    low, high = torch.tensor(a, dtype=kind), torch.tensor(b, dtype=kind)
    constants = scaling("uniform", (a, b), dtype)
    assert constants.shift == low.float().item()
    assert constants.top == high.float().item()
    assert constants.factor == (high - low).float().item()


def test_one_value_and_many_agree() -> None:
    """The scalar that kernels call is what `finish` does to arrays."""
    u = np.random.default_rng(2).random(50, np.float32)
    constants = scaling("uniform", (-0.02, 0.02), "bfloat16")
    assert [float(scaled(v, constants)) for v in u] == finish(
        "uniform", u, (-0.02, 0.02), "bfloat16"
    ).tolist()


def test_shapes_and_types() -> None:
    """Results keep the shape; float64 draws stay float64; inputs are left as they were."""
    z = np.array([[0.5, -1.5]], np.float32)
    z.setflags(write=False)
    assert finish("normal", z, (0.0, 2.0), "float32").tolist() == [[1.0, -3.0]]
    assert finish("normal", z.astype(np.float64), (0.0, 2.0), "float64").dtype == np.float64
    assert z.tolist() == [[0.5, -1.5]]


def test_unknown_names_are_refused() -> None:
    """Distribution, dtype and version are checked by name."""
    z = np.zeros(1, np.float32)
    with pytest.raises(UnknownName, match="normal"):
        finish("norma", z, (0.0, 1.0), "float32")
    with pytest.raises(UnknownName, match="float32"):
        finish("normal", z, (0.0, 1.0), "float23")
    with pytest.raises(UnknownName, match=r"2\.1\+"):
        finish("uniform", z, (0.0, 1.0), "float32", "2.1")
