"""Where the untouched energy is looked for."""

from __future__ import annotations

import numpy as np

from birthmark.survivors.starts import MOST_CROWDS, MOST_STARTS, likely_energies


def test_wide_units_crowd_where_they_are_untouched() -> None:
    """A tight group far below trained rows, or between them, is a start within its own spread."""
    random = np.random.default_rng(0)
    for middle in (1e-20, 0.3, 1.0):
        group = middle * np.exp(np.sqrt(2 / 4096) * random.standard_normal(40))
        energy = np.r_[group, np.exp(random.uniform(-2.0, 2.0, 3000))]

        starts = likely_energies(energy, 4096)

        assert len(starts) <= MOST_CROWDS
        assert any(abs(np.log(start / middle)) < 0.02 for start in starts)


def test_wide_units_without_a_crowd_have_no_start() -> None:
    """Smoothly spread energies give nothing to start from."""
    energy = np.exp(np.linspace(-2.0, 2.0, 4000))

    assert likely_energies(energy, 4096) == []


def test_narrow_units_start_above_the_smallest() -> None:
    """A start lies within half of the energy of few survivors below many trained rows."""
    random = np.random.default_rng(1)
    chance = random.chisquare(96, 4000) / 96
    energy = chance * np.r_[np.ones(40), 1.2 + random.exponential(2.0, 3960)]

    starts = likely_energies(energy, 96)

    assert len(starts) <= MOST_STARTS + 1
    assert any(0.8 < start < 1.5 for start in starts)
