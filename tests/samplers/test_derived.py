"""Log-normal, Cauchy and geometric draws: near their formulas, exact where they must be, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw

UNITS = np.random.default_rng(1).random(20_000).astype(np.float32)


def test_log_normals_are_exponentials_of_the_normal_draw() -> None:
    """Each value is near the exponential of what normal_ of the same place stores."""
    size = 5000
    normal = CudaDraw(Draw("normal", (0.5, 0.25), (size,)), size, 1024).run(3)
    found = CudaDraw(LogNormal(0.5, 0.25), size, 1024).run(3)
    assert np.allclose(found, np.exp(normal.astype(np.float64)), rtol=1e-6)
    assert not np.allclose(found, CudaDraw(LogNormal(0.5, 0.25), size, 1024).run(4), rtol=0.1)
    half = CudaDraw(LogNormal(0.5, 0.25, "bfloat16"), size, 1024).run(3)
    assert np.allclose(half, found, rtol=2**-8)
    double = CudaDraw(LogNormal(0.5, 0.25, "float64"), size, 1024).run(3)
    wide = CudaDraw(Draw("normal", (0.5, 0.25), (size,), "float64"), size, 1024).run(3)
    assert np.allclose(double, np.exp(wide), rtol=1e-15)


def test_cauchys_are_tangents() -> None:
    """Near the formula where it is well conditioned, finite at both ends, odd about the median."""
    inner = UNITS[np.abs(UNITS - 0.5) < 0.4]
    exact = 1 + 2 * np.tan(np.pi * (inner.astype(np.float64) - 0.5))
    assert np.allclose(Cauchy(1.0, 2.0).finish(inner), exact, rtol=1e-5, atol=5e-6)
    ends = Cauchy().finish(np.array([2.0**-33, 1.0, 0.5], np.float32))
    assert np.isfinite(ends).all()
    assert ends[0] < -1e6 < 1e6 < ends[1]
    assert ends[2] == 0
    double = Cauchy(1.0, 2.0, "float64").finish(inner.astype(np.float64))
    assert np.allclose(double, exact, rtol=1e-12)


def test_geometrics_count_trials() -> None:
    """Near the formula but where it is a whole number; integer and float dtypes agree."""
    exact = np.log(UNITS.astype(np.float64)) / np.log1p(-0.3)
    clear = np.abs(exact - np.round(exact)) > 1e-5
    found = Geometric(0.3).finish(UNITS)
    assert np.array_equal(found[clear], np.ceil(exact[clear]).astype(np.float32))
    assert found.min() >= 0
    assert np.array_equal(Geometric(0.3, "int64").finish(UNITS), found.astype(np.int64))
    double = Geometric(0.3, "float64").finish(UNITS.astype(np.float64))
    assert np.array_equal(double[clear], np.ceil(exact[clear]))
    assert not np.array_equal(Geometric(0.31).finish(UNITS), found)


def test_a_count_that_does_not_fit_is_refused() -> None:
    """What a GPU stores for a count beyond the dtype is not guessed."""
    with pytest.raises(UsageError, match="more than uint8 holds"):
        Geometric(0.001, "uint8").finish(UNITS)


@pytest.mark.parametrize(
    ("kind", "change", "error"),
    [
        (LogNormal, {"std": 0.0}, UsageError),
        (LogNormal, {"mean": float("nan")}, UsageError),
        (LogNormal, {"dtype": "int8"}, UnknownName),
        (Cauchy, {"sigma": -1.0}, UsageError),
        (Cauchy, {"median": float("inf")}, UsageError),
        (Cauchy, {"dtype": "int8"}, UnknownName),
        (Geometric, {"p": 0.0}, UsageError),
        (Geometric, {"p": 1.0}, UsageError),
        (Geometric, {"p": 0.5, "dtype": "bool"}, UnknownName),
    ],
)
def test_impossible_draws_are_refused(kind: Any, change: dict[str, Any], error: type[Exception]) -> None:
    """A parameter or dtype that cannot be is an error at once."""
    with pytest.raises(error):
        kind(**change)


@pytest.mark.parametrize(
    ("sampler", "width", "unroll"),
    [
        (LogNormal(dtype="float16"), 2, 4),
        (LogNormal(dtype="float64"), 8, 2),
        (Cauchy(), 4, 4),
        (Cauchy(dtype="float64"), 8, 2),
        (Geometric(0.5, "int64"), 8, 4),
        (Geometric(0.5, "float64"), 8, 2),
        (Geometric(0.5, "uint8"), 1, 4),
    ],
)
def test_widths_and_unrolls(sampler: Any, width: int, unroll: int) -> None:
    """The stored dtype decides the split, float64 alone the words of a value."""
    assert (sampler.width, sampler.unroll) == (width, unroll)
