"""Shares and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.calibration.share_coverage import rows_coverage, sums_coverage
from birthmark.evidence.shares import counted_share, weighed_share


@pytest.mark.parametrize(
    ("count", "of", "lo", "hi"),
    # The published interval for 8 of 10 (0.4439, 0.9748), and the closed forms for none and all.
    [(8, 10, 0.44390, 0.97479), (0, 10, 0.0, 1 - 0.025**0.1), (10, 10, 0.025**0.1, 1.0)],
)
def test_the_binomial_interval_is_exact(count: int, of: int, lo: float, hi: float) -> None:
    """Clopper's and Pearson's interval."""
    share = counted_share(count, of)

    assert share.value == count / of
    assert (share.lo, share.hi) == pytest.approx((lo, hi), abs=1e-5)


def test_a_binomial_interval_covers_the_truth() -> None:
    """In 95 % of all draws or more."""
    counts = np.random.default_rng(0).binomial(40, 0.8, 2000)
    covered = [(one := counted_share(int(each), 40)).lo <= 0.8 <= one.hi for each in counts]

    assert np.mean(covered) >= 0.95


def test_made_mixtures_are_covered() -> None:
    """Intervals of shares hold what was made, of rows and of sums; see the module for the full figure."""
    for found in (rows_coverage(60, seed=1), sums_coverage(60, seed=1)):
        assert found.of == 60
        assert found.share >= 0.88  # three standard errors below 0.95
        assert found.width > 0.0


def test_the_weight_that_was_meant_lies_within() -> None:
    """0.7 is 0.699999988 in float32: however exact the fit, the interval holds both."""
    share = weighed_share(np.array([np.float32(0.7), np.float32(0.3)], np.float64), np.zeros((2, 2)), 0)
    assert share.lo < 0.7 < share.hi
    assert share.hi - share.lo < 1e-6


def test_a_weighed_share_needs_no_common_factor() -> None:
    """The share is free of scale, and errors that both weights have in common move it less."""
    weights = np.array([0.7, 0.3]) * 0.02
    apart, together = np.eye(2) * 1e-8, np.ones((2, 2)) * 1e-8
    share = weighed_share(weights, apart, 0)

    assert share.value == pytest.approx(0.7)
    assert share.lo < 0.7 < share.hi
    assert weighed_share(weights, together, 0).hi - 0.7 < share.hi - 0.7
    assert weighed_share(weights * 50, apart * 2500, 0).hi == pytest.approx(share.hi)
