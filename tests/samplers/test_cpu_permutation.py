"""Permutations against stock torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_permutation import LARGE, permutation


def test_published_values() -> None:
    """`randperm(10)` of seed 42 in torch 2.13."""
    assert permutation(words(42, 0, 9), 10).tolist() == [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]


@pytest.mark.parametrize("size", [0, 1, 2, 623, 70_000])
def test_every_value_equals_torch(size: int) -> None:
    """All sizes, and the words that they take."""
    torch.manual_seed(8)
    truth, following = torch.randperm(size).numpy(), torch.rand(1).item()
    draw = CpuDraw("permutation", (), size, dtype="int64")
    after = CpuDraw("uniform", (0.0, 1.0), 1, draw.consumed)

    assert np.array_equal(draw.values(8, np.arange(size)), truth)
    assert after.values(8, np.zeros(1, np.int64))[0] == following
    assert size < 3 or not np.array_equal(draw.values(9, np.arange(size)), truth)


def test_huge_ones_say_their_words_and_no_values() -> None:
    """From a twentieth of 2^32 elements on two words an element, and values are refused."""
    draw = CpuDraw("permutation", (), LARGE, dtype="int64")

    assert draw.consumed == 2 * LARGE
    with pytest.raises(UsageError, match="fewer than"):
        permutation(np.zeros(0, np.uint32), LARGE)
    with pytest.raises(UsageError, match="expected 9"):
        permutation(words(1, 0, 8), 10)
    with pytest.raises(UsageError, match="at most 127"):
        CpuDraw("permutation", (), 200, dtype="int8")
