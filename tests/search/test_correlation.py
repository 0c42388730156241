"""Scores and their tails."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.search.correlation import correlation, least_elements, log10_p, log10_tail


def test_correlation_is_pearsons() -> None:
    """Against numpy, for any scale and shift, and 0 for a constant."""
    chance = np.random.default_rng(0)
    x, noise = chance.normal(size=500), chance.normal(size=500)
    y = 0.3 * x + noise

    assert correlation(x, y) == pytest.approx(float(np.corrcoef(x, y)[0, 1]), rel=1e-12)
    assert correlation(3 * x + 7, (y - 2).astype(np.float32)) == pytest.approx(correlation(x, y), rel=1e-5)
    assert correlation(x, x) == pytest.approx(1.0)
    assert correlation(x, np.ones(500)) == 0.0
    assert correlation(x[:0], y[:0]) == 0.0


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [
        (0.0, math.log10(0.5)),
        (3.0, -2.86970),
        (6.0, -9.00586),
        (24.9, -136.4),
        (25.1, -138.6),
        (100.0, -2173.87),
    ],
)
def test_tails_never_underflow(sigma: float, expected: float) -> None:
    """log10 of the upper tail, on both sides of where the error function gives out."""
    assert log10_tail(sigma) == pytest.approx(expected, abs=0.15 if abs(sigma - 25) < 1 else 0.01)


def test_tails_are_continuous() -> None:
    """Series and error function meet."""
    assert log10_tail(24.999999) == pytest.approx(log10_tail(25.000001), abs=1e-3)


def test_trials_are_paid_for() -> None:
    """A factor of 10^12 in trials costs 12 in log10, and no probability exceeds 1."""
    assert log10_p(100, 1.0, 10**12) == pytest.approx(log10_p(100, 1.0) + 12)
    assert log10_p(4, 0.1, 10**12) == 0.0
    assert log10_p(0, 1.0) == 0.0


def test_least_elements_is_the_least() -> None:
    """That many are enough, one fewer is not."""
    n = least_elements(-6.0, 10**11)

    assert log10_p(n, 1.0, 10**11) <= -6.0 < log10_p(n - 1, 1.0, 10**11)
