"""Haiku's keys: one split for each random parameter."""

from __future__ import annotations

import pytest

from birthmark.errors import UsageError
from birthmark.generators.threefry import COUNTERS, Counters, key_of
from birthmark.recipes.haiku import haiku_key


@pytest.mark.parametrize("counters", COUNTERS)
def test_the_first_of_a_split_is_carried_on(counters: Counters) -> None:
    """Parameter 2 is the second key of the split of the first key of the split of the first key."""
    carried = key_of(3).split(2, counters)[0].split(2, counters)[0]
    assert haiku_key(key_of(3), 2, counters) == carried.split(2, counters)[1]


def test_reserved_keys() -> None:
    """With a reserve of two a split into three gives two parameters."""
    first = key_of(3).split(3)
    assert haiku_key(key_of(3), 1, reserve=2) == first[2]
    assert haiku_key(key_of(3), 2, reserve=2) == first[0].split(3)[1]


def test_what_cannot_be_is_refused() -> None:
    """Negative numbers and empty reserves are refused."""
    with pytest.raises(UsageError, match="parameter -1"):
        haiku_key(key_of(0), -1)
    with pytest.raises(UsageError, match="reserve of 0"):
        haiku_key(key_of(0), 0, reserve=0)
