"""Probes and witnesses come from values that a draw makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from birthmark.search.elements import LARGEST_WITNESS, probe_candidates, usable, witnesses


def test_values_too_large_for_their_number_are_left_out(planted: Callable[..., Any]) -> None:
    """An altered element of seven standard deviations would make a very sharp probe, and a wrong one."""
    made = planted()
    values = made.values()
    values[[10, 500]] = 7 * 0.02
    selection = made.selection(values)
    kept = set(usable(selection, "bfloat16").indices.tolist())

    assert selection.indices[10] not in kept
    assert selection.indices[500] not in kept
    assert len(kept) > 0.99 * len(values)


def test_missing_values_are_left_out(planted: Callable[..., Any]) -> None:
    """NaN and infinity never become elements."""
    made = planted()
    selection = made.selection()
    selection.values[[3, 4]] = np.nan, np.inf
    kept = set(usable(selection, "float32").indices.tolist())

    assert kept.isdisjoint(selection.indices[[3, 4]].tolist())


def test_candidates_are_the_largest_of_each_row(planted: Callable[..., Any]) -> None:
    """For normals large values are sharp; every row contributes its own."""
    selection = planted().selection()
    elements = usable(selection, "bfloat16")
    found = probe_candidates(elements, normal=True)

    assert set(found.unit.tolist()) == set(selection.unit.tolist())
    for unit in np.unique(found.unit):
        own = np.abs(selection.values[selection.unit == unit])
        mine = np.abs(selection.values[np.isin(selection.indices, found.indices[found.unit == unit])])
        assert mine.min() >= np.sort(own)[-6]


def test_witnesses_take_turns_among_rows(planted: Callable[..., Any]) -> None:
    """The first of them come from as many rows as there are, and none is larger than a witness may be."""
    selection = planted().selection()
    elements = usable(selection, "bfloat16")
    asked = witnesses(elements, normal=True)
    rows = len(np.unique(selection.unit))

    assert len(np.unique(asked.unit[:rows])) == rows
    assert np.maximum(asked.high, -asked.low).max() <= LARGEST_WITNESS
