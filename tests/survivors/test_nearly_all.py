"""Nearly all survivors for a solution, and a small hold-out."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import NothingToSearch
from birthmark.survivors.nearly_all import LEAST_HELD, MOST_VALUES, nearly_all
from birthmark.survivors.survivor import Survivors


class Memory:
    """A checkpoint whose every value is its index."""

    def elements(self, _: str, indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The indices themselves."""
        return indices.astype(np.float64)


def survivors_of(
    shape: tuple[int, ...], axis: Literal["row", "column", "tensor"], ids: list[int], name: str = "w"
) -> Survivors:
    """Survivors that are all equally likely."""
    return Survivors(
        name, shape, "float32", axis, np.array(ids), np.full(len(ids), 0.9), "normal", 0.02, 0.01
    )


def divided(survivors: Survivors) -> tuple[Any, Any]:
    """Selection and hold-out."""
    memory: Any = Memory()
    return nearly_all(memory, survivors)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 200),
    width=st.integers(1, 300),
    axis=st.sampled_from(["row", "column"]),
    data=st.data(),
)
def test_the_parts_are_apart_and_complete(rows: int, width: int, axis: Any, data: Any) -> None:
    """No element is in both, together they are all, and the hold-out is small where it can be."""
    count = rows if axis == "row" else width
    ids = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=count)))
    survivors = survivors_of((rows, width), axis, ids)
    selection, holdout = divided(survivors)
    total = len(ids) * (width if axis == "row" else rows)
    assert len(selection.indices) + len(holdout.indices) == total
    assert not set(selection.indices) & set(holdout.indices)
    assert len(holdout.indices) >= min(LEAST_HELD, total / 2)
    assert len(holdout.indices) < LEAST_HELD + max(16, 0.125 * total + 1)
    assert np.array_equal(selection.values, selection.indices)
    unit = selection.indices // width if axis == "row" else selection.indices % width
    assert np.array_equal(selection.unit, unit)


def test_whole_rows_are_held_out_where_they_are_short() -> None:
    """Of a hundred rows of 48 values, two are held out as a whole."""
    selection, holdout = divided(survivors_of((100, 48), "row", list(range(100))))
    assert len(np.unique(holdout.unit)) == 2
    assert not set(selection.unit) & set(holdout.unit)


def test_long_rows_are_held_out_by_runs_of_sixteen() -> None:
    """Of four rows of 512 values, six runs are held out; partners of CPU normals stay together."""
    _, holdout = divided(survivors_of((4, 512), "row", [0, 1, 2, 3]))
    runs, counts = np.unique(holdout.indices // 16, return_counts=True)
    assert len(runs) == 6
    assert np.all(counts == 16)


def test_the_choice_depends_on_names_and_numbers_alone() -> None:
    """The same tensor is divided alike every time, another one otherwise."""
    first, again, other = (
        divided(survivors_of((100, 48), "row", list(range(100)), name))[1] for name in ("w", "w", "v")
    )
    assert np.array_equal(first.indices, again.indices)
    assert not np.array_equal(first.indices, other.indices)


def test_of_very_many_values_the_first_rows_are_taken() -> None:
    """A tensor of millions gives as many whole rows as a solution can use, without gaps in them."""
    selection, holdout = divided(survivors_of((100_000, 64), "tensor", list(range(100_000))))
    assert len(selection.indices) + len(holdout.indices) == MOST_VALUES
    assert selection.indices.max() < MOST_VALUES


def test_unlikely_survivors_are_refused() -> None:
    """Where no row is likely there is nothing to divide."""
    unlikely = Survivors("w", (4, 4), "float32", "row", np.arange(4), np.full(4, 0.2), "normal", 0.02, 0.01)
    with pytest.raises(NothingToSearch, match="no row"):
        divided(unlikely)
