"""Philox words: published vectors, 64-bit positions, and a literal implementation in Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.generators.known_answers import KnownAnswer, known_answers
from birthmark.generators.philox import key_of, philox4x32, words

MASK = 2**32 - 1
WORD = st.integers(0, MASK)
LONG = st.integers(0, 2**64 - 1)


def literal(counter: list[int], key: list[int]) -> list[int]:
    """The published rounds, one after the other."""
    c, k = list(counter), list(key)
    for number in range(10):
        if number:
            k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & MASK, p0 >> 32 ^ c[3] ^ k[1], p0 & MASK]
    return c


def one(seed: int, counter: int, thread: int) -> list[int]:
    found: list[int] = words(seed, np.asarray([counter], np.uint64), np.asarray([thread], np.uint64))[
        0
    ].tolist()
    return found


@pytest.mark.parametrize(
    "answer", [a for a in known_answers() if None not in a.words], ids=lambda a: f"{a.seed:x}-{a.thread}"
)
def test_known_words(answer: KnownAnswer) -> None:
    """Published vectors come out bit for bit, and the next seed, call and thread give others."""
    seed, counter, thread = answer.seed, answer.counter, answer.thread
    assert one(seed, counter, thread) == list(answer.words)
    for near in ((seed + 1, counter, thread), (seed, counter ^ 1, thread), (seed, counter, thread ^ 1)):
        assert not set(one(*near)) & set(answer.words)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORD, min_size=4, max_size=4), st.lists(WORD, min_size=2, max_size=2))
def test_equals_the_literal_rounds(counter: list[int], key: list[int]) -> None:
    """The compiled block function equals the rounds written out in Python integers."""
    assert [int(w) for w in philox4x32(*(np.uint32(word) for word in (*counter, *key)))] == literal(
        counter, key
    )


@settings(max_examples=200, deadline=None)
@given(LONG, LONG, LONG)
def test_every_half_of_the_numbers_counts(seed: int, counter: int, thread: int) -> None:
    """Seed, counter and thread split into low and high words in that order."""
    halves = [n >> s & MASK for n in (counter, thread) for s in (0, 32)]
    assert one(seed, counter, thread) == literal(halves, [seed & MASK, seed >> 32])


def test_seeds_wrap_as_torch_does() -> None:
    """Seed -1 is the key of all ones, and 2^64 is seed 0."""
    assert key_of(-1) == 2**64 - 1
    assert one(-1, 0, 0) == one(2**64 - 1, 0, 0)
    assert one(2**64, 0, 0) == one(0, 0, 0)


def test_positions_broadcast() -> None:
    """Counters and threads of fitting shapes give words with their shape and a last axis of four."""
    grid = words(42, np.arange(2, dtype=np.uint64)[:, None], np.arange(3, dtype=np.uint64))
    assert grid.shape == (2, 3, 4)
    assert grid[0, 0].tolist() == [0x9CEAF053, 0x77F5493B, 0x12BF50AD, 0x5742B3D7]
    assert grid[1, 0].tolist() == [0xFCDB2127, 0x53BA6CFD, 0x838F5A6E, 0x744E06FB]
    assert words(42, np.zeros(0, np.uint64), np.zeros(0, np.uint64)).shape == (0, 4)
