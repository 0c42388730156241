"""Levelling in blocks: what the whole tensor gives, however it is cut, with bounded reading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.survivors.levelling import levelled
from birthmark.weak_map import levels
from birthmark.weak_map.levels import measure, sampled


def rough(shape: tuple[int, int], seed: int = 0) -> NDArray[np.float64]:
    """Columns with means and sizes, rows with sizes, a heavy tail, and one huge value."""
    generator = np.random.default_rng(seed)
    values = generator.standard_t(3, shape) * generator.lognormal(size=shape[1])
    values = values * generator.lognormal(size=(shape[0], 1)) + 3 * generator.normal(size=shape[1])
    values.flat[values.size // 2] = 1e3
    return values


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 40),
    step=st.integers(1, 12),
    unit=st.sampled_from([1e-30, 1.0, 1e30]),
)
@settings(max_examples=60, deadline=None)
def test_blocks_are_levelled_as_the_whole_is(rows: int, columns: int, step: int, unit: float) -> None:
    """Any shape, any cut, any scale: the values of `survivors.levelling`."""
    values = rough((rows, columns)) * unit
    found = measure(lambda first, last: values[first:last], rows, columns)
    parts = [found.apply(values[first : first + step])[1] for first in range(0, rows, step)]
    whole = levelled(values, np.arange(values.size), columns).reshape(values.shape)

    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-9)


def test_values_that_are_not_finite_are_left_out() -> None:
    """They become 0 and move nothing else; so does a column without any spread."""
    values = rough((50, 20))
    values[3, 4], values[5, 6], values[:, 7] = np.nan, np.inf, 2.5
    found = measure(lambda first, last: values[first:last], 50, 20)
    stored, level, finite = found.apply(values)

    assert not finite[3, 4]
    assert not finite[5, 6]
    assert stored[3, 4] == level[3, 4] == level[5, 6] == 0.0
    assert np.all(np.abs(level[:, 7]) < 1e-9)
    assert np.all(np.isfinite(level))


@pytest.mark.parametrize("values", [np.zeros((9, 9)), np.full((9, 9), 1e300), np.full((9, 9), np.nan)])
def test_nothing_to_level(values: NDArray[np.float64]) -> None:
    """Constants and what is not finite level to 0 or to one number, without a warning."""
    level = measure(lambda first, last: values[first:last], 9, 9).apply(values)[1]

    assert np.all(np.isfinite(level))


def test_a_large_tensor_is_measured_on_runs_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen runs from the first row to the last; what they give is nearly what all rows give."""
    values = rough((4000, 16))
    whole = measure(lambda first, last: values[first:last], 4000, 16).apply(values)[1]
    monkeypatch.setattr(levels, "MOST", 16_000)
    read: list[tuple[int, int]] = []

    def rows(first: int, last: int) -> NDArray[Any]:
        read.append((first, last))
        return values[first:last]

    level = measure(rows, 4000, 16).apply(values)[1]

    assert len(read) == 16
    assert read[0][0] == 0
    assert read[-1][1] == 4000
    assert sum(last - first for first, last in read) <= 1000
    assert np.corrcoef(level.ravel(), whole.ravel())[0, 1] > 0.99
    assert list(sampled(1000, 16)) == [(0, 1000)]


def test_columns_without_end_are_levelled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of columns none has numbers of its own, which bounds the memory."""
    monkeypatch.setattr(levels, "MOST_COLUMNS", 10)
    values = rough((30, 20))
    found = measure(lambda first, last: values[first:last], 30, 20)

    assert all(len(each.mean) == len(each.size) == 1 for each in found.rounds)
