"""What a critic would ask: every question is answered, or says why it was not asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from birthmark.reports.questions import questions
from birthmark.reports.reading import Finding, QuestionModel

Make = Callable[..., dict[str, Any]]
TOPICS = ["Chance", "Alike", "Layout", "Vendor", "Origins", "Processes", "No seed", "Trained"]
LOW = {"n": 2432, "r": 0.0281, "sigma": 1.4, "log10_p_local": -1.08, "log10_p_global": -1.08}
HIGH = {"n": 2432, "r": 0.9, "sigma": 44.4, "log10_p_local": -430.0, "log10_p_global": -430.0}


def _asked(*findings: dict[str, Any]) -> dict[str, QuestionModel]:
    found = questions([Finding.model_validate(one) for one in findings], [])
    assert [one.topic for one in found] == TOPICS
    assert all(one.answer.startswith("Not asked: ") != one.asked for one in found)
    return {one.topic: one for one in found}


def _controls(make_finding: Make, **changes: Any) -> dict[str, Any]:
    return {**make_finding()["controls"], **changes}


def test_no_finding_has_nothing_to_ask() -> None:
    """The reading says so instead of leaving the list empty."""
    (only,) = questions([], [])

    assert not only.asked


def test_a_match_answers_for_itself(make_finding: Make) -> None:
    """Numbers of the finding, and the reasons where a control did not run."""
    found = _asked(make_finding(controls=_controls(make_finding, scored=9, unexplained=2)))

    assert "10^-526.8 after 200,000,000,000 trials" in found["Chance"].answer
    assert "4,096 false seeds the best reaches 3.8 sigma, this one 31.9" in found["Chance"].answer
    assert not found["Alike"].asked
    assert "261,120 threads, scores +1.4 sigma where it differs" in found["Layout"].answer
    assert "no other one is left open" in found["Layout"].answer
    assert found["Vendor"].answer == "The vendors stay open."
    assert "2 of 9 rows scored are not predicted" in found["Origins"].answer
    assert "seed 777 gives all" in found["Processes"].answer
    assert not found["No seed"].asked
    assert not found["Trained"].asked


@pytest.mark.parametrize(("score", "word"), [(LOW, "No: held"), (HIGH, "They share something")])
def test_alike_rows_are_told(make_finding: Make, score: dict[str, Any], word: str) -> None:
    """Rows that score with each other's predictions are a warning, not a finding."""
    found = _asked(make_finding(controls=_controls(make_finding, rows_moved={"score": score})))

    assert found["Alike"].answer.startswith(word)


@pytest.mark.parametrize(("score", "word"), [(HIGH, "Yes: 2,432 values of 17 rows"), (LOW, "No, which")])
def test_trained_rows_are_told(make_finding: Make, score: dict[str, Any], word: str) -> None:
    """A trace in trained rows speaks for the finding; none does not speak against it."""
    trained = {"units": 17, "of": 40, "score": score, "lo": 0.1, "hi": 0.2, "moved": LOW}
    found = _asked(make_finding(trained=trained))

    assert found["Trained"].answer.startswith(word)


def test_shards_are_counted_once_each(make_finding: Make) -> None:
    """Seeds of ranks that share a layout are processes; two layouts without a rule are none."""
    rule = "Megatron-LM's rule."
    ranks = [make_finding(seed=seed, seed_rule=rule) for seed in (3952, 3953, 3953)]
    other = make_finding(layout={"threads": 303104, "not_excluded": [303104], "devices": []})
    open_ = make_finding(layout={"threads": None, "not_excluded": [1, 2], "devices": []})

    assert "at least 2 separately seeded ones" in _asked(*ranks)["Processes"].answer
    assert "2 initialisations" in _asked(make_finding(), other)["Processes"].answer
    assert "One is enough" in _asked(make_finding(), open_)["Processes"].answer
    assert _asked(ranks[0])["Processes"].answer == rule


def test_another_layout_that_drew_other_rows_is_named(make_finding: Make) -> None:
    """A rival that scores because it drew the other rows does not read as a contradiction."""
    other = make_finding(layout={"threads": 261120, "not_excluded": [261120], "devices": []})

    assert "(it drew other values here)" in _asked(make_finding(), other)["Layout"].answer
    assert "other values" not in _asked(make_finding())["Layout"].answer


@pytest.mark.parametrize("method", ["seed-free", "solve"])
def test_draws_without_a_seed_or_a_layout(make_finding: Make, method: str) -> None:
    """What cannot be asked of them is not answered."""
    changes: dict[str, Any] = {"method": method, "vendor": None}
    if method == "seed-free":
        changes.update(seed=None, outcome="layout-only")
    else:
        changes.update(layout=None, platform="cpu")
    found = _asked(make_finding(**changes))

    assert not found["Vendor"].asked
    assert found["Layout"].asked == (method == "seed-free")
    assert found["Processes"].asked == (method == "solve")


def test_a_layout_without_the_seed_speaks_for_itself(make_finding: Make) -> None:
    """Its statement is the answer, whether it agrees or contradicts."""
    again = {
        "asked": True, "threads": 40960, "agrees": False, "pairs": 2228, "r": 46.4, "next_r": 2.2,
        "compared": 42, "statement": "It contradicts this finding.",
    }  # fmt: skip
    found = _asked(make_finding(without_seed=again))

    assert found["No seed"].answer == "It contradicts this finding."
