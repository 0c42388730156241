"""Whole CPU draws with random access, against stock torch in every dtype."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.cpu_draw import CpuDraw

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}


@pytest.mark.parametrize(
    ("distribution", "parameters", "dtype"),
    [
        *(("normal", (0.1, 0.02), dtype) for dtype in DTYPES),
        *(("uniform", (-0.1, 0.3), dtype) for dtype in DTYPES),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 7, 16, 1_000, 4_101])
def test_draws_equal_torch_and_end_where_they_say(
    distribution: str, parameters: tuple[float, float], dtype: str, size: int
) -> None:
    """All values equal torch's, and the next word is the one after those consumed."""
    draw = CpuDraw(distribution, parameters, size, 3, dtype)
    torch.manual_seed(9)
    torch.rand(3)
    truth = getattr(torch.empty(size, dtype=DTYPES[dtype]), f"{distribution}_")(*parameters).double().numpy()
    following = torch.rand(1).item()

    assert np.array_equal(draw.values(9, np.arange(size)), truth)
    after = CpuDraw("uniform", (0.0, 1.0), 1, 3 + draw.consumed)
    assert after.values(9, np.zeros(1, np.int64))[0] == following


@settings(deadline=None, max_examples=40)
@given(indices=st.lists(st.integers(0, 10**10 - 1), max_size=10), index=st.integers(0, 10**6))
def test_single_elements_of_a_huge_tensor(indices: list[int], index: int) -> None:
    """Elements of a tensor of 10^10 equal those of a uniform tensor that starts at their own word."""
    draw = CpuDraw("uniform", (-1.0, 1.0), 10**10, index)

    together = draw.values(5, np.array(indices, np.int64))

    for element, value in zip(indices, together.tolist(), strict=True):
        alone = CpuDraw("uniform", (-1.0, 1.0), 1, index + element).values(5, np.zeros(1, np.int64))
        assert alone[0] == value


def test_a_negative_index_reaches_what_the_stream_has() -> None:
    """A tensor that began before the stream is predicted from its first word on, and refused before."""
    late = CpuDraw("uniform", (0.0, 1.0), 10, -4)

    assert late.values(1, np.array([4])) == CpuDraw("uniform", (0.0, 1.0), 1).values(1, np.array([0]))
    with pytest.raises(UsageError, match="position -1"):
        late.values(1, np.array([3]))


def test_unknown_draws_are_refused() -> None:
    """Dtypes, arithmetics, sizes and indices that cannot be are named."""
    with pytest.raises(UsageError, match="int64"):
        CpuDraw("normal", (0.0, 1.0), 16, dtype="int64")
    with pytest.raises(UsageError, match="kept from position -1"):
        CpuDraw("normal", (0.0, 1.0), 3, kept_at=-1)
    with pytest.raises(UnknownName, match="cpu-gpu"):
        CpuDraw("uniform", (0.0, 1.0), 16, arithmetic="cpu-gpu")
    with pytest.raises(UsageError, match="-1 elements"):
        CpuDraw("uniform", (0.0, 1.0), -1)
    with pytest.raises(UsageError, match="16 elements"):
        CpuDraw("uniform", (0.0, 1.0), 16).values(0, np.array([16]))
