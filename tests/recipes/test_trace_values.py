"""Regions find their places and back, and a value says which drawn element stands behind each of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import UnknownName, UsageError
from birthmark.recipes.trace_values import (
    Applied,
    Constant,
    Drawn,
    Patched,
    Region,
    Unknown,
    Viewed,
    draws_of,
    sources,
    why_unknown,
)


@st.composite
def regions(draw: Any) -> tuple[Region, int]:
    """A slice of a permuted array as a region, and the elements of the storage behind it."""
    full = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    array = np.arange(int(np.prod(full)), dtype=np.int64).reshape(full)
    array = array.transpose(draw(st.permutations(range(len(full)))))
    slices = []
    for extent in array.shape:
        start = draw(st.integers(0, extent - 1))
        slices.append(slice(start, draw(st.integers(start + 1, extent))))
    part = array[tuple(slices)]
    return Region(
        part.shape, tuple(stride // 8 for stride in part.strides), int(part.reshape(-1)[0])
    ), array.size


@given(regions())
def test_a_region_names_its_places_and_back(given: tuple[Region, int]) -> None:
    """Places are those of a strided array; each place leads back to its element, all others to none."""
    region, storage = given
    array = np.arange(storage + 20, dtype=np.int64)
    strided = np.lib.stride_tricks.as_strided(
        array[region.offset :], region.shape, tuple(8 * stride for stride in region.strides)
    )
    own = np.arange(region.size)
    places = region.places(own)

    assert np.array_equal(places, strided.reshape(-1))
    assert region.reach == places.max() + 1
    assert np.array_equal(region.indices(places), own)
    others = np.setdiff1d(np.arange(storage), places)
    assert (region.indices(others) == -1).all()


def test_a_region_refuses_what_cannot_be() -> None:
    """Extents and strides come in pairs, and none is negative."""
    with pytest.raises(UsageError, match="one of each"):
        Region((2, 3), (1,))
    with pytest.raises(UsageError, match="negative"):
        Region((2,), (-1,))


def test_sources_look_through_arithmetic_views_and_patches() -> None:
    """The draw and the element behind each value, -1 where a constant lies."""
    transposed = Viewed(Region((3, 2), (1, 3)), Applied("mul", (0.5,), Drawn(4), "float32"))
    value = Patched(
        transposed, ((Region((2,), (1,), 2), Constant(0.0, "float32")), (Region((1,), (1,), 5), Drawn(7)))
    )
    draw, element = sources(value, np.arange(6))

    assert draw.tolist() == [4, 4, -1, -1, 4, 7]
    assert element.tolist() == [0, 3, -1, -1, 2, 0]
    assert draws_of(value) == (4, 7)


def test_an_unknown_part_makes_the_whole_unknown() -> None:
    """The reason is that of the part."""
    assert why_unknown(Applied("neg", (), Unknown("lost"), "float32")) == "lost"
    assert why_unknown(Applied("neg", (), Drawn(0), "float32")) is None


def test_an_operation_is_known_and_has_its_numbers() -> None:
    """Other names list the nearest, other counts say how many."""
    with pytest.raises(UnknownName, match="mul"):
        Applied("mull", (1.0,), Drawn(0), "float32")
    with pytest.raises(UsageError, match="expected 2"):
        Applied("clamp", (1.0,), Drawn(0), "float32")
