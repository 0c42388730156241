"""The characteristic polynomial and the polynomials of the bits, against the generator itself."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.generators.gf2 import exponents_of
from birthmark.generators.mt19937_field import DEGREE, PACKED, characteristic, output_bits, raw_words
from birthmark.generators.mt19937_words import continued, start, temper


def reference(seed: int) -> np.ndarray:
    """The first 19,937 lowest bits of a seed's raw words, packed."""
    bits = (continued(start(seed), DEGREE) & np.uint32(1)).astype(np.uint8)
    packed = np.zeros(8 * PACKED, np.uint8)
    packed[: -(-DEGREE // 8)] = np.packbits(bits, bitorder="little")
    return packed.view(np.uint64)


def berlekamp_massey(bits: list[int]) -> int:
    """The shortest recurrence of a bit sequence, as a number whose bit i is the coefficient of X^(L - i)."""
    connection, previous, length, gap, history = 1, 1, 0, 1, 0
    for n, bit in enumerate(bits):
        history = history << 1 | bit
        if (connection & history).bit_count() & 1:
            changed = connection ^ previous << gap
            if 2 * length <= n:
                length, previous, gap = n + 1 - length, connection, 0
            connection = changed
        gap += 1
    return int(f"{connection:0{length + 1}b}"[::-1], 2)


def test_characteristic_polynomial_is_the_one_that_berlekamp_and_massey_find() -> None:
    """The derived polynomial is the shortest recurrence of the lowest bit of a real stream."""
    bits = (continued(start(5489), 2 * DEGREE + 64) & np.uint32(1)).tolist()

    found = berlekamp_massey(bits)

    exponents = [i for i in range(DEGREE + 1) if found >> i & 1]
    assert exponents == [*characteristic().exponents.tolist(), DEGREE]


def test_characteristic_polynomial_has_135_terms() -> None:
    """The number of terms is the one of Matsumoto and Nishimura's table II."""
    assert len(characteristic().exponents) + 1 == 135


@pytest.mark.parametrize("seed", [0, 42])
def test_raw_words_follow_from_the_reference_sequence(seed: int) -> None:
    """19,937 lowest bits give back the whole words."""
    assert np.array_equal(raw_words(reference(seed), 700), continued(start(seed), 700))


def test_a_bit_far_away_is_a_functional_of_the_reference_sequence() -> None:
    """X^k times a bit's polynomial, read on the reference sequence, gives that bit k words later."""
    bits = np.unpackbits(reference(7).view(np.uint8), bitorder="little")
    far = 12_345
    word = int(temper(continued(start(7), far + 1))[far])
    power = characteristic().power_of_x(far)
    for bit in (0, 11, 23, 31):
        functional = characteristic().product(power, output_bits()[bit])

        assert int(bits[exponents_of(functional).astype(np.int64)].sum()) & 1 == word >> bit & 1
