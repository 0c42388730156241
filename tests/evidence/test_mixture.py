"""Rows of two initialisations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements
from birthmark.evidence.mixture import assign, second_case, unexplained_part
from birthmark.evidence.weigh import weigh
from birthmark.survivors.split import Holdout, Selection

MakeCase = Callable[..., Case]

ROWS = np.sort(np.random.default_rng(3).choice(np.arange(2500, 8192), 60, replace=False)).astype(np.int64)


@pytest.fixture(scope="module")
def merged(make_case: MakeCase) -> Case:
    """Two thirds of the rows drawn on 270,336 threads, one third on 303,104, with the same seed."""
    case = make_case(rows=ROWS)
    other = make_case(rows=ROWS, threads=303104)
    second = ROWS[::3]

    def merge(first: Elements, rest: Elements) -> Elements:
        return replace(first, values=np.where(np.isin(first.unit, second), rest.values, first.values))

    return replace(
        case, selection=merge(case.selection, other.selection), holdout=merge(case.holdout, other.holdout)
    )


def test_second_case_finds_the_other_layout(merged: Case) -> None:
    """What the first layout leaves unexplained is a match of the second, tried once for each layout."""
    first = weigh(merged)

    other = second_case(first)

    assert first.outcome == "match"
    assert other is not None
    assert other.trials == len(merged.layouts) - 1
    assert set(np.unique(other.everything.unit)) == set(ROWS[::3])
    second = weigh(other)
    assert second.outcome == "match"
    assert second.fit.hypothesis.threads == 303104
    assert set(first.survivors) | set(second.survivors) == set(ROWS)


def test_second_case_of_trained_rows_is_none(make_case: MakeCase) -> None:
    """Rows that training changed are of no other layout."""
    rng = np.random.default_rng(0)

    def touched(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
        return values + np.where(np.isin(unit, ROWS[::3]), 0.006 * rng.normal(size=values.size), 0.0)

    assert second_case(weigh(make_case(rows=ROWS, change=touched))) is None


def test_second_case_of_a_plain_match_is_none(make_case: MakeCase) -> None:
    """Where everything is explained there is nothing to ask."""
    assert second_case(weigh(make_case())) is None


def test_assign_names_rows_that_both_layouts_predict(make_case: MakeCase) -> None:
    """Rows below both waves are either's; rows beyond them are one's; noise is neither's."""
    rows = np.concatenate([np.arange(10), np.arange(5000, 5010), np.arange(6000, 6005)])

    def noisy(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
        return np.where(unit >= 6000, 0.02 * np.random.default_rng(0).normal(size=values.size), values)

    case = make_case(rows=rows, change=noisy)
    judgement = weigh(case)

    found = assign(judgement.fit, case.seed, (270336, 303104), case.everything, case.dtype, 0.01)

    assert found.either.tolist() == list(range(10))
    assert found.only(270336).tolist() == list(range(5000, 5010))
    assert found.only(303104).tolist() == []
    assert found.neither.tolist() == list(range(6000, 6005))


def test_unexplained_part_keeps_the_split(merged: Case) -> None:
    """What is left goes to a search of its own, on the same sides as before."""
    judgement = weigh(merged)
    seen, hidden = merged.selection, merged.holdout
    selection = Selection(
        merged.tensor, merged.shape, merged.dtype, "row", "normal", 0.02, 0.01,
        seen.indices, seen.values, seen.unit, np.ones(len(seen)),
    )  # fmt: skip
    holdout = Holdout(merged.tensor, "row", hidden.indices, hidden.unit)

    part: Any = unexplained_part(judgement, selection, holdout)

    assert set(part[0].unit) | set(part[1].unit) == set(ROWS[::3])
    assert set(part[0].unit) <= set(seen.unit)
    assert set(part[1].unit) <= set(hidden.unit)


def test_unexplained_part_of_a_plain_match_is_none(make_case: MakeCase) -> None:
    """Nothing is left of a plain match."""
    case = make_case()
    selection = Selection(
        case.tensor, case.shape, case.dtype, "row", "normal", 0.02, 0.01,
        case.selection.indices, case.selection.values, case.selection.unit, np.ones(len(case.selection)),
    )  # fmt: skip

    assert (
        unexplained_part(weigh(case), selection, Holdout("w", "row", case.holdout.indices, case.holdout.unit))
        is None
    )
