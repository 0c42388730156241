"""Usual seeds tried on CPU draws: the same values as the sampler's, named seeds first, and a budget."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from birthmark.generators.mt19937 import STEPPED
from birthmark.recipes.seeds import NAMED
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.cpu_seeds import LEAST_SIGMA, search_seeds, seeds_in_order
from birthmark.search.cpu_standard import standard_values
from birthmark.survivors.split import Selection

SHAPE = (40, 50)
SMALL = 1 << 21
Name = Literal["normal", "uniform"]


def selection_of(
    seed: int, index: int = 0, distribution: Name = "normal", axis: Literal["row", "column"] = "row"
) -> Selection:
    """Every third row, or column, of a draw."""
    parameters = (0.0, 0.02) if distribution == "normal" else (-0.02, 0.02)
    indices = np.arange(2000)
    unit = indices // 50 if axis == "row" else indices % 50
    indices, unit = indices[unit % 3 == 0], unit[unit % 3 == 0]
    values = CpuDraw(distribution, parameters, 2000, index).values(seed, indices).astype(np.float64)
    return Selection(
        "w", SHAPE, "float32", axis, distribution, 0.02, 0.01, indices, values, unit, np.ones(len(unit))
    )


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("index", [0, 7, 20_000, STEPPED + 3])
def test_many_seeds_give_what_each_gives(distribution: Name, index: int) -> None:
    """The values of several seeds at once are those of the sampler, wherever in the stream, in any order."""
    seeds = np.array([0, 1337, 2**32 - 1], np.uint32)
    indices = np.array([3, 1999, 0, 700, 703])
    parameters = (0.0, 1.0) if distribution == "normal" else (-1.0, 1.0)
    together = standard_values(seeds, distribution, 2000, indices, index)
    for seed, row in zip(seeds, together, strict=True):
        alone = CpuDraw(distribution, parameters, 2000, index).values(int(seed), indices)
        assert np.array_equal(row, alone)


def test_named_seeds_come_first_and_every_seed_once() -> None:
    """The list starts with the named seeds' low halves, then small numbers, and repeats nothing."""
    seeds = seeds_in_order()
    assert len(np.unique(seeds)) == len(seeds) > 200_000
    named = {seed % 2**32 for seed in NAMED}
    assert set(seeds[: len(named)].tolist()) == named
    rest = seeds[len(named) :]
    assert np.all(np.diff(rest.astype(np.int64)) > 0)


@pytest.mark.parametrize("axis", ["row", "column"])
@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_a_named_seed_is_found_at_its_position(distribution: Name, axis: Literal["row", "column"]) -> None:
    """Seed 1337 stands out at the second of two positions, and what was tried is told."""
    found = search_seeds(selection_of(1337, 2000, distribution, axis), (0, 2000), budget=SMALL)
    assert (found.seed, found.index) == (1337, 2000)
    assert found.sigma is not None
    assert found.sigma > LEAST_SIGMA
    assert [one.index for one in found.tried] == [0, 2000]
    assert found.trials == sum(one.seeds for one in found.tried)


def test_other_seeds_and_positions_are_not_found() -> None:
    """A seed that is not listed, and a listed one elsewhere in the stream, give no candidate."""
    for selection in (selection_of(3_999_999_999), selection_of(1337, 5)):
        found = search_seeds(selection, (0,), budget=SMALL)
        assert (found.seed, found.index) == (None, None)
        assert found.sigma is not None
        assert found.sigma < LEAST_SIGMA


def test_the_budget_bounds_the_seeds() -> None:
    """Half the words are half the seeds, one at least, and how many there would be is told."""
    few = search_seeds(selection_of(3_999_999_999), (0,), budget=SMALL // 2).tried[0]
    many = search_seeds(selection_of(3_999_999_999), (0,), budget=SMALL).tried[0]
    assert many.seeds // 2 == few.seeds
    assert many.of == len(seeds_in_order())
    assert search_seeds(selection_of(1), (0,), budget=1).trials == 1


def test_constant_values_are_not_tried() -> None:
    """Values that do not vary correlate with nothing."""
    selection = selection_of(1)
    selection.values[:] = 0.5
    assert search_seeds(selection, (0,)).trials == 0
