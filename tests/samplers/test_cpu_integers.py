"""Integer draws against stock torch: ranges, widths, dtypes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.samplers.cpu_draw import CpuDraw

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def agrees(dtype: str, bounds: tuple[int, ...], size: int = 400, seed: int = 3) -> bool:
    """Whether values and the next word are torch's."""
    torch.manual_seed(seed)
    truth = torch.empty(size, dtype=getattr(torch, dtype)).random_(*bounds).double().numpy()
    following = torch.rand(1).item()
    draw = CpuDraw("integers", bounds, size, dtype=dtype)
    after = CpuDraw("uniform", (0.0, 1.0), 1, draw.consumed).values(seed, np.zeros(1, np.int64))
    alike = np.array_equal(draw.values(seed, np.arange(size)).astype(float), truth)
    return alike and after[0] == following


def test_published_values() -> None:
    """`randint(1000)` of seed 42 in torch 2.13."""
    values = CpuDraw("integers", (0, 1000), 9, dtype="int64").values(42, np.arange(9))

    assert values.tolist() == [542, 67, 876, 414, 26, 335, 620, 924, 950]


@pytest.mark.parametrize("dtype", DTYPES)
def test_own_ranges(dtype: str) -> None:
    """`random_()` without bounds draws over the dtype's own range."""
    assert agrees(dtype, ())


@pytest.mark.parametrize("edge", [0, 1, -1])
def test_the_width_changes_at_2_to_the_28th(edge: int) -> None:
    """Ranges of 2^28 - 1, 2^28 and 2^28 + 1 take as many words as torch takes."""
    assert agrees("int64", (-5, (1 << 28) - 5 + edge))
    assert agrees("int32", (-5, (1 << 28) - 5 + edge))


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@settings(deadline=None, max_examples=60)
@given(
    dtype=st.sampled_from(DTYPES[1:]),
    low=st.integers(-(1 << 40), 1 << 40),
    span=st.integers(1, 1 << 41),
    shrink=st.integers(0, 40),
)
def test_any_range_equals_torch(dtype: str, low: int, span: int, shrink: int) -> None:
    """Bounds of any size, those that a float type does not hold too, are drawn as torch draws them."""
    first, last = low >> shrink, (low >> shrink) + (span >> shrink) + 1
    try:
        torch.empty(1, dtype=getattr(torch, dtype)).random_(first, last)
    except RuntimeError:
        return
    assert agrees(dtype, (first, last), size=20)


def test_another_width_is_seen() -> None:
    """Up to 2.6 a range of 2^28 took one word a value: other values than today."""
    bounds = (0, 1 << 28)
    old = CpuDraw("integers", bounds, 50, dtype="int64", version="2.6")
    new = CpuDraw("integers", bounds, 50, dtype="int64")

    assert (old.consumed, new.consumed) == (50, 100)
    assert not np.any(old.values(1, np.arange(50)) == new.values(1, np.arange(50)))


@pytest.mark.parametrize(
    ("dtype", "bounds"), [("int8", (0, 129)), ("uint8", (-1, 3)), ("float16", (0, 70_000)), ("bool", (0, 3))]
)
def test_bounds_beyond_the_dtype_are_refused(dtype: str, bounds: tuple[int, int]) -> None:
    """As torch refuses them."""
    with pytest.raises(UsageError, match=dtype):
        CpuDraw("integers", bounds, 4, dtype=dtype)
