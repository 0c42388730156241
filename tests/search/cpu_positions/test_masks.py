"""Output bits as parities of the seeded state: right at any position, and no wider than they need be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import words_at
from birthmark.generators.mt19937_words import seeded
from birthmark.search.cpu_positions.masks import state_masks, words_needed

WORDS = st.integers(0, 2**32 - 1)
NEAR = st.integers(0, 2000)


def parities(seed: int, masks: NDArray[np.uint32]) -> list[int]:
    state = seeded(np.uint32(seed))
    sums = np.bitwise_xor.reduce(state[:, None] & masks, axis=0)
    return [int(each) & 1 for each in np.bitwise_count(sums)]


@given(WORDS, st.lists(st.tuples(NEAR | st.integers(0, 10**12), WORDS), min_size=1, max_size=3))
@settings(max_examples=15, deadline=None)
def test_masks_give_the_parities_of_outputs(seed: int, asked: list[tuple[int, int]]) -> None:
    """Any masked word, anywhere in any seed's stream, has the parity of the masked state."""
    positions = np.array([position for position, _ in asked], np.int64)
    outputs = np.array([mask for _, mask in asked], np.uint32)

    masks = state_masks(positions, outputs)

    expected = np.bitwise_count(words_at(seed, positions) & outputs) & 1
    assert parities(seed, masks) == expected.tolist()


def test_a_position_off_by_one_has_other_parities() -> None:
    """The masks of one position do not describe the next word."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    masks = state_masks(np.full(32, 1000), bits)

    following = (words_at(42, np.array([1001])) & bits != 0).astype(int)
    assert parities(42, masks) != following.tolist()


@pytest.mark.parametrize("position", [0, 100, 226])
def test_early_words_need_a_part_of_the_state(position: int) -> None:
    """The first words are made of the first ones of the state and of those 397 places on."""
    masks = state_masks(np.array([position]), np.array([0xFFFFFFFF], np.uint32))

    assert words_needed(masks) == position + 398
    assert words_needed(np.zeros_like(masks)) == 1


def test_wrong_calls_are_refused() -> None:
    """Negative positions and arrays of two lengths are usage errors; nothing asked is nothing made."""
    one = np.ones(1, np.uint32)
    with pytest.raises(UsageError, match="count from 0"):
        state_masks(np.array([-1]), one)
    with pytest.raises(UsageError, match="one for each"):
        state_masks(np.array([1, 2]), one)
    assert state_masks(np.zeros(0, np.int64), one[:0]).shape == (624, 0)
