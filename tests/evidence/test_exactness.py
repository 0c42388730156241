"""Bit-exact counts and what rounding explains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.evidence.exactness import Exactness, count, explained, same_bits, tally
from birthmark.numerics.dtypes import round_to, ulps


def compare(stored: NDArray[Any], wanted: NDArray[Any], dtype: str) -> Exactness:
    return count(same_bits(stored, wanted), ulps(stored, wanted, dtype))


def near(
    stored: NDArray[Any], wanted: NDArray[Any], dtype: str, scale: float, *, decayed: bool = False
) -> NDArray[np.bool_]:
    return explained(stored, wanted, ulps(stored, wanted, dtype), scale, decayed=decayed)


def test_compare_counts_distances() -> None:
    """Equal bits and one, two and three units in the last place are counted, the nearer ones included."""
    wanted = np.full(5, 1.0, np.float32)
    stored = np.array([1.0, 1.0 + 2**-23, 1.0 + 2**-22, 1.0 - 3 * 2**-24, 1.5], np.float32)

    result = compare(stored, wanted, "float32")

    assert (result.equal, result.of) == (1, 5)
    assert result.within_ulp == {1: 2, 2: 3, 3: 4}


def test_compare_of_nothing_is_nothing() -> None:
    """No elements give zero of zero."""
    result = compare(np.zeros(0), np.zeros(0), "bfloat16")

    assert (result.equal, result.of) == (0, 0)


def test_same_bits_tells_the_zeros_apart() -> None:
    """Minus zero is another bit pattern."""
    assert same_bits(np.array([0.0, -0.0]), np.array([0.0, 0.0])).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_explained_takes_rounding_and_refuses_training(dtype: str) -> None:
    """One unit in the last place is rounding; a hundredth of sigma is not."""
    wanted = round_to(np.random.default_rng(0).normal(size=500) * 0.02, dtype).astype(np.float64)
    step = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}[dtype]
    rounded = round_to(wanted * (1 + step), dtype)
    trained = round_to(wanted + 0.01 * 0.02 * np.sign(wanted) + 0.03 * wanted, dtype)

    assert near(rounded, wanted, dtype, 0.02).all()
    assert not near(trained, wanted, dtype, 0.02).any()


def test_explained_takes_last_bits_of_another_arithmetic() -> None:
    """A millionth of sigma in float32 is arithmetic; a ten-thousandth is not."""
    wanted = np.linspace(-0.05, 0.05, 101)

    assert near((wanted + 1e-6 * 0.02).astype(np.float32), wanted.astype(np.float32), "float32", 0.02).all()
    assert not near(
        (wanted + 1e-4 * 0.02).astype(np.float32), wanted.astype(np.float32), "float32", 0.02
    ).any()


def test_explained_takes_a_decay_in_rounded_steps_only_where_there_was_one() -> None:
    """A relative drift of 4e-6 is explained by decay, and by nothing else."""
    wanted = np.full(10, 0.06, np.float32)
    drifted = (wanted * np.float32(1 + 4e-6)).astype(np.float32)

    assert near(drifted, wanted, "float32", 0.02, decayed=True).all()
    assert not near(drifted, wanted, "float32", 0.02).any()


def test_tally_calls_a_unit_predicted_when_nearly_all_of_it_is() -> None:
    """Three units: whole, with a few altered elements, and trained."""
    unit = np.repeat([3, 8, 9], 20)
    hits = np.ones(60, bool)
    hits[20:23] = False
    hits[40:] = np.arange(20) < 5

    units = tally(unit, hits, chance=0.01)

    assert units.ids.tolist() == [3, 8, 9]
    assert units.predicted.tolist() == [True, True, False]
    assert units.altered.tolist() == [False, True, False]
    assert units.altered_elements == 3


def test_tally_asks_for_more_where_chance_explains_much() -> None:
    """In a dtype so coarse that a wrong seed explains half, four fifths are not enough."""
    hits = np.arange(20) < 16

    assert tally(np.zeros(20, np.int64), hits, chance=0.0).predicted.tolist() == [True]
    assert tally(np.zeros(20, np.int64), hits, chance=0.5).predicted.tolist() == [False]
