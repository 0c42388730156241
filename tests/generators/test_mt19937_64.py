"""The 64-bit Mersenne Twister: the C++ standard's value, seeding through a sequence, any position."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.generators.answers import answers
from birthmark.generators.mt19937_64 import seeded, seeded_by_sequence, words_at

FILE = ("birthmark.generators", "neighbour_answers.txt")


def test_the_value_of_the_standard() -> None:
    """The 10,000th output of the default seed is the one that ISO C++ prints."""
    for answer in answers(*FILE, "mt19937-64"):
        seed, position = answer.numbers
        assert words_at(seeded(np.uint64(seed)), np.array([position]))[0] == int(answer.answers[0])


def test_seeding_through_a_sequence() -> None:
    """A seed_seq of one number seeds as libstdc++'s does, in whatever order outputs are asked for."""
    for answer in answers(*FILE, "mt19937-64-sequence"):
        state = seeded_by_sequence(np.uint32(answer.numbers[0]))
        found = words_at(state, np.array([1003, 2, 1, 0]))
        assert [f"{word:016x}" for word in found[::-1]] == list(answer.answers)
        assert not np.array_equal(state, seeded(np.uint64(answer.numbers[0])))


def test_a_negative_position_is_refused() -> None:
    """Positions count from 0."""
    with pytest.raises(UsageError, match="position -1"):
        words_at(seeded(np.uint64(1)), np.array([3, -1]))
