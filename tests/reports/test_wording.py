"""Numbers and names in words."""

from __future__ import annotations

import pytest

from birthmark.reports import wording


@pytest.mark.parametrize(
    ("log10", "expected"),
    [(None, "-"), (0.0, "1"), (-0.3, "0.5"), (-2.0, "0.01"), (-553.95, "10^-554.0"), (-3.5, "10^-3.5")],
)
def test_power_of_ten(log10: float | None, expected: str) -> None:
    """Small probabilities are powers of ten, large ones plain numbers."""
    assert wording.power_of_ten(log10) == expected


@pytest.mark.parametrize(
    ("r", "expected"),
    [
        (0.98, "+0.9800"),
        (-0.5, "-0.5000"),
        (0.9999986, "+0.999998600"),
        (1.0, "+1.0"),
        (0.99996, "+0.999960000"),
    ],
)
def test_correlation_shows_one_only_where_it_is_one(r: float, expected: str) -> None:
    """A correlation just below one is not rounded to it."""
    assert wording.correlation(r) == expected


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], ""),
        ([5], "5"),
        ([1, 2, 3, 9], "1-3, 9"),
        (list(range(0, 60, 2)), "0, 2, 4, 6, 8, 10, ..., 48, 50, 52, 54, 56, 58"),
    ],
)
def test_ids_join_runs_and_leave_out_the_middle(numbers: list[int], expected: str) -> None:
    """Runs become ranges, long lists lose their middle."""
    assert wording.ids(numbers) == expected


def test_histogram_shows_every_bin_that_is_not_empty() -> None:
    """A single decoy is seen beside a thousand, and an empty bin is blank."""
    assert wording.histogram([0, 1, 1000, 500]) == " ▁█▄"
    assert wording.histogram([0, 0]) == "  "
    assert wording.histogram([0, 1, 8], wording.ASCII_BLOCKS) == " .@"


def test_safe_takes_the_teeth_from_a_name() -> None:
    """Escape sequences and other control characters do not reach the terminal."""
    assert wording.safe("a\x1b[2Jb\rc\u202e") == "a\ufffd[2Jb\ufffdc\ufffd"
    assert wording.safe("plain ünïcode") == "plain ünïcode"
