"""CPU normals of 16 and more values against stock torch, and against the published vectors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words, words_at
from birthmark.samplers.cpu_normal import consumed, fill, normal, places

#: torch 2.13.0 CPU with AVX2, seed 42, `normal_()` on 32 floats: the first 16.
PUBLISHED = [
    "0x1.ed4a52p+0", "0x1.7cbea6p+0", "0x1.cd2acep-1", "-0x1.0d81b6p+1", "0x1.5b59aap-1", "-0x1.3c0b22p+0",
    "-0x1.60cf0cp-5", "-0x1.9acb74p+0", "-0x1.8117ep-1", "0x1.a612b6p+0", "-0x1.91e5ecp-2",
    "-0x1.6752ccp+0", "-0x1.74acdcp-1", "-0x1.1e6da2p-1", "-0x1.89a54p-1", "0x1.865f3ep-1",
]  # fmt: skip


def drawn(seed: int, size: int, mean: float, std: float) -> NDArray[np.float32]:
    torch.manual_seed(seed)
    values: NDArray[np.float32] = torch.empty(size).normal_(mean, std).numpy()
    return values


def test_published_values() -> None:
    """The first 16 values of seed 42 are the published ones."""
    assert fill(words(42, 0, 32), 32, 0.0, 1.0)[:16].tolist() == [float.fromhex(text) for text in PUBLISHED]


@pytest.mark.parametrize("size", [16, 17, 19, 31, 32, 33, 47, 100, 4_095, 4_096, 4_097, 200_000, 1_000_000])
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.1, 0.02)])
def test_every_value_equals_torch(size: int, mean: float, std: float) -> None:
    """Sizes around the edges of blocks and large ones equal torch bit for bit."""
    assert np.array_equal(fill(words(42, 0, consumed(size)), size, mean, std), drawn(42, size, mean, std))


@pytest.mark.parametrize("size", [16, 19, 48])
def test_the_next_draw_starts_where_this_one_ends(size: int) -> None:
    """A draw takes as many words as `consumed` says."""
    drawn(6, size, 0.0, 1.0)
    following = torch.empty(1).uniform_().item()

    assert following == (int(words(6, consumed(size), 1)[0]) & 0xFFFFFF) * 2.0**-24


@settings(deadline=None, max_examples=50)
@given(size=st.integers(16, 2_000), data=st.data())
def test_single_values_need_two_words_only(size: int, data: st.DataObject) -> None:
    """Any elements come from the two words that `places` names, equal to the whole draw."""
    indices = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=20)), np.int64)
    radius, angle, sine = places(size, indices)

    values = normal(words_at(8, radius), words_at(8, angle), sine, 0.0, 0.02)

    assert np.array_equal(values, drawn(8, size, 0.0, 0.02)[indices])


@pytest.mark.parametrize("size", [16, 17, 31, 32, 1_000, 4_101])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_draws_are_rounded_and_have_their_own_tail(size: int, dtype: torch.dtype) -> None:
    """torch 2.13 fills 16-bit tensors with rounded values, the last 16 from the words that come next."""
    torch.manual_seed(4)
    truth = torch.empty(size, dtype=dtype).normal_(0.0, 0.02)
    following = torch.empty(1).uniform_().item()
    taken = consumed(size, half=True)
    stream = words(4, 0, taken + 1)

    assert torch.equal(torch.from_numpy(fill(stream, size, 0.0, 0.02, half=True)).to(dtype), truth)
    assert following == (int(stream[taken]) & 0xFFFFFF) * 2.0**-24


def test_a_tail_of_float32_is_not_that_of_half_precision() -> None:
    """With a ragged size the two rules differ in the last 16 values and nowhere else."""
    stream = words(4, 0, 116)
    differs = fill(stream, 100, 0.0, 1.0) != fill(stream, 100, 0.0, 1.0, half=True)

    assert np.flatnonzero(differs).tolist() == list(range(84, 100))


def test_a_wrong_seed_and_a_shifted_stream_agree_nowhere() -> None:
    """Seed + 1 and position + 1 give other values."""
    truth = drawn(42, 1_024, 0.0, 1.0)

    assert not np.any(fill(words(43, 0, 1_024), 1_024, 0.0, 1.0) == truth)
    assert not np.any(fill(words(42, 1, 1_024), 1_024, 0.0, 1.0) == truth)


def test_bad_calls_are_refused() -> None:
    """Small draws, too few words and indices outside the tensor are usage errors."""
    with pytest.raises(UsageError, match="starts at 16"):
        consumed(15)
    with pytest.raises(UsageError, match="expected 33"):
        fill(words(1, 0, 17), 17, 0.0, 1.0)
    with pytest.raises(UsageError, match="16 elements"):
        places(16, np.array([16]))
