"""NumPy's and Python's seedings against themselves, and against lines that other versions must keep."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.generators.answers import answers
from birthmark.generators.mt19937_words import continued, start, temper
from birthmark.generators.numpy_seeding import (
    array_window,
    digits,
    pool_of,
    pool_of_seed,
    python_window,
    seed_sequence,
    sequence_window,
)

FILE = ("birthmark.generators", "neighbour_answers.txt")


def four(window: np.ndarray) -> list[str]:
    return [f"{word:08x}" for word in temper(continued(window, 4))]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**140), st.lists(st.integers(0, 2**40), max_size=2))
def test_seed_sequences_equal_numpys(seed: int, spawn_key: list[int]) -> None:
    """Seeds of any size, and children that were spawned, hash as NumPy's do."""
    key = tuple(spawn_key)
    expected = np.random.SeedSequence(seed, spawn_key=key).generate_state(9)
    assert np.array_equal(seed_sequence(seed, 9, key), expected)
    if seed < 2**64:
        assert [int(one) for one in pool_of_seed(np.uint64(seed))] == pool_of(digits(seed)).tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(-(2**70), 2**70))
def test_pythons_seeds(seed: int) -> None:
    """Python's generator gives the words of its window, of seeds of any size and sign."""
    generator = random.Random(seed)  # noqa: S311 - it is what is tested
    expected = [generator.getrandbits(32) for _ in range(700)]
    assert temper(continued(python_window(seed), 700)).tolist() == expected


def test_kept_lines() -> None:
    """The lines of the file come out, whatever versions of NumPy and Python run here."""
    for answer in answers(*FILE, "seed-sequence"):
        assert [f"{word:08x}" for word in seed_sequence(answer.numbers[0], 6)] == list(answer.answers)
    for answer in answers(*FILE, "python"):
        assert four(python_window(answer.numbers[0])) == list(answer.answers)
    for answer in answers(*FILE, "mt19937-sequence"):
        assert four(sequence_window(answer.numbers[0])) == list(answer.answers)
    for answer in answers(*FILE, "mt19937-legacy"):
        assert four(start(answer.numbers[0])) == list(answer.answers)
    for answer in answers(*FILE, "mt19937-array"):
        assert four(array_window(np.array(answer.numbers, np.uint32))) == list(answer.answers)


def test_the_three_seedings_differ() -> None:
    """One number under the three seedings gives three streams."""
    assert len({tuple(four(window)) for window in (start(42), python_window(42), sequence_window(42))}) == 3


def test_what_cannot_be_is_refused() -> None:
    """Negative seeds of a SeedSequence and empty keys are refused."""
    with pytest.raises(UsageError, match="seed -1"):
        seed_sequence(-1, 4)
    with pytest.raises(UsageError, match="empty key"):
        array_window(np.zeros(0, np.uint32))
