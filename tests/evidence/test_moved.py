"""The control for rows that are alike: true draws lose their score, shared structure keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements, units_of
from birthmark.evidence.moved import ELEMENTS, moved_indices, score_moved
from birthmark.evidence.weigh import weigh

MakeCase = Callable[..., Case]
NONE = Elements(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))


@pytest.mark.parametrize(("axis", "units"), [("row", [2, 5, 9]), ("tensor", [0, 1, 2]), ("column", [0, 3])])
def test_each_element_moves_to_the_same_place_of_the_next_unit(axis: str, units: list[int]) -> None:
    """The place within the unit stays, and the last unit's next is the first."""
    shape = (10, 4)
    inside = np.arange(10) * 4 if axis == "column" else np.arange(4)
    step = 1 if axis == "column" else 4
    indices = np.sort((np.array(units)[:, None] * step + inside).ravel())
    elements = Elements(indices, indices.astype(float), units_of(indices, shape, axis))  # type: ignore[arg-type]

    moved = moved_indices(elements, shape, axis)  # type: ignore[arg-type]

    assert moved is not None
    assert sorted(moved.tolist()) == indices.tolist()
    before, after = (units_of(one, shape, axis) for one in (indices, moved))  # type: ignore[arg-type]
    following = dict(zip(units, [*units[1:], units[0]], strict=True))
    assert after.tolist() == [following[unit] for unit in before.tolist()]
    assert np.array_equal(moved - after * step, indices - before * step)


def test_one_unit_has_no_next() -> None:
    """With the selection's units it has; without any it has not."""
    one = Elements(np.arange(8), np.arange(8.0), np.zeros(8, np.int64))
    two = Elements(np.arange(8, 16), np.arange(8.0), np.ones(8, np.int64))

    assert score_moved(one, NONE, (4, 8), "row", lambda indices: indices % 3 * 1.0) is None
    both = score_moved(one, two, (4, 8), "row", lambda indices: indices % 8 * 1.0)
    assert both is not None
    assert both.n == 16
    assert both.r == pytest.approx(1.0)


def test_a_draw_loses_its_score(make_case: MakeCase) -> None:
    """Every value equals its prediction, and none that of the next row."""
    judgement = weigh(make_case())

    assert judgement.holdout.r == pytest.approx(1.0, abs=1e-4)
    assert judgement.rows_moved is not None
    assert judgement.rows_moved.sigma is not None
    assert abs(judgement.rows_moved.sigma) < 4.5
    assert judgement.rows_moved.n == judgement.holdout.n


def test_what_rows_share_keeps_its_score() -> None:
    """Rows that are one row, held against predictions that are one row, score when moved, too."""
    row = np.random.default_rng(3).normal(size=64)
    indices = np.arange(20 * 64)
    elements = Elements(indices, np.tile(row, 20), indices // 64)

    found = score_moved(elements, NONE, (20, 64), "row", lambda indices: row[indices % 64])

    assert found is not None
    assert found.r == pytest.approx(1.0)


def test_large_hold_outs_are_thinned(make_case: MakeCase) -> None:
    """The control costs no more than so many draws."""
    case = make_case(rows=np.arange(2000))
    judgement = weigh(replace(case, holdout=case.holdout))

    assert judgement.rows_moved is not None
    assert judgement.rows_moved.n == min(ELEMENTS, len(case.holdout))
    assert len(case.holdout) > ELEMENTS
