"""Probes are as many, and as cheap, as a small chance of a miss takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.search.elements import Elements
from birthmark.search.probes import Choice, choose


def made(units: list[int], probability: list[float]) -> Elements:
    """Elements of which only unit and probability matter."""
    n = len(units)
    numbers = np.arange(n, dtype=np.int64)
    zeros = np.zeros(n)
    fails = np.full(n, 0.03)
    return Elements(numbers, np.array(units, np.int64), np.array(probability), zeros, zeros, zeros, fails)


def chosen(elements: Elements, packed: NDArray[np.uint64], **more: Any) -> Choice:
    share = np.full(len(elements), 1e-4)
    allowed = np.ones(len(elements), np.bool_)
    return choose(elements, share, packed, allowed, **{"most_miss": 1e-3, **more})


def alike(elements: Elements) -> NDArray[np.uint64]:
    """Places on which two predictions agree."""
    return np.zeros((2, len(elements)), np.uint64)


def test_sure_rows_need_three_probes() -> None:
    """Three rows of 0.97, one probe each."""
    elements = made([1, 1, 2, 2, 3, 3], [0.97] * 6)
    choice = chosen(elements, alike(elements))

    assert sorted(elements.unit[list(choice.fresh)].tolist()) == [1, 2, 3]
    assert choice.miss < 1e-3


def test_unsure_rows_need_more() -> None:
    """Rows of 0.6 take more probes than rows of 0.97, and the chance of a miss is still met."""
    elements = made([u for u in range(12) for _ in range(2)], [0.6] * 24)
    choice = chosen(elements, alike(elements))

    assert len(choice.fresh) > 6
    assert choice.miss < 1e-3


def test_what_cannot_be_reached_is_said() -> None:
    """One row of 0.9 misses one time in ten, however many probes it has."""
    elements = made([1] * 20, [0.9] * 20)
    choice = chosen(elements, alike(elements))

    assert len(choice.fresh) < 4
    assert 0.1 < choice.miss < 0.11


def test_probes_that_predictions_share_go_first() -> None:
    """An element in one place under all predictions is preferred to one in as many places as there are."""
    elements = made([1, 2, 3, 4, 5, 6], [0.97] * 6)
    packed = np.arange(50 * 6, dtype=np.uint64).reshape(50, 6)
    packed[:, [1, 3, 5]] = 7
    choice = chosen(elements, packed)

    assert sorted(choice.fresh) == [1, 3, 5]


def test_sharp_probes_go_before_blunt_ones() -> None:
    """Among elements of equal places the one that fewer seeds pass is taken."""
    elements = made([1, 1, 2, 2, 3, 3], [0.97] * 6)
    share = np.array([0.3, 1e-4] * 3)
    choice = choose(elements, share, alike(elements), np.ones(6, np.bool_), most_miss=1e-3)

    assert sorted(choice.fresh) == [1, 3, 5]


def test_elements_without_a_test_are_never_chosen() -> None:
    """A share above 1 says that no word is excluded."""
    elements = made([1, 2, 3], [0.97] * 3)
    choice = choose(
        elements, np.array([2.0, 2.0, 1e-4]), alike(elements), np.ones(3, np.bool_), most_miss=1e-3
    )

    assert choice.fresh == (2,)


def test_earlier_probes_count() -> None:
    """With two rows scanned before, one more probe is enough."""
    elements = made([1, 2, 3, 4], [0.97] * 4)
    choice = chosen(elements, alike(elements), chosen=[0, 1])

    assert len(choice.fresh) == 1
    assert choice.miss < 1e-3


def test_the_number_can_be_given() -> None:
    """A user who wants five probes gets five."""
    elements = made(list(range(8)), [0.99] * 8)

    assert len(chosen(elements, alike(elements), count=5).fresh) == 5
