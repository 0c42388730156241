"""From a window anywhere in a stream back to its seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import MT19937

from birthmark.generators.mt19937 import window_at
from birthmark.generators.mt19937_rewind import Origin, origin_of


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), position=st.integers(0, 5_000))
def test_seed_and_position_come_back(seed: int, position: int) -> None:
    """A window gives back the seed and the position that made it."""
    assert origin_of(window_at(seed, position), furthest=10_000) == Origin(seed, position)


@pytest.mark.parametrize("position", [0, 1, 226, 227, 228, 396, 397, 623, 624, 625, 51_738_634])
def test_positions_around_block_borders(position: int) -> None:
    """No place within a block of the walk is missed."""
    assert origin_of(window_at(0, position), furthest=60_000_000) == Origin(0, position)


def test_a_seeding_just_beyond_reach_is_not_found() -> None:
    """The walk stops where it was told to: one position further and there is no answer."""
    window = window_at(11, 3_000)

    assert origin_of(window, furthest=3_000) == Origin(11, 3_000)
    assert origin_of(window, furthest=2_999) is None


def test_noise_has_no_origin() -> None:
    """A window that no seed made gives nothing."""
    noise = np.random.default_rng(5).integers(0, 2**32, 624, dtype=np.uint32)

    assert origin_of(noise, furthest=10**6) is None


def test_another_seeding_of_the_same_generator_has_no_origin() -> None:
    """A stream seeded by an array, as NumPy's SeedSequence does, is not mistaken for an integer seed."""
    raw = np.asarray(MT19937(5).state["state"]["key"], np.uint32)

    assert origin_of(raw, furthest=10**6) is None
