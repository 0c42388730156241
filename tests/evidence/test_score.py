"""Scores."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.evidence.score import score


def test_score_of_equal_values_is_one() -> None:
    """A perfect prediction has r = 1 and sigma = sqrt(n)."""
    values = np.random.default_rng(0).normal(size=400)

    result = score(values, 3.0 * values + 1.0)

    assert result.r == pytest.approx(1.0, abs=1e-12)
    assert result.sigma == pytest.approx(20.0)


def test_score_agrees_with_numpy() -> None:
    """r is Pearson's."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=1000)
    y = 0.3 * x + rng.normal(size=1000)

    assert score(x, y).r == pytest.approx(float(np.corrcoef(x, y)[0, 1]), rel=1e-12)


def test_score_of_independent_values_is_standard_normal() -> None:
    """Under a wrong prediction sigma has mean 0 and variance 1."""
    rng = np.random.default_rng(2)
    sigmas = [score(rng.normal(size=200), rng.normal(size=200)).sigma for _ in range(2000)]

    assert np.mean(np.array(sigmas, float)) == pytest.approx(0.0, abs=0.1)
    assert np.std(np.array(sigmas, float)) == pytest.approx(1.0, abs=0.06)


def test_score_of_opposite_values_has_p_near_one() -> None:
    """A negative correlation is no evidence."""
    values = np.arange(100.0)

    result = score(values, -values, trials=5)

    assert result.r == pytest.approx(-1.0)
    assert result.log10_p_local == pytest.approx(0.0, abs=1e-9)
    assert result.log10_p_global == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("stored", "predicted", "words"),
    [
        (np.ones(50), np.arange(50.0), "equal"),
        (np.arange(50.0), np.zeros(50), "equal"),
        (np.arange(2.0), np.arange(2.0), "too few"),
        (np.zeros(0), np.zeros(0), "too few"),
        (np.full(9, np.nan), np.arange(9.0), "too few"),
    ],
)
def test_score_gives_a_reason_where_there_is_none(
    stored: np.ndarray, predicted: np.ndarray, words: str
) -> None:
    """Constant, missing and non-finite values give a reason, never NaN."""
    result = score(stored, predicted)

    assert (result.r, result.sigma, result.log10_p_local, result.log10_p_global) == (None,) * 4
    assert result.reason is not None
    assert words in result.reason
    assert not result.rarer_than(0.0)


def test_score_leaves_out_pairs_that_are_not_finite() -> None:
    """A NaN or infinite value costs its own pair only."""
    values = np.arange(10.0)
    broken = values.copy()
    broken[3], broken[5] = np.nan, np.inf

    result = score(broken, values)

    assert result.n == 8
    assert result.r == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e-300, 1e300, 1e-40])
def test_score_survives_extreme_scales(size: float) -> None:
    """Squares of very small and very large values neither vanish nor overflow."""
    values = np.random.default_rng(3).normal(size=64)

    assert score(size * values, values).r == pytest.approx(1.0, abs=1e-12)
