"""Words at any position of an MT19937 stream, against NumPy's implementation and published outputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import MT19937

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import STEPPED, following, moved, window_at, words, words_at
from birthmark.generators.mt19937_words import start

LENGTH = 30_000


def stream(seed: int, count: int) -> np.ndarray:
    """NumPy's outputs after `init_genrand(seed)`."""
    generator = MT19937()
    generator._legacy_seeding(seed)
    return generator.random_raw(count).astype(np.uint32)


STREAM = stream(2024, LENGTH)


def test_published_first_outputs_of_seed_5489() -> None:
    """The first and the 10,000th output of the default seed are those of the C++ standard."""
    assert words(5489, 0, 1)[0] == 3499211612
    assert words(5489, 9_999, 1)[0] == 4123659995


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, LENGTH - 1), max_size=50))
def test_words_at_any_positions_are_those_of_the_stream(positions: list[int]) -> None:
    """Random access in any order, with repeats, equals the stream."""
    wanted = np.array(positions, np.int64)

    assert np.array_equal(words_at(2024, wanted), STREAM[wanted])


def test_shape_of_positions_is_kept() -> None:
    """A matrix of positions gives a matrix of words."""
    positions = np.array([[5, 900], [0, 3]])

    assert np.array_equal(words_at(2024, positions), STREAM[positions])


def test_a_jump_equals_stepping() -> None:
    """A window far ahead through polynomials equals the one that the recurrence reaches."""
    window = start(9)
    far = STEPPED + 1_000
    stepped = moved(moved(moved(window, STEPPED // 2), STEPPED // 2), 1_000)

    assert np.array_equal(moved(window, far), stepped)


def test_two_jumps_add_up() -> None:
    """Jumps of 10^12 and of 10^11 words make one of 1.1 * 10^12."""
    once = window_at(3, 11 * 10**11)

    assert np.array_equal(moved(window_at(3, 10**12), 10**11), once)


def test_positions_across_a_wide_gap() -> None:
    """Positions on both sides of a gap that is jumped give the words of both sides."""
    offsets = np.array([0, 1, 10**9, 10**9 + 700])
    apart = [words(5, int(offset), 1)[0] for offset in offsets]

    assert following(window_at(5, 0), offsets).tolist() == apart


@pytest.mark.parametrize("seed", [42 + 2**32, 42 - 2**32])
def test_seeds_equal_in_their_low_32_bits_are_one(seed: int) -> None:
    """Only the low 32 bits of a seed reach the generator, negative seeds included."""
    assert np.array_equal(words(seed, 0, 10), words(42, 0, 10))


def test_neighbouring_seeds_and_positions_differ() -> None:
    """Seed + 1 and position + 1 share no run of words with the truth."""
    truth = words(42, 100, 50)

    assert not np.any(truth == words(43, 100, 50))
    assert not np.any(truth == words(42, 101, 50))


def test_negative_positions_and_counts_are_refused() -> None:
    """A position before the stream and a negative count are usage errors."""
    with pytest.raises(UsageError, match="position -1"):
        words_at(1, np.array([3, -1]))
    with pytest.raises(UsageError, match="-2 words"):
        words(1, 0, -2)
