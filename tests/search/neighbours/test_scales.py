"""Scales: fitted through impostors, then the number that somebody wrote."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.search.neighbours.scales import fitted, written


@pytest.mark.parametrize("impostors", [0.0, 0.3])
def test_a_factor_is_found_among_impostors(impostors: float) -> None:
    """Where most values are factor times standard ones, the factor comes out to six digits."""
    generator = np.random.default_rng(3)
    standard = generator.standard_normal(3000)
    stored = 0.0713 * standard
    wrong = generator.random(3000) < impostors
    stored[wrong] = generator.standard_normal(int(wrong.sum()))
    factor, spread = fitted(stored, standard)
    assert math.isclose(factor, 0.0713, rel_tol=1e-6)
    assert (spread < 1e-6) == (impostors == 0.0) or spread < 0.5


def test_noise_has_no_scale() -> None:
    """Against unrelated values the spread is wide, and too few or zero values give none."""
    generator = np.random.default_rng(3)
    assert fitted(generator.standard_normal(3000), generator.standard_normal(3000))[1] > 0.5
    assert fitted(np.ones(2), np.ones(2)) == (0.0, math.inf)
    assert fitted(np.zeros(9), np.ones(9)) == (0.0, math.inf)


def test_scales_that_people_write() -> None:
    """Short decimals and roots of fans are offered near an estimate, and nothing far from it."""
    assert "0.02" in {text: value for value, text in written(0.02001)}
    assert math.sqrt(6 / 300) in [value for value, _ in written(0.14142, (100, 200))]
    assert all(abs(value / 0.0713 - 1) < 2e-3 for value, _ in written(0.0713, (64, 64)))
    assert list(written(0.0)) == []
