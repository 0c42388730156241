"""The measured background: counted, never zero, and named where it ends."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.evidence.measured import log10_p_least, log10_p_measured, statement


@pytest.mark.parametrize(
    ("reached", "count", "p"), [(0, 4096, 1 / 4097), (3, 999, 4 / 1000), (10, 10, 1.0), (0, 0, 1.0)]
)
def test_the_candidate_counts_as_one_of_them(reached: int, count: int, p: float) -> None:
    """The probability is (b + 1) / (n + 1), so that it is never 0."""
    assert 10 ** log10_p_measured(reached, count) == pytest.approx(p)


def test_no_p_is_smaller_than_so_many_decoys_can_show() -> None:
    """The least is that of no decoy reaching the candidate."""
    assert log10_p_measured(0, 4096) == log10_p_least(4096) < log10_p_measured(1, 4096)


def test_false_candidates_are_as_rare_as_their_p() -> None:
    """Among decoys of their own kind, candidates with p below 5 % are 5 %."""
    random = np.random.default_rng(0)
    scores = random.standard_normal((4000, 100))
    reached = (scores[:, 1:] >= scores[:, :1]).sum(axis=1)
    p = [10 ** log10_p_measured(int(each), 99) for each in reached]

    assert np.mean(np.array(p) <= 0.05 + 1e-9) == pytest.approx(0.05, abs=0.012)


def test_the_statement_says_where_counting_ends() -> None:
    """Beyond the decoys a tail takes over, which is named; where decoys reach the candidate none does."""
    assert "10^-3.6" in statement(0, 4096)
    assert "rests on the Gaussian tail" in statement(0, 4096)
    assert "other layouts" in statement(0, 50, decoys="other layouts", tail="exp(-R^2)")
    assert "tail" not in statement(2, 4096)
    assert "2 score at least as high" in statement(2, 4096)
