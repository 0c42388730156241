"""Paddle's GPU draws: PyTorch's layout, its own offsets, with and without the split of huge tensors."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.samplers.paddle_gpu import PaddleGpuDraw

HUGE = 128_256 * 8192


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_ordinary_tensors_are_pytorchs(distribution: Literal["normal", "uniform"]) -> None:
    """Several waves of a float32 draw equal PyTorch's up to 2.0 on the same device and offset."""
    size, indices = 300_000, np.array([0, 5, 65_535, 65_536, 262_144, 299_999])
    version = "2.0-" if distribution == "uniform" else "2.1+"
    torch = Hypothesis(Draw(distribution, (0.0, 0.02), (size,), "float32", version), 65_536, offset=8)
    paddle = PaddleGpuDraw(distribution, (0.0, 0.02), size, 65_536, offset=8)
    assert np.array_equal(paddle.values(5, indices), torch.values(5, indices))
    assert paddle.end_offset == torch.end_offset
    assert not np.any(PaddleGpuDraw(distribution, (0.0, 0.02), size, 66_048).values(5, indices[4:])
                      == torch.values(5, indices[4:]))  # fmt: skip


def test_huge_tensors_before_and_after_the_split() -> None:
    """Split, a tensor beyond 2 GiB is PyTorch's; unsplit, its offset moves by a half and values differ."""
    indices = np.array([0, 525_336_575, 525_336_576, HUGE - 1])
    torch = Hypothesis(Draw("normal", (0.0, 0.02), (HUGE,)), 270_336)
    split, whole = (PaddleGpuDraw("normal", (0.0, 0.02), HUGE, 270_336, split=one) for one in (True, False))
    assert np.array_equal(split.values(5, indices), torch.values(5, indices))
    assert (split.end_offset, whole.end_offset) == (7776, 3888)
    assert not np.any(split.values(5, indices) == whole.values(5, indices))


def test_doubles_move_the_offset_as_if_four_came_from_a_call() -> None:
    """The values of a double draw are PyTorch's, its end is that of a float draw."""
    double, single = (
        PaddleGpuDraw("normal", (0.0, 1.0), 10**6, 65_536, dtype=dtype) for dtype in ("float64", "float32")
    )
    torch = Hypothesis(Draw("normal", (0.0, 1.0), (10**6,), "float64"), 65_536)
    assert np.array_equal(
        double.values(1, np.arange(0, 10**6, 9973)), torch.values(1, np.arange(0, 10**6, 9973))
    )
    assert double.end_offset == single.end_offset < torch.end_offset


def test_what_cannot_be_is_refused() -> None:
    """Thread counts, offsets and elements that cannot be are refused."""
    with pytest.raises(UsageError, match="threads"):
        PaddleGpuDraw("normal", (0.0, 1.0), 4, 100)
    with pytest.raises(UsageError, match="offset 2"):
        PaddleGpuDraw("normal", (0.0, 1.0), 4, 256, offset=2)
    with pytest.raises(UsageError, match="index"):
        PaddleGpuDraw("normal", (0.0, 1.0), 4, 256).values(1, np.array([4]))
