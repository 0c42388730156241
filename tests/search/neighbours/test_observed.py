"""What a neighbouring search is given, and that its two halves never meet."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.search.neighbours.observed import Observed, observed_of, whole
from birthmark.survivors.split import Selection


def test_halves_share_no_row() -> None:
    """Whole rows go to one side; few rows are cut element by element; nothing is lost."""
    many = whole("w", np.arange(4000.0).reshape(100, 40))
    seen, unseen = many.halves()
    assert not set(seen.unit) & set(unseen.unit)
    assert sorted([*seen.indices, *unseen.indices]) == list(range(4000))
    seen, unseen = whole("w", np.arange(400.0).reshape(2, 200)).halves()
    assert set(seen.unit) == set(unseen.unit) == {0, 1}
    assert not set(seen.indices) & set(unseen.indices)


def test_another_name_is_cut_otherwise() -> None:
    """The cut is a matter of the tensor's name and the row's number alone."""
    values = np.arange(4000.0).reshape(100, 40)
    cuts = [tuple(whole(name, values).halves()[0].indices) for name in ("v", "w", "w")]
    assert cuts[0] != cuts[1] == cuts[2]


def test_a_spread_prefers_sure_rows() -> None:
    """Fewer values are taken evenly from the rows that are likeliest untouched."""
    observed = whole("w", np.arange(400.0).reshape(10, 40))
    probability = np.repeat([0.9, 0.5] * 5, 40)
    some = Observed("w", (10, 40), "float32", observed.indices, observed.values, observed.unit, probability)
    chosen = some.spread(50)
    assert len(chosen.values) == 50
    assert set(chosen.unit) == {0, 2, 4, 6, 8}
    assert some.spread(1000) is some


def test_selections_lose_what_is_not_finite() -> None:
    """A scan's selection is taken over without infinities and NaN."""
    values = np.array([1.0, np.nan, 2.0, np.inf])
    selection = Selection(
        "w", (4, 1), "float32", "row", "normal", 1.0, 0.1, np.arange(4), values, np.arange(4), np.ones(4)
    )
    assert observed_of(selection).indices.tolist() == [0, 2]


def test_what_does_not_belong_together_is_refused() -> None:
    """Unequal lengths and indices that do not ascend are refused."""
    two, three = np.arange(2), np.arange(3)
    with pytest.raises(UsageError, match="lengths"):
        Observed("w", (3,), "float32", two, three.astype(float), two, two.astype(float))
    with pytest.raises(UsageError, match="ascend"):
        Observed("w", (3,), "float32", two[::-1], two.astype(float), two, two.astype(float))
    with pytest.raises(UsageError, match="outside"):
        Observed("w", (1,), "float32", two, two.astype(float), two, two.astype(float))
