"""What intervals of words fix, and the coefficients of bits far away, against brute force and streams."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.generators.mt19937 import words_at
from birthmark.generators.mt19937_field import DEGREE, PACKED
from birthmark.generators.mt19937_words import continued, start
from birthmark.search.solve.elimination import RIGHT_SIDE
from birthmark.search.solve.equations import (
    PORTION,
    WIDE,
    Words,
    bits_of,
    coefficients,
    equations_of,
)

TOP = (1 << 24) - 1


def interval(low: int, high: int) -> Words:
    return Words(np.array([0]), np.array([low], np.uint32), np.array([high], np.uint32))


@settings(deadline=None)
@given(low=st.integers(0, TOP), width=st.integers(0, 200))
def test_every_value_of_the_interval_satisfies_the_parities(low: int, width: int) -> None:
    """Parities hold for all values of the interval; for at most two values they fix everything there is."""
    values = np.arange(low, min(low + width, TOP) + 1, dtype=np.uint32)
    words = interval(low, int(values[-1]))
    equations = equations_of(words)

    for mask, parity in zip(equations.mask, equations.parity, strict=True):
        assert np.all(np.bitwise_count(values & mask) & 1 == parity)
    assert bits_of(words).tolist() == [len(equations)]
    if len(values) <= 2:
        assert len(equations) == 25 - len(values)


def test_a_border_in_the_middle_still_leaves_equations() -> None:
    """Between 2^23 - 1 and 2^23 no single bit is fixed, but 23 parities are."""
    assert len(equations_of(interval(2**23 - 1, 2**23))) == 23
    assert len(equations_of(interval(0, TOP))) == 0


def test_words_shape_the_count() -> None:
    """An exact word gives 24 equations, one known to its top 8 bits gives 8."""
    words = Words(np.array([3, 9]), np.array([5, 0], np.uint32), np.array([5, 0xFFFF], np.uint32))

    assert bits_of(words).tolist() == [24, 8]


def test_coefficients_hold_on_a_real_stream_across_wide_gaps() -> None:
    """Rows of known words, some of them beyond gaps that are jumped, vanish on the stream's own sequence."""
    position = np.array([5, 6, 7, 70, 5_000, 5_000 + WIDE, 5_001 + WIDE, 10**9, 10**9 + 623], np.int64)
    truth = words_at(17, position) & np.uint32(TOP)
    words = Words(position, truth, truth)
    reference = (continued(start(17), DEGREE + 5)[5:] & np.uint32(1)).astype(np.uint8)
    sequence = np.zeros(8 * PACKED, np.uint8)
    sequence[: -(-DEGREE // 8)] = np.packbits(reference, bitorder="little")

    rows = np.concatenate(list(coefficients(words, equations_of(words), 5)))

    right = rows[:, -1] >= RIGHT_SIDE
    rows[:, -1] &= ~RIGHT_SIDE
    left = np.bitwise_count(rows & sequence.view(np.uint64)).sum(axis=1) & 1
    assert np.array_equal(left == 1, right)
    assert len(rows) == 24 * len(position)


def test_portions_join_without_a_seam() -> None:
    """Many equations come in portions that equal the rows of each word alone."""
    position = np.arange(0, 300, 3)
    truth = words_at(1, position) & np.uint32(TOP)
    words = Words(position, truth, truth)

    portions = list(coefficients(words, equations_of(words), 0))
    last = words.take(np.array([99]))
    alone = np.concatenate(list(coefficients(last, equations_of(last), 0)))

    assert max(len(part) for part in portions) <= PORTION
    assert np.array_equal(np.concatenate(portions)[-24:], alone)
