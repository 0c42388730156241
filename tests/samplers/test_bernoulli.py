"""Coin flips: both kernels written out, the comparison at its edge, and what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import words
from birthmark.samplers.bernoulli import Bernoulli, BernoulliEach


def test_one_probability_compares_below() -> None:
    """A uniform equal to the probability is false, one below it true; p is rounded to float32 first."""
    p = 0.3
    near = np.array([np.float32(p), np.nextafter(np.float32(p), np.float32(0))], np.float32)
    assert Bernoulli(p).finish(near).tolist() == [False, True]
    assert Bernoulli(p, "float64").finish(np.array([p, np.nextafter(p, 0)])).tolist() == [False, True]
    assert Bernoulli(1.0).finish(np.array([1.0, 0.5], np.float32)).tolist() == [False, True]
    assert not Bernoulli(0.0).finish(np.array([2.0**-33], np.float32)).any()


def test_widths_and_unrolls() -> None:
    """The tensor's dtype decides its split, and float64 alone the words of a value."""
    assert [Bernoulli(dtype=d).width for d in ("bool", "uint8", "bfloat16", "float32", "int64")] == [
        1,
        1,
        2,
        4,
        8,
    ]
    assert [Bernoulli(dtype=d).unroll for d in ("bool", "int64", "float32", "float64")] == [4, 4, 4, 2]


def test_a_probability_each_is_the_apply_kernel() -> None:
    """Thread t compares elements 4 t to 4 t + 3 with the four uniforms of its block, at most p being true."""
    chances = np.random.default_rng(3).random(1003).astype(np.float32)
    expected = []
    for thread in range(-(-chances.size // 4)):
        block = words(9, np.array([5]), np.array([thread]))[0]
        units = block.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
        expected += (units <= np.resize(chances[4 * thread :], 4)).tolist()
    found = BernoulliEach(chances, offset=20).run(9)
    assert found.tolist() == expected[: chances.size]
    assert found.tolist() != BernoulliEach(chances, offset=16).run(9).tolist()
    assert BernoulliEach(chances, offset=20).end_offset == 32


def test_equal_to_its_probability_is_true() -> None:
    """With a probability each the comparison is <=, in the precision of the tensor that is filled."""
    block = words(1, np.array([0]), np.array([0]))[0]
    units = block.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    assert BernoulliEach(units).run(1).all()
    below = np.nextafter(units.astype(np.float64), 0)
    assert BernoulliEach(below).run(1).all()
    assert not BernoulliEach(below, "float64").run(1).any()


def test_random_access_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any elements are a cut of the run, whatever the size of the pieces it is made in."""
    draw = BernoulliEach(np.full(1000, 0.5))
    whole = draw.run(4)
    monkeypatch.setattr("birthmark.samplers.bernoulli.CHUNK", 128)
    assert np.array_equal(draw.run(4), whole)
    chosen = np.array([[999, 0], [17, 17]])
    assert np.array_equal(draw.values(4, chosen), whole[chosen])
    assert BernoulliEach(np.empty(0)).run(4).size == 0
    with pytest.raises(UsageError, match="there are 1000 probabilities"):
        draw.values(4, np.array([1000]))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"p": 1.5}, UsageError),
        ({"p": float("nan")}, UsageError),
        ({"dtype": "complex64"}, UnknownName),
        ({"dtype": "uint16"}, UnknownName),
    ],
)
def test_impossible_flips_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """A probability or dtype that cannot be is an error at once."""
    with pytest.raises(error):
        Bernoulli(**change)


@pytest.mark.parametrize(
    "chances", [np.array([1, 0]), np.array([[0.5]]), np.array([0.5, np.nan]), np.array([1.1])]
)
def test_impossible_probabilities_are_refused(chances: Any) -> None:
    """Probabilities are one line of floats from 0 to 1."""
    with pytest.raises(UsageError, match="probabilities"):
        BernoulliEach(chances)
