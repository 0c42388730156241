"""Packed polynomials over GF(2) against Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.generators.gf2 import (
    Modulus,
    Polynomial,
    exponents_of,
    from_exponents,
    monomial,
    multiply,
    square,
)

#: X^191 + X^9 + 1 has no repeated structure with the word size; irreducibility does not matter here.
SMALL = Modulus(191, np.array([0, 9], np.uint64))


def packed(number: int, words: int) -> Polynomial:
    return np.frombuffer(number.to_bytes(8 * words, "little"), "<u8").astype(np.uint64)


def number(polynomial: Polynomial) -> int:
    return int.from_bytes(polynomial.astype("<u8").tobytes(), "little")


def product(a: int, b: int) -> int:
    total = 0
    while b:
        low = b & -b
        total ^= a * low
        b ^= low
    return total


def remainder(a: int, modulus: Modulus) -> int:
    divisor = (1 << modulus.degree) | sum(1 << int(e) for e in modulus.exponents)
    while a.bit_length() > modulus.degree:
        a ^= divisor << (a.bit_length() - divisor.bit_length())
    return a


@settings(deadline=None)
@given(a=st.integers(0, 2**192 - 1), b=st.integers(0, 2**320 - 1))
def test_multiplication_equals_schoolbook(a: int, b: int) -> None:
    """A product equals the sum of shifted copies."""
    assert number(multiply(packed(a, 3), packed(b, 5))) == product(a, b)


@settings(deadline=None)
@given(a=st.integers(0, 2**192 - 1))
def test_square_equals_product_with_itself(a: int) -> None:
    """Squaring by spreading bits equals multiplying."""
    assert number(square(packed(a, 3))) == product(a, a)


@settings(deadline=None)
@given(a=st.integers(0, 2**640 - 1))
def test_remainder_equals_long_division(a: int) -> None:
    """Folding from the top down equals long division."""
    assert number(SMALL.reduce(packed(a, 10))) == remainder(a, SMALL)


@settings(deadline=None, max_examples=30)
@given(m=st.integers(0, 10**6), n=st.integers(0, 10**6))
def test_powers_of_x_add_their_exponents(m: int, n: int) -> None:
    """X^m times X^n is X^(m + n)."""
    left = SMALL.product(SMALL.power_of_x(m), SMALL.power_of_x(n))

    assert np.array_equal(left, SMALL.power_of_x(m + n))


@pytest.mark.parametrize("exponent", [0, 1, 63, 64, 190])
def test_small_powers_are_monomials(exponent: int) -> None:
    """Below the degree a power of X is itself."""
    assert np.array_equal(SMALL.power_of_x(exponent), monomial(exponent, 3))


def test_exponents_round_trip_and_equal_terms_cancel() -> None:
    """A polynomial made of exponents gives them back; a term that comes twice is gone."""
    polynomial = from_exponents([5, 64, 130, 64], 3)

    assert exponents_of(polynomial).tolist() == [5, 130]
