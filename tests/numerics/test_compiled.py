"""The fused multiply-add rounds once, in both precisions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.numerics.compiled import fma


@numba.njit  # type: ignore[untyped-decorator]
def fused(a: Any, b: Any, c: Any) -> Any:
    return fma(a, b, c)


def is_nearest(result: np.floating, exact: Fraction, real: type[np.floating]) -> bool:
    """Whether no neighbour of the result lies nearer to the exact value, and a tie went to the even one."""
    own = abs(Fraction(float(result)) - exact)
    for towards in (-np.inf, np.inf):
        neighbour = np.nextafter(result, real(towards))
        other = abs(Fraction(float(neighbour)) - exact)
        width = np.uint32 if real is np.float32 else np.uint64
        if other < own or (other == own and int(np.asarray(result).view(width)) % 2):
            return False
    return True


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_one_rounding(real: type[np.floating]) -> None:
    """Every fused result is the float nearest to the exact rational value."""
    moderate = st.floats(-1e6, 1e6, width=32 if real is np.float32 else 64).filter(
        lambda x: x == 0 or abs(x) > 1e-9
    )

    @settings(max_examples=300, deadline=None)
    @given(moderate, moderate, moderate)
    def check(a: float, b: float, c: float) -> None:
        result = fused(real(a), real(b), real(c))
        assert is_nearest(real(result), Fraction(a) * Fraction(b) + Fraction(c), real)

    check()


def test_differs_from_two_roundings() -> None:
    """Multiplying and then adding gives another value where the product is inexact."""
    a, c = np.float32(1 + 2**-12), np.float32(-1)
    separate = np.float32(a * a) + c
    assert fused(a, a, c) == np.float32(2**-11 + 2**-24)
    assert separate != fused(a, a, c)


def test_double_fma_is_not_computed_in_single() -> None:
    """Three float64 are multiplied and added in float64."""
    a = np.float64(1 + 2**-30)
    assert fused(a, a, np.float64(-1)) == 2**-29 + 2**-60
    assert math.isfinite(fused(np.float64(1e300), np.float64(1e8), np.float64(-1)))
