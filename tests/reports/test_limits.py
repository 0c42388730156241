"""What a reading does not show."""

from __future__ import annotations

from typing import Any

from birthmark.reports.limits import limits


def test_a_match_names_place_owner_and_training(make_reading: Any) -> None:
    """The three things people would like to conclude are denied in plain words."""
    reading = make_reading()

    text = " ".join(limits("match", reading.findings, reading.searched))

    for words in (
        "where the hardware was",
        "owned",
        "trained",
        "same number of threads",
        "MIG slice",
        "AMD's",
    ):
        assert words in text


def test_an_open_layout_is_said(make_reading: Any, make_finding: Any) -> None:
    """Where the layout is open no layout is explained away."""
    finding = make_finding(layout={"threads": None, "not_excluded": [256], "devices": []}, vendor=None)
    reading = make_reading(findings=[finding])

    text = " ".join(limits("seed-only", reading.findings, reading.searched))

    assert "device stays open" in text
    assert "AMD's" not in text


def test_nothing_found_denies_nothing_beyond_the_search(make_reading: Any) -> None:
    """A negative result is bounded by what was searched, and says when it was cut short."""
    searched = make_reading().searched

    whole = " ".join(limits("none", [], searched))
    early = " ".join(limits("none", [], searched.model_copy(update={"complete": False})))

    assert "not excluded" in whole
    assert "1e-06" in whole
    assert "not all of those were completed" not in whole
    assert "not all of those were completed" in early


def test_not_searched_and_traces_have_their_own(make_reading: Any) -> None:
    """Each verdict has the limits that belong to it."""
    reading = make_reading()

    assert len(limits("not-searched", [], reading.searched)) == 1
    assert any("weak trace" in text for text in limits("weak-trace", reading.findings, reading.searched))
    mixed = limits("mixture", reading.findings, reading.searched)
    assert any("initialisations came into one tensor" in text for text in mixed)
