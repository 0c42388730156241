"""The conditions that passes rest on: few values, other ones each time, and an honest chance of a miss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.errors import NothingToSearch
from birthmark.search.cpu_positions.conditions import Conditions, conditions_of
from birthmark.search.cpu_positions.passes import ENOUGH, MOST_LOOSE, STRICT, _quantile, plan_passes
from birthmark.search.miss import ALTERED


def in_units(left: Callable[..., Any], units: int, trust: float) -> Conditions:
    draw = left(places=range(64))
    indices = draw.indices()
    found: Conditions = conditions_of(
        draw.values(),
        indices,
        draw.shape,
        "uniform",
        (0.03, 0.03),
        unit=indices % units,
        trust=np.full(64, trust),
    )
    return found


def test_a_float32_value_is_enough_for_a_pass(left: Callable[..., Any]) -> None:
    """All strict conditions rest on one value, which alone can spoil the pass; the next rests on another."""
    planned = plan_passes(left().conditions())
    first, second = planned.passes
    conditions = left().conditions()
    assert (len(first.strict), first.values) == (STRICT, 1)
    assert len(set(conditions.first[first.strict])) == 1
    assert not set(conditions.first[first.strict]) & set(conditions.first[second.strict])
    assert planned.miss == pytest.approx((ALTERED, ALTERED**2))


def test_no_condition_is_tested_twice(left: Callable[..., Any]) -> None:
    """What is counted is not what must hold, and is no more than it takes."""
    for chosen in plan_passes(in_units(left, 4, 0.9)).passes:
        both = np.concatenate([chosen.strict, chosen.loose])
        assert len(np.unique(both)) == len(both) == STRICT + MOST_LOOSE
        assert MOST_LOOSE / 2 < chosen.least < MOST_LOOSE


def test_passes_go_on_in_other_units(left: Callable[..., Any]) -> None:
    """Doubtful units are tried one after the other, until a miss is unlikely."""
    conditions = in_units(left, 4, 0.8)
    planned = plan_passes(conditions)
    units = [set(conditions.seen.unit[conditions.first[each.strict]]) for each in planned.passes]
    assert all(len(each) == 1 for each in units)
    assert len(set.union(*units)) == len(units) > 1
    assert list(planned.miss) == sorted(planned.miss, reverse=True)
    assert planned.miss[-1] <= ENOUGH < planned.miss[-2]


def test_passes_end_where_they_cannot_help(left: Callable[..., Any]) -> None:
    """With one unit the doubt about it stays; more passes are made only if asked for."""
    conditions = in_units(left, 1, 0.7)
    assert len(plan_passes(conditions).passes) == 1
    asked = plan_passes(conditions, 3)
    assert len(asked.passes) == 3
    assert asked.miss[-1] > 0.3 - 1e-9
    assert len(plan_passes(conditions, 1).passes) == 1


def test_weak_values_join(left: Callable[..., Any]) -> None:
    """Where no unit has enough by itself, several must be right, and the chance of a miss says so."""
    conditions = left(distribution="normal", places=range(0, 960, 16), trust=0.99).conditions()
    planned = plan_passes(conditions)
    first = planned.passes[0]
    assert first.values > 2
    assert planned.miss[0] > 1 - 0.99**first.values


def test_too_few_bits_are_refused(left: Callable[..., Any]) -> None:
    """A pass needs its strict conditions."""
    with pytest.raises(NothingToSearch, match="takes 12"):
        plan_passes(left(places=(5,), stored="bfloat16").conditions())


@pytest.mark.parametrize(("count", "bits"), [(96, 20), (96, 8), (30, 8), (5, 8)])
def test_the_count_is_passed_by_few_wrong_seeds(count: int, bits: int) -> None:
    """The threshold is the least whose binomial tail is below the limit, if there is one."""
    least = _quantile(count, bits)
    tail = [
        sum(math.comb(count, k) for k in range(start, count + 1)) / 2**count for start in (least, least - 1)
    ]
    if least < count:
        assert tail[0] <= 2**-bits < tail[1]
    else:
        assert tail[1] > 2**-bits
