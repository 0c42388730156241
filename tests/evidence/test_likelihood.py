"""Likelihood ratios: true on average where they must be, and in the scale's own words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.evidence.coherence import Coherence
from birthmark.evidence.likelihood import (
    AGAINST,
    coherence_likelihood,
    concentration,
    in_words,
    likelihood,
    log10_ratio,
    log10_ratio_of_phases,
)
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


def coherences(kappa: float, seed: int, n: int = 400) -> Coherence:
    """Phases around one direction."""
    phases = np.random.default_rng(seed).vonmises(2.0, kappa, n) if kappa else None
    if phases is None:
        phases = np.random.default_rng(seed).uniform(-np.pi, np.pi, n)
    return Coherence(n, float(abs(np.exp(1j * phases).sum())) / math.sqrt(n), trials=1000)


def test_the_concentration_is_that_of_the_mean_length() -> None:
    """Phases with a concentration of 2 have a mean of length 0.698 (I1(2) / I0(2))."""
    assert concentration(0.69777) == pytest.approx(2.0, abs=1e-3)
    assert concentration(0.0) == pytest.approx(0.0, abs=1e-9)
    assert math.isfinite(concentration(1.0))


def test_a_true_layout_is_supported_by_its_pairs() -> None:
    """Pairs that lie on the lattice support the layout; pairs that do not speak against it."""
    true = coherence_likelihood(coherences(2.0, 1), coherences(2.0, 2), origin="G = 256", tensor="w")
    false = coherence_likelihood(coherences(2.0, 1), coherences(0.0, 3), origin="G = 256", tensor="w")
    none = coherence_likelihood(coherences(2.0, 1), Coherence(0, 0.0), origin="G = 256", tensor="w")

    assert true is not None
    assert true.log10_after_trials == pytest.approx(true.log10 - 3)
    assert true.words == "extremely strong support"
    assert false is not None
    assert false.words == AGAINST
    assert none is None


def test_wrong_layouts_rarely_look_supported() -> None:
    """If false, the average ratio is 1, so that one of 100 or more is rarer than 1 in 100."""
    ratios = [
        log10_ratio_of_phases(0.3, one.r / math.sqrt(one.numbers), one.numbers)
        for one in (coherences(0.0, number, 60) for number in range(2000))
    ]

    assert np.mean(10.0 ** np.array(ratios)) == pytest.approx(1.0, abs=0.15)
    assert np.mean(np.array(ratios) >= 2) <= 0.01
