"""The minimal standard generator: the C++ standard's values, jumps both ways, and states from intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.generators.answers import answers
from birthmark.generators.minstd import (
    MODULUS,
    MULTIPLIER,
    consistent,
    jumped,
    seeds_of,
    state_of,
    words_at,
)

STATE = st.integers(1, MODULUS - 1)


def test_values_of_the_standard() -> None:
    """The 10,000th outputs that ISO C++ prints come out for both multipliers."""
    for answer in answers("birthmark.generators", "neighbour_answers.txt", "minstd"):
        multiplier, seed, position = answer.numbers
        assert words_at(seed, np.array([position]), multiplier)[0] == int(answer.answers[0])


@settings(max_examples=50, deadline=None)
@given(STATE, st.lists(st.integers(0, 10**12), min_size=1, max_size=8))
def test_any_position_is_a_jump(seed: int, positions: list[int]) -> None:
    """An output is the multiplier's power times the seed, and a jump back leads to the seed."""
    found = words_at(seed, np.array(positions))
    for position, word in zip(positions, found.tolist(), strict=True):
        assert word == pow(MULTIPLIER, position + 1, MODULUS) * seed % MODULUS
        assert jumped(word, -position - 1) == seed


@given(STATE)
def test_all_seeds_of_a_state(state: int) -> None:
    """Every seed listed gives the state; there are two, and six for the state 1."""
    assert {state_of(seed) for seed in seeds_of(state)} == {state}
    assert len(seeds_of(state)) == (6 if state == 1 else 2)


@settings(max_examples=20, deadline=None)
@given(STATE, st.integers(0, 10**6))
def test_intervals_leave_the_true_state(seed: int, start: int) -> None:
    """Intervals of 256 around nine words leave the true state alone, though four of them are wrong."""
    positions = start + 37 * np.arange(9)
    words = words_at(seed, positions).astype(np.int64)
    low, high = words - 128, words + 128
    low[5:] += 10**6
    high[5:] += 10**6
    assert consistent(low, high, positions, 4).tolist() == [int(words[0])]
    assert consistent(low, high, positions, 5).tolist() == []


def test_what_cannot_be_is_refused() -> None:
    """Negative positions, a state of 0 and intervals that do not belong together are refused."""
    with pytest.raises(UsageError, match="position"):
        words_at(1, np.array([-1]))
    with pytest.raises(UsageError, match="state 0"):
        jumped(0, 1)
    one = np.array([1])
    with pytest.raises(UsageError, match="intervals"):
        consistent(one, one, one, 1)
