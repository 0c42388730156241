"""NumPy's bounded integers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.generators.mt19937 import window_at
from birthmark.generators.mt19937_words import start
from birthmark.generators.pcg64 import pcg64_of
from birthmark.samplers.numpy_integers import integers, randint

RANGES = [(0, 10), (7, 8), (-5, 70_000), (0, 2**32 - 1), (0, 2**32), (0, 3 * 2**40), (-(2**63), 2**63 - 1)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_equal_numpy(low: int, high: int) -> None:
    """Both generators give NumPy's integers, of one value, of halves of words and of whole words."""
    legacy, taken = randint(start(3), 700, low, high)
    stock = np.random.RandomState(3)
    assert np.array_equal(legacy, stock.randint(low, high, 700, dtype=np.int64))
    following = np.random.RandomState(3)
    following.randint(0, 2**32, taken, dtype=np.uint32)
    assert following.random_sample() == stock.random_sample()
    assert np.array_equal(
        integers(pcg64_of(3), 700, low, high), np.random.default_rng(3).integers(low, high, 700)
    )


def test_from_anywhere_in_a_stream() -> None:
    """A window far ahead is where a call begins."""
    stock = np.random.RandomState(4)
    stock.randint(0, 2**32, 5000, dtype=np.uint32)
    assert np.array_equal(randint(window_at(4, 5000), 50, 0, 999)[0], stock.randint(0, 999, 50))


def test_empty_ranges_are_refused() -> None:
    """There must be a value between the bounds."""
    with pytest.raises(UsageError, match="integers from 3 to below 3"):
        randint(start(0), 1, 3, 3)
    with pytest.raises(UsageError, match="int64"):
        integers(pcg64_of(0), 1, 0, 2**64)
