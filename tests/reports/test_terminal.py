"""The reading on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from birthmark.reports.terminal import render, to_text


def test_a_match_shows_all_that_belongs_on_the_first_page(make_reading: Any) -> None:
    """Propositions, seed, layout, devices, scores, bits, controls, vendor, limits, how to run it again."""
    text = " ".join(to_text(make_reading()).split())

    for words in (
        "MATCH",
        "H1",
        "H0",
        "777",
        "0x309",
        "G = 233,472",
        "H100 PCIe",
        "MIG 7g",
        "selection",
        "hold-out",
        "+0.9968",
        "10^-526.8",
        "5,053 of 5,120",
        "seed + 1",
        "G = 261,120",
        "where it differs",
        "4,096 false seeds",
        "▃█",
        "The vendors stay open.",
        "What this does not show",
        "where the hardware was",
        "birthmark scan partial-3pct",
        "114, 202-204, 3992",
        "9 elements in 2 rows",
        "not excluded: amd",
    ):
        assert words in text


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(make_reading: Any, make_finding: Any, width: int) -> None:
    """Long names and lists are folded; the command stays whole, to be copied."""
    command = "birthmark scan " + "x" * 300
    many = {
        "threads": None,
        "not_excluded": list(range(256, 20_000, 256)),
        "devices": make_finding()["layout"]["devices"] * 40,
    }
    reading = make_reading(
        findings=[make_finding(tensor="a" * 300, layout=many)],
        command=command,
        verdict="seed-only",
    )
    lines = to_text(reading, width).splitlines()

    assert f"  {command}" in lines
    assert max(len(line) for line in lines if "birthmark scan" not in line) <= width


def test_nothing_found_says_what_was_searched(make_reading: Any) -> None:
    """A negative result names the seeds, layouts, hypotheses, completeness and the chance of a miss."""
    text = to_text(make_reading(verdict="none", findings=[]))

    for words in (
        "NOTHING FOUND",
        "all that was planned was searched",
        "0 to 4,294,967,295",
        "2, 233,472 to 270,336 threads",
        "normal, whole tensor",
        "dictionary of seeds: done",
        "7 seeds passed",
        "yes, all",
        "1e-06",
    ):
        assert words in text
    assert "MATCH" not in text


def test_an_incomplete_search_is_not_called_complete(make_reading: Any) -> None:
    """What was not searched in full says so in the first line and in the account."""
    reading = make_reading(verdict="none", findings=[])
    early = reading.model_copy(update={"searched": reading.searched.model_copy(update={"complete": False})})

    text = to_text(early)

    assert "a part of what was planned was left out" in text
    assert "no: a part was left out" in text


def test_not_searched_gives_the_reason(make_reading: Any) -> None:
    """Where nothing could be searched the reason comes first, and no search is described."""
    text = to_text(
        make_reading(verdict="not-searched", findings=[], notes=["No tensor of floating-point numbers."])
    )

    assert "NOT SEARCHED" in text
    assert "No tensor of floating-point numbers." in text
    assert "What was searched" not in text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("mixture", "2 different initialisations"),
        ("weak-trace", "none is unchanged"),
        ("seed-only", "device open"),
        ("layout-only", "seed is unknown"),
    ],
)
def test_every_verdict_has_its_headline(
    make_reading: Any, make_finding: Any, verdict: str, words: str
) -> None:
    """Each verdict says in a line what it means."""
    outcome = "match" if verdict == "mixture" else verdict
    findings = [make_finding(outcome=outcome)] * (2 if verdict == "mixture" else 1)

    text = " ".join(to_text(make_reading(verdict=verdict, findings=findings)).split())

    assert words in text
    assert verdict.upper().replace("-", " ") in text


def test_missing_numbers_are_dashes_not_words(make_reading: Any, make_finding: Any) -> None:
    """What has no value is a dash; None and NaN never show."""
    empty = {"n": 0, "r": None, "sigma": None, "log10_p_local": None, "log10_p_global": None}
    decoys = {"count": 0, "max_sigma": None}
    finding = make_finding(
        holdout=empty,
        factor=None,
        vendor=None,
        arithmetic=None,
        platform=None,
        controls={"seed_plus_one": {"score": empty}, "next_layout": None, "decoys": decoys},
        layout={"threads": None, "not_excluded": [], "devices": []},
        survivors={"axis": "tensor", "count": 300, "ids": None},
    )

    text = to_text(make_reading(findings=[finding]))

    assert "None" not in text
    assert "nan" not in text.lower().replace("finance", "")
    assert "none scored" in text
    assert "300 rows" in text


def test_hostile_names_cannot_steer_the_terminal(make_reading: Any, make_finding: Any) -> None:
    """Escape sequences in names and markup in sources are shown, not obeyed."""
    reading = make_reading(
        findings=[make_finding(tensor="w\x1b[31m")],
        command="[bold]x[/bold] \x1b]0;t\x07",
        notes=["[red]n[/red]\x1b[2J"],
    )

    text = to_text(reading)

    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text
    assert "[red]n[/red]" in text


def test_ascii_terminals_get_ascii(make_reading: Any) -> None:
    """A terminal that knows no block characters gets a histogram all the same."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=stream, width=80, color_system=None)

    render(make_reading(), console)

    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert "|-@@-|" in text or "|=@@=|" in text


def test_many_findings_are_summarised(make_reading: Any, make_finding: Any) -> None:
    """Beyond the first few a finding is a line."""
    findings = [make_finding(tensor=f"layers.{number}.weight") for number in range(9)]

    text = to_text(make_reading(findings=findings))

    assert "Also" in text
    assert "layers.8.weight: match" in " ".join(text.split())
    assert text.count("false seeds") == 4


def test_notes_on_nulls_are_for_the_json_only(make_reading: Any) -> None:
    """What is null is not shown, so its reason is not either."""
    assert "is null" not in to_text(make_reading())
