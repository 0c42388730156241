"""Bit patterns and truncation of single precision."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.numerics.float32 import bits, from_bits, truncated


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_patterns_round_trip(pattern: int) -> None:
    """A pattern that is no NaN comes back from its float."""
    value = np.uint32(pattern).view(np.float32)
    if not np.isnan(value):
        assert bits(value) == pattern
        assert np.float32(from_bits(np.uint32(pattern))).view(np.uint32) == pattern


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-30, 1e30), st.booleans())
def test_truncation_is_toward_zero(magnitude: float, negative: bool) -> None:
    """The result is the largest float32 not beyond the value, on either side of zero."""
    value = -magnitude if negative else magnitude
    result = np.float32(truncated(np.float64(value)))
    assert abs(Fraction(float(result))) <= Fraction(magnitude)
    assert abs(Fraction(float(np.nextafter(result, np.float32(np.copysign(np.inf, value)))))) > Fraction(
        magnitude
    )


def test_truncation_differs_from_rounding() -> None:
    """Where rounding goes up, truncation does not."""
    value = 1 + 0.75 * 2**-23
    assert np.float32(value) == np.float32(1 + 2**-23)
    assert truncated(np.float64(value)) == 1.0
