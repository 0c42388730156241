"""PCG64 against NumPy: seeding, words, and jumps in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.generators.answers import answers
from birthmark.generators.pcg64 import Pcg64, pcg64_of

FILE = ("birthmark.generators", "neighbour_answers.txt")


def hexadecimal(words: np.ndarray) -> list[str]:
    return [f"{word:016x}" for word in words]


def test_kept_lines() -> None:
    """The first words, among them those that NumPy publishes, and words far away come out."""
    for answer in answers(*FILE, "pcg64"):
        assert hexadecimal(pcg64_of(answer.numbers[0]).words(4)) == list(answer.answers)
    for answer in answers(*FILE, "pcg64-far"):
        seed, position = answer.numbers
        assert hexadecimal(pcg64_of(seed).advanced(position).words(2)) == list(answer.answers)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**80), st.lists(st.integers(0, 2**40), min_size=1, max_size=6))
def test_any_position(seed: int, positions: list[int]) -> None:
    """Words at any positions, in any order, are those that NumPy gives after advancing."""
    found = pcg64_of(seed).words_at(np.array(positions))
    for position, word in zip(positions, found, strict=True):
        stock = np.random.PCG64(seed)
        stock.advance(position)
        assert word == stock.random_raw()


def test_back_and_forth() -> None:
    """Going ahead and back again leads to the same state, and another seed to another."""
    stream = pcg64_of(5)
    assert stream.advanced(10**20).advanced(-(10**20)) == stream
    assert stream.advanced(3).words_at(np.array([-3])) == stream.words(1)
    assert not set(hexadecimal(pcg64_of(6).words(9))) & set(hexadecimal(stream.words(9)))


def test_what_cannot_be_is_refused() -> None:
    """An even increment and a negative count are refused."""
    with pytest.raises(UsageError, match="even increment"):
        Pcg64(1, 2)
    with pytest.raises(UsageError, match="words"):
        pcg64_of(1).words(-1)
