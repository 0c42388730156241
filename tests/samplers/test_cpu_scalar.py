"""CPU normals of fewer than 16 values, and the value that stays in the generator, against stock torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words
from birthmark.samplers import cpu_normal
from birthmark.samplers.cpu_scalar import consumed, draw

#: torch 2.13.0 CPU, seed 42, `normal_()` on 8 floats.
PUBLISHED = [
    "0x1.58c55cp-2", "0x1.07cd3ap-3", "0x1.e02dcep-3", "0x1.d7b8d8p-3", "-0x1.1f7384p+0", "-0x1.7d99bp-3",
    "0x1.1aa658p+1", "-0x1.46a78cp-1",
]  # fmt: skip


def test_published_values() -> None:
    """The 8 values of seed 42 are the published ones."""
    assert draw(words(42, 0, 16), 8, 0.0, 1.0).values.tolist() == [float.fromhex(text) for text in PUBLISHED]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(0, 40), max_size=8))
def test_a_chain_of_draws_equals_torch(seed: int, sizes: list[int]) -> None:
    """Small and large draws in a row equal torch, the kept value passing over the large ones."""
    torch.manual_seed(seed)
    at, kept = 0, None
    for size in sizes:
        truth = torch.empty(size).normal_(0.05, 0.02).numpy()
        if size >= cpu_normal.BLOCK:
            taken = cpu_normal.consumed(size)
            values = cpu_normal.fill(words(seed, at, taken), size, 0.05, 0.02)
        else:
            expected = consumed(size, kept=kept is not None)
            small = draw(words(seed, at, 64), size, 0.05, 0.02, kept)
            values, taken, kept = small.values, small.consumed, small.kept
            assert expected == (taken, kept is not None)
        at += taken
        assert np.array_equal(values, truth)


def test_forgetting_the_kept_value_is_seen() -> None:
    """A second draw that ignores what the first one left gives other values."""
    torch.manual_seed(1)
    torch.empty(3).normal_()
    truth = torch.empty(3).normal_().numpy()
    first = draw(words(1, 0, 8), 3, 0.0, 1.0)

    assert np.array_equal(draw(words(1, 8, 8), 3, 0.0, 1.0, first.kept).values, truth)
    assert not np.any(draw(words(1, 8, 8), 3, 0.0, 1.0).values == truth)


def test_too_few_words_are_refused() -> None:
    """Three values need eight words."""
    with pytest.raises(UsageError, match="expected 8"):
        draw(words(1, 0, 7), 3, 0.0, 1.0)
