"""What values say about words: true of the draw they come from, and of no other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.errors import NothingToSearch, UsageError
from birthmark.search.cpu_positions.conditions import (
    MOST_VALUES,
    conditions_of,
    conditions_of_selection,
    parities,
)
from birthmark.search.cpu_positions.fields import NONE, parts
from birthmark.search.cpu_positions.judge import agreement
from birthmark.survivors.split import Selection

BOUND = st.integers(0, 2**24 - 1)

#: How the values came about, and how many bits of words they must give at the least.
DRAWS: dict[str, tuple[dict[str, Any], int]] = {
    "float32 uniforms": ({}, 12 * 21),
    "float32 uniforms of a bound within 5 %": ({"scale": (0.03, 0.0315)}, 12 * 4),
    "bfloat16 uniforms": ({"stored": "bfloat16"}, 12 * 7),
    "float16 uniforms": ({"stored": "float16"}, 12 * 9),
    "float32 pairs": ({"distribution": "normal", "places": range(16)}, 16 * 20),
    "bfloat16 pairs at a scale within 3 %": (
        {"distribution": "normal", "places": range(160), "stored": "bfloat16", "scale": (0.0291, 0.0309)},
        160 * 6,
    ),
    "normals without partner": ({"distribution": "normal", "places": range(0, 960, 16)}, 60),
    "the odd end of a normal draw": (
        {"distribution": "normal", "shape": (1003,), "places": range(960, 1003)},
        16 * 20,
    ),
    "few normals": ({"distribution": "normal", "shape": (3, 5), "places": range(15)}, 14 * 18),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("index", [0, 2_345_678])
def test_every_condition_holds_for_the_true_draw(left: Callable[..., Any], name: str, index: int) -> None:
    """All parities hold at the true seed and position; half of them at the next seed or position."""
    facts, least = DRAWS[name]
    draw = left(index=index, **facts)

    conditions = draw.conditions()

    count = len(conditions)
    assert count >= least
    assert agreement(conditions, draw.seed, index) == count
    for seed, where in ((draw.seed + 1, index), (draw.seed, index + 1)):
        assert abs(agreement(conditions, seed, where) - count / 2) < 5 * math.sqrt(count) / 2


def test_values_that_moved_fail(left: Callable[..., Any]) -> None:
    """A little training leaves the leading bits of a word right and the others wrong."""
    draw = left()
    conditions = draw.conditions(draw.values() * 1.001)

    assert agreement(conditions, draw.seed, draw.index) < 0.9 * len(conditions)


@given(BOUND, BOUND, BOUND, st.sampled_from((0, 5)))
@settings(max_examples=100, deadline=None)
def test_parities_hold_within_the_bounds(a: int, b: int, c: int, shift: int) -> None:
    """Whatever lies between two bounds satisfies all parities that they fix, and all are worth their bit."""
    low, word, high = sorted((a, b, c))
    one = np.array([0])
    ends = np.array([low], np.uint32), np.array([high], np.uint32)
    numbers, masks, sums = parities(parts(one, shift, 24, *ends, one, one + NONE))
    assert (numbers == 0).all()
    assert ((np.bitwise_count(masks & np.uint32(word << shift)) & 1) == sums).all()
    # n independent parities leave 2^(24 - n) words, and those between the bounds are among them.
    assert high - low + 1 <= 2 ** (24 - len(masks))


def test_a_selection_is_read_at_its_own_scale(left: Callable[..., Any]) -> None:
    """The survey's scale and its error give the interval; a scale that is named gives more."""
    draw = left(distribution="normal", places=range(160))
    indices = draw.indices()
    selection = Selection(
        "w",
        draw.shape,
        "float32",
        "row",
        "normal",
        0.0302,
        0.01,
        indices,
        draw.values(),
        indices // 400,
        np.full(160, 0.9),
    )
    wide, named = conditions_of_selection(selection), conditions_of_selection(selection, (0.03, 0.03))

    assert agreement(wide, draw.seed, draw.index) == len(wide)
    assert agreement(named, draw.seed, draw.index) == len(named) > len(wide)
    assert np.all(wide.trust == 0.9)
    assert wide.digest != named.digest


def test_two_units_behind_a_pair_must_both_be_right(left: Callable[..., Any]) -> None:
    """A pair whose values lie in different columns is as sure as both together."""
    draw = left(distribution="normal", places=(3, 11))
    units = np.array([3, 11])
    conditions = conditions_of(
        draw.values(), draw.indices(), draw.shape, "normal", (0.03, 0.03), unit=units, trust=np.full(2, 0.9)
    )
    assert np.allclose(conditions.trust, 0.81)


def test_the_surest_values_are_kept(left: Callable[..., Any]) -> None:
    """Of many values those of the surest units stay."""
    draw = left(places=range(3000))
    trust = np.linspace(0.5, 1.0, 3000)
    conditions = conditions_of(
        draw.values(), draw.indices(), draw.shape, "uniform", (0.03, 0.03), trust=trust
    )
    assert len(conditions.seen.values) == MOST_VALUES
    assert conditions.seen.indices.min() == 3000 - MOST_VALUES


def test_what_cannot_be_read_is_said(left: Callable[..., Any]) -> None:
    """Doubles, values that say nothing and a scale of zero end in one line each."""
    draw = left()
    with pytest.raises(NothingToSearch, match="float64"):
        conditions_of(
            draw.values() * (1 / 3), draw.indices(), draw.shape, "uniform", (0.01, 0.01), dtype="float64"
        )
    with pytest.raises(NothingToSearch, match="none of 12 values"):
        conditions_of(np.zeros(12), draw.indices() * 16, (1, 40_000), "normal", (0.03, 0.03))
    with pytest.raises(UsageError, match="interval of positive numbers"):
        left(scale=(0.0, 0.03)).conditions()
