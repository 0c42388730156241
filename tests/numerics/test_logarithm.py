"""CUDA's logf: its exact operations, and how far it is from a correctly rounded logarithm."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.logarithm import logf

COEFFICIENTS = (
    "-0.13018856942653656 0.14084610342979431152 -0.12148627638816833496 0.13980610668659210205 "
    "-0.16684235632419586182 0.20012299716472625732 -0.24999669194221496582 0.33333182334899902344 -0.5"
)


@numba.njit  # type: ignore[untyped-decorator]
def logs(u: NDArray[np.float32]) -> NDArray[np.float32]:
    out = np.empty_like(u)
    for i in range(u.size):
        out[i] = logf(u[i])
    return out


@pytest.fixture(scope="module")
def occurring() -> NDArray[np.float32]:
    """Arguments as draws make them: words times 2^-32 plus 2^-33."""
    words = np.random.default_rng(20).integers(0, 2**32, 200_000, dtype=np.uint32)
    return words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)


def nearest(exact: Fraction) -> np.float32:
    """The float32 nearest to a rational number, ties to even."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint32)) % 2))


def literal(u: np.float32) -> np.float32:
    """The published operations, each with one rounding of an exact rational."""
    bits = int(u.view(np.uint32))
    exponent = (((bits - 0x3F2AAAAB) & 0xFF800000) ^ 0x80000000) - 0x80000000
    f = Fraction(float(np.uint32(bits - exponent).view(np.float32))) - 1
    first, *rest = [Fraction(float(np.float32(text))) for text in COEFFICIENTS.split()]
    r = first
    for k in rest:
        r = Fraction(float(nearest(f * r + k)))
    r = Fraction(float(nearest(f * r)))
    r = Fraction(float(nearest(f * r + f)))
    return nearest(Fraction(exponent, 2**23) * Fraction(float(np.uint32(0x3F317218).view(np.float32))) + r)


def test_exact_operations(occurring: NDArray[np.float32]) -> None:
    """Every bit equals the published chain of operations, computed with rational numbers."""
    some = np.concatenate([occurring[:300], np.array([2**-33, 0.5, 2 / 3, 0.99999994, 1.0], np.float32)])
    assert logs(some).view(np.uint32).tolist() == [int(literal(u).view(np.uint32)) for u in some]


def test_worked_value() -> None:
    """The logarithm in the published worked example (seed 42, thread 0)."""
    u = np.uint32(0x3F1CEAF0).view(np.float32)
    assert hex(np.float32(logf(u)).view(np.uint32)) == "0xbefa99f4"


def test_one_gives_positive_zero() -> None:
    """log 1 is +0, so that the radius there is -0 and the draw is the mean."""
    assert np.float32(logf(np.float32(1.0))).view(np.uint32) == 0


def test_known_distance_from_a_correctly_rounded_logarithm(occurring: NDArray[np.float32]) -> None:
    """About 92.3 % of the arguments agree with the correctly rounded value, and none is beyond 0.87 ulp."""
    exact = np.log(occurring.astype(np.float64))
    found = logs(occurring)
    assert 0.91 < np.mean(found == exact.astype(np.float32)) < 0.935
    error = np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert 0.6 < error.max() < 0.87
