"""Tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from birthmark.lineage.chance import log10_beyond, log10_coincidences, reached_at, sigmas_beyond


@pytest.mark.parametrize(("reached", "count", "rate"), [(5, 10, 0.1), (30, 100, 0.05), (100, 100, 0.3)])
def test_coincidences_are_never_overrated(reached: int, count: int, rate: float) -> None:
    """The bound lies above the binomial tail, by less than two orders of magnitude."""
    exact = float(binom.logsf(reached - 1, count, rate)) / np.log(10.0)

    assert exact - 1e-9 <= log10_coincidences(reached, count, rate) <= exact + 2.0


def test_no_more_than_expected_is_nothing() -> None:
    """What is expected is no evidence; all of nothing is none either."""
    assert log10_coincidences(5, 100, 0.05) == 0.0
    assert log10_coincidences(0, 0, 0.5) == 0.0


def test_a_measured_background_is_calibrated() -> None:
    """One more of a background of 24 lies beyond p = 0.01 in about one of a hundred."""
    random = np.random.default_rng(1)
    beyond = [log10_beyond(*_split(random.standard_normal(25)), 0.0) <= -2.0 for _ in range(4000)]

    assert 20 <= sum(beyond) <= 62


def test_what_would_have_been_seen() -> None:
    """The least value that is told is the one with that p."""
    background = np.random.default_rng(2).standard_normal(24) * 0.01
    least = reached_at(-7.0, background, 0.001)

    assert log10_beyond(least, background, 0.001) == pytest.approx(-7.0, abs=1e-6)
    assert sigmas_beyond(least, background, 0.001) > 6.0


def _split(values: np.ndarray) -> tuple[float, np.ndarray]:
    return float(values[0]), values[1:]
