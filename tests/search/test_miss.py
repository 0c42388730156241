"""The chance of a miss is that of all probes failing."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.search.miss import ALTERED, chance_of_miss, element_fails, unit_fails


def test_one_unit_fails_as_its_row_or_its_probes_do() -> None:
    """A row of probability p, all of whose probes are altered with chance f, holds with p (1 - f)."""
    assert unit_fails(1.0, 0.05) == pytest.approx(0.05)
    assert unit_fails(0.9, 0.01) == pytest.approx(1 - 0.9 * 0.99)
    assert unit_fails(0.9, 1.0) == 1.0
    assert unit_fails(0.0, 0.0) == 1.0


def test_units_are_independent() -> None:
    """Three rows of 0.95 miss a true seed less than once in a thousand; one row cannot do that."""
    assert chance_of_miss({1: (0.95, 0.03), 2: (0.95, 0.03), 3: (0.95, 0.03)}) < 1e-3
    assert chance_of_miss({1: (0.95, 0.0)}) == pytest.approx(0.05)
    assert chance_of_miss({}) == 1.0


def test_large_values_are_likelier_altered() -> None:
    """Simulated: among normals of which three per cent got noise of their own width, by size."""
    chance = np.random.default_rng(0)
    drawn = chance.normal(size=2_000_000)
    altered = chance.random(drawn.size) < ALTERED
    size = np.abs(drawn + np.where(altered, chance.normal(size=drawn.size), 0.0))
    for middle in (0.5, 2.0, 3.0, 3.5):
        near = np.abs(size - middle) < 0.05
        claimed = float(element_fails("normal", np.array([middle]))[0])

        assert float(altered[near].mean()) == pytest.approx(claimed, rel=0.15)


def test_uniform_values_are_altered_alike() -> None:
    """Whatever their size."""
    assert element_fails("uniform", np.array([0.01, 0.5])).tolist() == [ALTERED, ALTERED]
