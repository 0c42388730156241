"""Bounded integers as programs derive seeds with them, against Python and NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UsageError
from birthmark.generators.python_random import numpy_integers, python_integers

SPAN = st.one_of(st.integers(1, 2**32), st.sampled_from([1, 2, 2**31, 2**32 - 1, 2**32, 10**9]))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(-5, 5), SPAN)
def test_equal_python_and_numpy(seed: int, low: int, span: int) -> None:
    """Whatever the bounds, the first numbers are those of `randint` in either library."""
    generator = random.Random(seed)  # noqa: S311 - it is what is tested
    expected = [generator.randint(low, low + span - 1) for _ in range(20)]
    assert python_integers(seed, low, low + span - 1, 20) == expected
    legacy = np.random.RandomState(seed)
    drawn = [int(legacy.randint(low, low + span, dtype=np.int64)) for _ in range(20)]
    assert numpy_integers(seed, low, low + span, 20) == drawn


def test_what_cannot_be_is_refused() -> None:
    """Empty ranges, ranges beyond 32 bits and seeds that NumPy refuses are refused."""
    with pytest.raises(UsageError, match="integers from 3 to below 3"):
        numpy_integers(0, 3, 3, 1)
    with pytest.raises(UsageError, match="1 to 2\\^32"):
        python_integers(0, 0, 2**32, 1)
    with pytest.raises(UsageError, match="seed -1"):
        numpy_integers(-1, 0, 3, 1)
