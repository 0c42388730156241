"""The scale of a draw from the lattice of its values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.generators.mt19937 import words
from birthmark.samplers.cpu_normal import Places, fill, places
from birthmark.samplers.cpu_uniform import uniform
from birthmark.search.solve.scales import bound_of, deviation_of


@pytest.mark.parametrize("arithmetic", ["cpu-fused", "cpu-unfused"])
@pytest.mark.parametrize("fan", [7, 784])
def test_bounds_come_out_to_the_last_place(arithmetic: str, fan: int) -> None:
    """A kaiming bound within half a per cent, unknown beforehand, and its arithmetic are found exactly."""
    bound = 1.0 / math.sqrt(fan)
    values = uniform(words(5, 9, 2_000), -bound, bound, arithmetic).astype(np.float64)

    scale = bound_of(values, 0.998 * bound, 1.003 * bound)

    assert scale is not None
    assert (scale.value, scale.arithmetic, scale.share) == (float(np.float32(bound)), arithmetic, 1.0)


def test_bounds_survive_moved_values() -> None:
    """A third of moved values does not hide the bound."""
    bound = 1.0 / math.sqrt(300)
    values = uniform(words(5, 0, 3_000), -bound, bound).astype(np.float64)
    values[::3] = np.float32(values[::3] * 0.99)

    scale = bound_of(values, 0.998 * bound, 1.003 * bound)

    assert scale is not None
    assert scale.value == float(np.float32(bound))


def test_noise_has_no_bound() -> None:
    """Uniform noise from another generator fits no bound."""
    noise = np.random.default_rng(1).uniform(-0.05, 0.05, 3_000).astype(np.float32).astype(np.float64)

    assert bound_of(noise, 0.0499, 0.0502) is None
    assert bound_of(noise[:0], 0.0499, 0.0502) is None


@pytest.mark.parametrize("std", [0.02, 1.0, math.sqrt(2.0 / 784), 0.02 / math.sqrt(24), 1.0 / math.sqrt(513)])
def test_usual_deviations_come_out(std: float) -> None:
    """Decimals, Xavier's, Kaiming's and depth-scaled deviations are found within 3 %."""
    values = fill(words(3, 0, 2_000), 2_000, 0.0, std).astype(np.float64)

    scale = deviation_of(values, places(2_000, np.arange(2_000)), 0.97 * std, 1.03 * std)

    assert scale is not None
    assert np.float32(scale.value) == np.float32(std)


def test_an_odd_deviation_needs_to_be_named() -> None:
    """A deviation that nobody would write down is found only among the caller's."""
    std = 0.0173459
    values = fill(words(3, 0, 2_000), 2_000, 0.0, std).astype(np.float64)
    where: Places = places(2_000, np.arange(2_000))

    assert deviation_of(values, where, 0.0170, 0.0177) is None
    found = deviation_of(values, where, 0.0170, 0.0177, [std])
    assert found is not None
    assert found.value == std
