"""Threefry: published vectors, JAX's own, both orders of counters, and a literal implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import Answer, answers
from birthmark.generators.threefry import COUNTERS, Counters, Key, bits_at, blocks, key_of

MASK = 2**32 - 1
WORD = st.integers(0, MASK)


def known(what: str) -> tuple[Answer, ...]:
    return answers("birthmark.generators", "neighbour_answers.txt", what)


def words(keys: tuple[Key, ...]) -> list[int]:
    return [word for key in keys for word in (key.high, key.low)]


def literal(k0: int, k1: int, c0: int, c1: int) -> list[int]:
    """The published rounds, one after the other."""
    keys = [k0, k1, k0 ^ k1 ^ 0x1BD11BDA]
    x0, x1 = (c0 + k0) & MASK, (c1 + k1) & MASK
    for group in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x0 = (x0 + x1) & MASK
            x1 = ((x1 << turn | x1 >> (32 - turn)) & MASK) ^ x0
        x0 = (x0 + keys[(group + 1) % 3]) & MASK
        x1 = (x1 + keys[(group + 2) % 3] + group + 1) & MASK
    return [x0, x1]


@pytest.mark.parametrize("answer", known("threefry"), ids=lambda answer: answer.arguments[0])
def test_published_blocks(answer: Answer) -> None:
    """The published blocks come out, and the next counter gives others."""
    k0, k1, c0, c1 = (np.array([number], np.uint32) for number in answer.numbers)
    assert [f"{word:08x}" for word in blocks(k0, k1, c0, c1)[0]] == list(answer.answers)
    assert not np.array_equal(blocks(k0, k1, c0 ^ np.uint32(1), c1), blocks(k0, k1, c0, c1))


@settings(max_examples=50, deadline=None)
@given(WORD, WORD, WORD, WORD)
def test_equals_the_literal_rounds(k0: int, k1: int, c0: int, c1: int) -> None:
    """The compiled block equals the rounds written out in Python integers."""
    assert blocks(*(np.array([one], np.uint32) for one in (k0, k1, c0, c1)))[0].tolist() == literal(
        k0, k1, c0, c1
    )


@pytest.mark.parametrize("counters", COUNTERS)
def test_splits_and_folds_that_jax_printed(counters: Counters) -> None:
    """JAX's printed splits come out under their own order of counters, and under it alone."""
    for answer in known(f"split-{counters}"):
        seed, number = answer.numbers
        expected = [int(word) for word in answer.answers]
        assert words(key_of(seed).split(number, counters)) == expected
        other: Counters = COUNTERS[1 - COUNTERS.index(counters)]
        assert words(key_of(seed).split(number, other)) != expected
        assert words(key_of(seed).children(np.array([number - 1]), number, counters)) == expected[-2:]
    for answer in known("fold-in"):
        seed, number = answer.numbers
        assert words((key_of(seed).fold_in(number),)) == [int(word) for word in answer.answers]


@pytest.mark.parametrize("counters", COUNTERS)
def test_bits_that_jax_printed(counters: Counters) -> None:
    """JAX's printed random bits come out, and the original ones change with the draw's size."""
    for answer in known(f"bits-{counters}"):
        seed, size = answer.numbers
        found = bits_at(key_of(seed), size, np.arange(size), counters=counters)
        assert [f"{word:08x}" for word in found] == list(answer.answers)
        longer = bits_at(key_of(seed), size + 1, np.arange(size), counters=counters)
        assert np.array_equal(longer, found) == (counters == "partitionable")


def test_wide_bits_of_a_wide_seed() -> None:
    """In JAX's 64-bit mode a seed keeps its high word, and 64 bits are joined from two draws."""
    for answer in known("bits64-original-wide"):
        seed, size = answer.numbers
        found = bits_at(key_of(seed, wide=True), size, np.arange(size), width=64, counters="original")
        assert [str(word) for word in found] == list(answer.answers)
    assert key_of(2**33 + 5) == key_of(5) != key_of(2**33 + 5, wide=True)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(COUNTERS), st.sampled_from([8, 16, 32, 64]), st.integers(1, 300), st.data())
def test_any_element_alone_is_the_one_of_the_whole(
    counters: Counters, width: int, size: int, data: st.DataObject
) -> None:
    """Elements in any order equal those of the whole draw."""
    chosen = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=9)), np.int64)
    everything = bits_at(Key(7, 9), size, np.arange(size), width=width, counters=counters)
    assert np.array_equal(
        bits_at(Key(7, 9), size, chosen, width=width, counters=counters), everything[chosen]
    )


def test_what_cannot_be_is_refused() -> None:
    """Words beyond 32 bits, unknown orders, widths and elements are refused by name."""
    with pytest.raises(UsageError, match="32-bit"):
        Key(1 << 32, 0)
    with pytest.raises(UnknownName, match="partitionable"):
        key_of(0).split(2, "partitionabel")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="width 12"):
        bits_at(key_of(0), 4, np.arange(4), width=12)
    with pytest.raises(UsageError, match="index"):
        bits_at(key_of(0), 4, np.array([4]))
    with pytest.raises(UsageError, match="words"):
        bits_at(key_of(0), 1 << 33, np.array([4]), counters="original")
