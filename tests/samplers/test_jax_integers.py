"""JAX's integers and permutations against JAX, and the integers that it printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.generators.threefry import COUNTERS, Counters, key_of
from birthmark.samplers.jax_integers import permutation, randint


def test_integers_that_jax_printed() -> None:
    """`randint(PRNGKey(0), (3, 3), 0, 8)` of jax's `tests/random_test.py`, original counters."""
    found = randint(key_of(0), 9, np.arange(9), 0, 8, counters="original")
    assert found.tolist() == [2, 1, 3, 6, 1, 5, 6, 3, 4]
    assert found.tolist() != randint(key_of(0), 9, np.arange(9), 0, 8).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("counters", COUNTERS)
def test_equal_jax(counters: Counters) -> None:
    """Integers of narrow and wide ranges, and permutations of one and two rounds, equal JAX's."""
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    with jax.threefry_partitionable(counters == "partitionable"):
        key = jax.random.PRNGKey(5)
        for low, high in ((-5, 100), (3, 3), (-(2**31), 2**31 - 1)):
            stock = np.asarray(jax.random.randint(key, (99,), low, high))
            found = randint(key_of(5), 99, np.arange(99)[::-1], low, high, counters=counters)
            assert np.array_equal(found, stock[::-1])
        for size in (1, 1000, 3000):
            stock = np.asarray(jax.random.permutation(key, size))
            assert np.array_equal(permutation(key_of(5), size, counters=counters), stock)


def test_permutations_hold_everything_once() -> None:
    """A permutation of many or no elements holds each once, and another key gives another."""
    found = permutation(key_of(1), 3000)
    assert np.array_equal(np.sort(found), np.arange(3000))
    assert not np.array_equal(found, permutation(key_of(2), 3000))
    assert permutation(key_of(1), 0).tolist() == []


def test_what_cannot_be_is_refused() -> None:
    """Bounds beyond int32 and huge permutations are refused."""
    with pytest.raises(UsageError, match="int32"):
        randint(key_of(0), 4, np.arange(4), 0, 2**32)
    with pytest.raises(UsageError, match="permutation"):
        permutation(key_of(0), 2**40)
