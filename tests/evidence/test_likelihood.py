"""Likelihood ratios: true on average where they must be, and in the scale's own words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.evidence.likelihood import AGAINST, in_words, likelihood, log10_ratio
from birthmark.evidence.score import Score, score


def drawn(r: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Stored and predicted values that correlate by r."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(n)
    return r * x + math.sqrt(1 - r * r) * random.standard_normal(n), x


def of(r: float, seed: int, trials: int = 10**6, n: int = 20_000) -> tuple[Score, Score]:
    """Scores on a selection and on a hold-out."""
    return score(*drawn(r, n, seed), trials=trials), score(*drawn(r, n, seed + 1000))


@pytest.mark.parametrize("r", [0.05, 0.3, 0.9, 0.999])
def test_the_closed_form_is_the_ratio_of_densities(r: float) -> None:
    """It equals the sum of log densities, value by value, for standardised values."""
    y, x = drawn(r, 500, 1)
    y, x = ((each - each.mean()) / each.std() for each in (y, x))
    left = 1 - r * r
    direct = (-0.5 * np.log(left) - (y - r * x) ** 2 / (2 * left) + y**2 / 2).sum() / math.log(10)

    assert log10_ratio(r, float((x * y).mean()), 500) == pytest.approx(direct, rel=1e-9)


def test_a_true_candidate_is_supported() -> None:
    """A faint trace on many values is extremely strong support, even after a million trials."""
    found = likelihood(*of(0.1, 3), origin="philox seed 1", tensor="w")

    assert found is not None
    assert found.log10 > 30
    assert found.log10_after_trials == pytest.approx(found.log10 - 6)
    assert found.words == "extremely strong support"
    assert "philox seed 1" in found.for_it
    assert "philox seed 1" in found.against_it


def test_a_lucky_selection_is_not_confirmed() -> None:
    """Where the hold-out does not correlate the ratio speaks against the candidate."""
    selection, _ = of(0.1, 3)
    _, nothing = of(0.0, 4)

    found = likelihood(selection, nothing, origin="x", tensor="w")

    assert found is not None
    assert found.log10 < -10
    assert found.words == AGAINST


def test_wrong_candidates_rarely_look_supported() -> None:
    """If false, a ratio of 100 or more has a probability of 1 in 100 at most, and here less."""
    ratios = []
    for number in range(400):
        _, nothing = of(0.0, number, n=500)
        assert nothing.r is not None
        ratios.append(log10_ratio(0.1, nothing.r, 500))

    assert np.mean(np.array(ratios) >= 2) <= 0.01


def test_exact_values_do_not_overflow() -> None:
    """A perfect correlation gives a large finite ratio."""
    assert 0 < log10_ratio(1.0, 1.0, 10**6) < 1e8


@pytest.mark.parametrize(
    ("log10", "words"),
    [
        (0.0, "no support"), (0.4, "weak support"), (1.5, "moderate support"),
        (2.5, "moderately strong support"), (3.5, "strong support"), (5.0, "very strong support"),
        (60.0, "extremely strong support"), (-3.0, AGAINST),
    ],
)  # fmt: skip
def test_words(log10: float, words: str) -> None:
    """The words are those of the published scale."""
    assert in_words(log10) == words


def test_without_scores_there_is_no_ratio() -> None:
    """A score that does not exist gives no ratio."""
    selection, holdout = of(0.1, 3)
    none = Score(2, None, None, None, None, 1, "too few")

    assert likelihood(none, holdout, origin="x", tensor="w") is None
    assert likelihood(selection, none, origin="x", tensor="w") is None
