"""Tails and trials."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.evidence.significance import after_trials, log10_tail


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [
        (0.0, math.log10(0.5)),
        (1.0, math.log10(0.15865525393145707)),  # Abramowitz and Stegun, table 26.1
        (5.0, math.log10(2.866515718791939e-7)),  # table 26.2
        (40.0, -349.43700647),  # 1 - Phi(40) = 10^-349.43701, table 26.2
    ],
)
def test_log10_tail_agrees_with_published_tables(sigma: float, expected: float) -> None:
    """The tail equals the tabulated one, also where it underflows a float."""
    assert log10_tail(sigma) == pytest.approx(expected, rel=1e-8)


def test_log10_tail_of_a_negative_score_is_nearly_one() -> None:
    """A negative correlation is no evidence: p is close to 1, never above."""
    assert log10_tail(-8.0) == pytest.approx(0.0, abs=1e-12)
    assert log10_tail(-1e6) == 0.0
    assert math.copysign(1.0, log10_tail(-1e6)) == 1.0


def test_log10_tail_of_a_huge_score_is_finite() -> None:
    """A million sigma give a finite logarithm."""
    assert log10_tail(1e6) == pytest.approx(-(1e12 / 2) / math.log(10.0), rel=1e-6)


def test_after_trials_adds_the_logarithm_for_small_p() -> None:
    """For small p the trials multiply it."""
    assert after_trials(-50.0, 2**32) == pytest.approx(-50.0 + math.log10(2**32), rel=1e-12)


@pytest.mark.parametrize(("p", "trials"), [(0.5, 2), (0.1, 10), (0.9, 3), (1e-3, 700), (0.3, 1)])
def test_after_trials_is_the_chance_of_any_success(p: float, trials: int) -> None:
    """For large p it is 1 - (1 - p)^trials, not p times trials."""
    assert after_trials(math.log10(p), trials) == pytest.approx(
        math.log10(1.0 - (1.0 - p) ** trials), rel=1e-12
    )


def test_after_trials_of_certainty_is_certainty() -> None:
    """p = 1 stays 1, whatever the trials."""
    assert after_trials(0.0, 1) == 0.0
    assert after_trials(-1e-20, 2**80) == 0.0


@given(st.floats(-400.0, 0.0), st.integers(1, 2**80), st.integers(1, 2**80))
def test_after_trials_never_makes_a_score_rarer(log10_p: float, trials: int, more: int) -> None:
    """More trials never lower the probability, and it stays between p and 1."""
    once = after_trials(log10_p, trials)
    assert log10_p - 1e-9 <= once <= 0.0
    assert once <= after_trials(log10_p, trials + more) + 1e-9
