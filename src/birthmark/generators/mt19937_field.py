"""MT19937 as a linear recurrence: its characteristic polynomial, and every output bit as a polynomial.

Take the lowest bit s of the raw (untempered) words as the reference sequence, and write X for "one word
later". The recurrence (Matsumoto and Nishimura, ACM TOMACS 8, 1998), where A is the twist's constant,

    raw[k + 624] = raw[k + 397] ^ twist(highest bit of raw[k], other bits of raw[k + 1]),

read bit by bit, expresses each bit by the bit below it and by s:

    bit j + 1  =  (X^623 + X^396) * bit j  +  A_j * s                for j = 0 .. 29
    bit 31     =  (X^624 + X^397) * bit 30  +  A_30 * X * s
    0          =  (X^624 + X^397) * bit 31  +  A_31 * X * s.

So every bit is a polynomial in X applied to s, and the last line is X times the characteristic polynomial,
of degree 19,937 with 135 terms. A bit of the word k places later is X^k times the polynomial of that bit,
modulo the characteristic polynomial: a linear functional of the first 19,937 members of s, wherever it
lies.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.gf2 import Modulus, Polynomial, exponents_of, from_exponents
from birthmark.generators.mt19937_words import TWIST, temper

#: Degree of the characteristic polynomial: the bits of the state that matter.
DEGREE = 19937
#: Words of a packed polynomial below that degree.
PACKED = -(-DEGREE // 64)

_BITS = 32


@cache
def _raw_exponents() -> tuple[tuple[frozenset[int], ...], frozenset[int]]:
    """The exponents of each raw bit's polynomial, and those of the characteristic polynomial."""

    def times(terms: frozenset[int], *shifts: int) -> frozenset[int]:
        total: frozenset[int] = frozenset()
        for shift in shifts:
            total ^= frozenset(term + shift for term in terms)
        return total

    def constant(bit: int, exponent: int) -> frozenset[int]:
        return frozenset([exponent]) if int(TWIST) >> bit & 1 else frozenset()

    bits = [frozenset([0])]
    for j in range(30):
        bits.append(times(bits[j], 623, 396) ^ constant(j, 0))
    bits.append(times(bits[30], 624, 397) ^ constant(30, 1))
    last = times(bits[31], 624, 397) ^ constant(31, 1)
    return tuple(bits), frozenset(term - 1 for term in last)


@cache
def characteristic() -> Modulus:
    """The characteristic polynomial, as a modulus."""
    _, terms = _raw_exponents()
    others = np.array(sorted(terms - {DEGREE}), np.uint64)
    return Modulus(DEGREE, others)


@cache
def raw_bits() -> NDArray[np.uint64]:
    """uint64[32, 312]: the polynomial of each bit of a raw word, lowest bit first."""
    bits, _ = _raw_exponents()
    return np.stack([from_exponents(sorted(terms), PACKED) for terms in bits])


@cache
def output_bits() -> NDArray[np.uint64]:
    """uint64[32, 312]: the polynomial of each bit of an output (tempered) word, lowest bit first."""
    images = temper(np.uint32(1) << np.arange(_BITS, dtype=np.uint32))
    raw = raw_bits()
    polynomials = np.zeros_like(raw)
    for bit in range(_BITS):
        feeding = (images >> np.uint32(bit)) & np.uint32(1) == 1
        polynomials[bit] = np.bitwise_xor.reduce(raw[feeding], axis=0)
    return polynomials


def raw_words(reference: Polynomial, count: int) -> NDArray[np.uint32]:
    """The first raw words of a window, from its reference sequence.

    Args:
        reference: uint64[312], the first 19,937 members of s, packed; the bits above them are ignored.
        count: how many words.
    """
    terms, _ = _raw_exponents()
    longest = max(max(bit) for bit in terms)
    sequence = _extended(reference, longest + count)
    words = np.zeros(count, np.uint32)
    for bit, exponents in enumerate(terms):
        for exponent in exponents:
            words ^= sequence[exponent : exponent + count].astype(np.uint32) << np.uint32(bit)
    return words


def _extended(reference: Polynomial, length: int) -> NDArray[np.uint8]:
    """The reference sequence, one member a byte, continued by the characteristic polynomial."""
    sequence = np.zeros(max(length, DEGREE), np.uint8)
    sequence[:DEGREE] = np.unpackbits(reference.astype("<u8").view(np.uint8), bitorder="little")[:DEGREE]
    exponents = characteristic().exponents.astype(np.int64)
    step = DEGREE - int(exponents.max())
    for start in range(DEGREE, len(sequence), step):
        stop = min(start + step, len(sequence))
        for exponent in exponents:
            source = start - DEGREE + int(exponent)
            sequence[start:stop] ^= sequence[source : source + stop - start]
    return sequence


__all__ = [
    "DEGREE",
    "PACKED",
    "characteristic",
    "exponents_of",
    "output_bits",
    "raw_bits",
    "raw_words",
]
