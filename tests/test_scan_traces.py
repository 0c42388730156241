"""Traces of the initial values where a survey took something for survivors that is none."""

from __future__ import annotations

from birthmark.calibration.trial import Job, run


def test_chance_columns_hide_no_trace() -> None:
    """Four columns that look untouched by chance are no answer; the trained rows still tell the seed."""
    result = run(Job("truth", "survivors", 1.0, 4, 0))
    assert (result.verdict, result.outcome) == ("weak-trace", "right")


def test_chance_columns_make_none() -> None:
    """The same question of a table that no searched seed drew finds nothing."""
    result = run(Job("null", "other-seed", 0.0, 4, 0))
    assert result.outcome in ("silent", "right")
    assert result.verdict in ("none", "not-searched", "layout-only")
