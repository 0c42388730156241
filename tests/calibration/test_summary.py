"""Summaries, plots and the page of a calibration."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from birthmark.calibration import plots
from birthmark.calibration.document import PAGE, SUMMARY, write
from birthmark.calibration.experiment import plan
from birthmark.calibration.nulls import FAMILIES
from birthmark.calibration.summary import Summary, largest_excess, rate, summarise
from birthmark.calibration.tail import SIGMAS, Tail
from birthmark.calibration.trial import Outcome, Result


@pytest.fixture(scope="module")
def summary() -> Summary:
    """Of made-up trials: one null checkpoint in twenty is misread, true ones are found from 8 rows on."""
    results = []
    for job in plan(2, 2, 0):
        outcome: Outcome = "silent"
        if job.kind == "truth" and (job.family != "survivors" or job.step >= 8):
            outcome = "right"
        if job.key == "null/shuffled-rows/0/1":
            outcome = "wrong"
        claims = "seed 3 instead of None" if outcome == "wrong" else ""
        verdict = "none" if outcome == "silent" else "match"
        results.append(
            Result(job.key, job.kind, job.family, job.step, "float32", verdict, outcome, claims, None, 9, 1.5)
        )
    tail = Tail(10**6, tuple(FAMILIES), np.zeros((len(FAMILIES), len(SIGMAS)), np.int64))
    tail.counts[:] = tail.expected.astype(np.int64)
    tail.counts[4, 8] *= 2
    return summarise(results, 0, tail)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 100, 0.0, 0.036217), (5, 50, 0.033275, 0.218135), (10, 10, 0.691503, 1.0), (0, 0, 0.0, 1.0)],
)
def test_intervals_are_exact(count: int, of: int, low: float, high: float) -> None:
    """Clopper and Pearson's intervals at 95 %, as tables of them print."""
    found = rate(count, of)

    assert found.low == pytest.approx(low, abs=2e-6)
    assert found.high == pytest.approx(high, abs=2e-6)


def test_wrong_readings_are_counted_and_quoted(summary: Summary) -> None:
    """A wrong reading appears in its family, in the total, and in words."""
    family = next(each for each in summary.nulls if each.name == "shuffled-rows")

    assert (summary.null.count, summary.null.of) == (1, 26)
    assert (family.wrong.count, family.verdicts) == (1, {"match": 1, "none": 1})
    assert family.claims == ("null/shuffled-rows/0/1: seed 3 instead of None",)
    assert summary.truth.count == 0


def test_detection_follows_the_steps(summary: Summary) -> None:
    """Each step of each axis has its own share."""
    found = {each.step: each.found.count for each in summary.steps if each.axis == "survivors"}

    assert found == {1: 0, 2: 0, 3: 0, 4: 0, 6: 0, 8: 2, 12: 2, 16: 2, 24: 2, 32: 2}


def test_an_excess_in_the_tail_is_named(summary: Summary) -> None:
    """The family and sigma whose decoys exceed the nominal tail most are singled out."""
    assert summary.tail is not None
    sigma, family, ratio = largest_excess(summary.tail)

    assert (sigma, family) == (SIGMAS[8], list(FAMILIES)[4])
    assert ratio == pytest.approx(2.0, rel=0.01)


def test_the_folder_is_whole(summary: Summary, tmp_path: Path) -> None:
    """Summary, page and plots are written; the page shows every plot and the wrong reading."""
    files = write(tmp_path, summary, "birthmark calibrate -o x")
    page = (tmp_path / PAGE).read_text()

    assert json.loads((tmp_path / SUMMARY).read_text())["null"]["count"] == 1
    assert "null/shuffled-rows/0/1: seed 3 instead of None" in page
    assert "`birthmark calibrate -o x`" in page
    drawings = [path for path in files if path.suffix == ".svg"]
    assert len(drawings) == 4
    for path in drawings:
        assert f"]({path.name})" in page
        text = path.read_text()
        assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own text
        assert len(text) < 20_000
        assert "script" not in text


def test_without_decoys_there_is_no_tail() -> None:
    """A tail that was not measured is not drawn."""
    empty = summarise([], 0, None)

    assert empty.null.of == 0
    with pytest.raises(ValueError, match="without decoys"):
        plots.tail(empty)
