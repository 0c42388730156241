"""Exponential, Cauchy, geometric and Bernoulli draws against stock torch in every dtype."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.samplers.cpu_draw import CpuDraw

FLOATS = ("float32", "float64", "bfloat16", "float16")
WHOLE = (*FLOATS, "int64", "int32", "int16", "int8", "uint8")


def drawn(seed: int, size: int, dtype: str, method: str, *arguments: float) -> NDArray[np.float64]:
    torch.manual_seed(seed)
    tensor = getattr(torch.empty(size, dtype=getattr(torch, dtype)), method)(*arguments)
    values: NDArray[np.float64] = tensor.double().numpy()
    return values


@pytest.mark.parametrize(
    ("distribution", "method", "parameters", "dtypes"),
    [
        ("exponential", "exponential_", (1.7,), FLOATS),
        ("cauchy", "cauchy_", (0.1, 0.2), FLOATS),
        ("geometric", "geometric_", (0.3,), WHOLE),
        ("bernoulli", "bernoulli_", (0.3,), (*WHOLE, "bool")),
    ],
)
def test_every_value_equals_torch(
    distribution: str, method: str, parameters: tuple[float, ...], dtypes: tuple[str, ...]
) -> None:
    """3,000 values in each dtype equal torch's bit for bit; the next seed and the next word do not."""
    every = np.arange(3_000)
    for dtype in dtypes:
        truth = drawn(5, 3_000, dtype, method, *parameters)
        draw = CpuDraw(distribution, parameters, 3_000, dtype=dtype)
        assert np.array_equal(draw.values(5, every).astype(float), truth)
        assert not np.array_equal(draw.values(6, every).astype(float), truth)
        later = CpuDraw(distribution, parameters, 3_000, 1, dtype)
        assert not np.array_equal(later.values(5, every).astype(float), truth)


def test_the_two_logarithms_differ_in_doubles_only() -> None:
    """Up to 1.13 exponentials took log(1 - u): some doubles differ, no float32 does."""
    every = np.arange(2_000)

    def both(dtype: str) -> float:
        old = CpuDraw("exponential", (1.0,), 2_000, dtype=dtype, version="1.13").values(1, every)
        new = CpuDraw("exponential", (1.0,), 2_000, dtype=dtype).values(1, every)
        return float(np.mean(old != new))

    assert 0.01 < both("float64") < 0.5
    assert both("float32") == 0.0


def test_geometric_draws_before_1_6_are_refused() -> None:
    """They meant the chance of failure by p, and are not known."""
    with pytest.raises(UsageError, match="1\\.6"):
        CpuDraw("geometric", (0.3,), 4, version="1.5")
