"""Polynomials over GF(2) in packed bits, and their arithmetic modulo a polynomial with few terms.

A polynomial is an array of uint64: the coefficient of X^i is bit i mod 64 of word i div 64. Addition is
exclusive or. A modulus of degree n is given by n and the exponents of its other terms, all of them at most
n - 64, so that 64 coefficients at a time can be folded down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel

Polynomial = NDArray[np.uint64]

_WORD = 64
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)
_NIBBLE = np.uint64(15)
#: Spreads the bits of a word over two: masks of the classic doubling steps.
_SPREAD = (
    (np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(4), np.uint64(0x0F0F0F0F0F0F0F0F)),
    (np.uint64(2), np.uint64(0x3333333333333333)),
    (np.uint64(1), np.uint64(0x5555555555555555)),
)


@dataclass(frozen=True, slots=True, eq=False)
class Modulus:
    """A polynomial X^degree + the terms with the given exponents, all at most degree - 64."""

    degree: int
    exponents: NDArray[np.uint64]

    @property
    def words(self) -> int:
        """Words of a reduced polynomial: those that hold exponents below the degree."""
        return -(-self.degree // _WORD)

    def reduce(self, polynomial: Polynomial) -> Polynomial:
        """The remainder of a polynomial, `words` long, as a new array."""
        room = np.zeros(max(len(polynomial), self.words) + 1, np.uint64)
        room[: len(polynomial)] = polynomial
        fold(room, np.uint64(self.degree), self.exponents)
        return room[: self.words].copy()

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """The product a * b, reduced."""
        return self.reduce(multiply(a, b))

    def power_of_x(self, exponent: int) -> Polynomial:
        """X^exponent, reduced; exponent >= 0. One squaring for each bit of the exponent."""
        result, x = monomial(0, self.words), monomial(1, 1)
        for bit in f"{exponent:b}":
            squared = square(result)
            result = self.reduce(multiply(squared, x) if bit == "1" else squared)
        return result


def monomial(exponent: int, words: int) -> Polynomial:
    """X^exponent in the given number of words."""
    result = np.zeros(words, np.uint64)
    result[exponent // _WORD] = np.uint64(1 << (exponent % _WORD))
    return result


def from_exponents(exponents: list[int], words: int) -> Polynomial:
    """The sum of X^e over the exponents e, in the given number of words; equal terms cancel."""
    result = np.zeros(words, np.uint64)
    for exponent in exponents:
        result ^= monomial(exponent, words)
    return result


def exponents_of(polynomial: Polynomial) -> NDArray[np.uint64]:
    """The exponents of the terms, ascending."""
    bits = np.unpackbits(polynomial.astype("<u8").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.uint64)


@kernel()
def fold(polynomial: Polynomial, degree: np.uint64, exponents: NDArray[np.uint64]) -> None:
    """Reduce in place: replace X^degree by the terms with the exponents, from the top down."""
    border = np.int64(degree >> _SIX)
    offset = degree & _LOW_SIX
    for i in range(len(polynomial) - 1, border, -1):
        high = polynomial[i]
        if high == 0:
            continue
        polynomial[i] = np.uint64(0)
        base = (np.uint64(i) << _SIX) - degree
        for e in exponents:
            add_shifted(polynomial, high, base + e)
    high = polynomial[border] >> offset
    if high != 0:
        polynomial[border] ^= high << offset
        for e in exponents:
            add_shifted(polynomial, high, e)


@kernel(inline=True)
def add_shifted(polynomial: Polynomial, word: np.uint64, shift: np.uint64) -> None:
    """Add word * X^shift; a part beyond the array must be zero."""
    at = np.int64(shift >> _SIX)
    by = shift & _LOW_SIX
    polynomial[at] ^= word << by
    if by != 0:
        over = word >> (np.uint64(64) - by)
        if over != 0:
            polynomial[at + 1] ^= over


@kernel()
def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product, len(a) + len(b) words long.

    Four bits of each word of `a` at a time choose from a table of multiples of `b`: Lopez and Dahab's comb.
    """
    table = np.zeros((16, len(b) + 1), np.uint64)
    for k in range(1, 16):
        half = k >> 1
        carry = np.uint64(0)
        for j in range(len(b) + 1):
            word = table[half, j]
            doubled = (word << _ONE) | carry
            carry = word >> np.uint64(63)
            if (k & 1) == 1 and j < len(b):
                doubled ^= b[j]
            table[k, j] = doubled
    result = np.zeros(len(a) + len(b) + 1, np.uint64)
    for nibble in range(15, -1, -1):
        if nibble != 15:
            carry = np.uint64(0)
            for j in range(len(result)):
                word = result[j]
                result[j] = (word << np.uint64(4)) | carry
                carry = word >> np.uint64(60)
        for i in range(len(a)):
            row = table[np.int64((a[i] >> np.uint64(4 * nibble)) & _NIBBLE)]
            target = result[i : i + len(row)]
            for j in range(len(row)):
                target[j] ^= row[j]
    return result[: len(a) + len(b)]


@kernel()
def square(a: Polynomial) -> Polynomial:
    """The square: over GF(2) every exponent doubles."""
    result = np.empty(2 * len(a), np.uint64)
    for i in range(len(a)):
        result[2 * i] = _spread(a[i] & np.uint64(0xFFFFFFFF))
        result[2 * i + 1] = _spread(a[i] >> np.uint64(32))
    return result


@kernel(inline=True)
def _spread(word: np.uint64) -> np.uint64:
    for shift, mask in _SPREAD:
        word = (word | (word << shift)) & mask
    return word
