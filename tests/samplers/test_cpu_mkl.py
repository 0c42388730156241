"""Draws that builds up to 2.6 left to Intel's library: against values of the 2.6.0 wheel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_mkl import MODULUS, MULTIPLIER, members

#: torch 2.6.0 CPU on an Intel processor, seed 42: `exponential_()` on 2,000 floats and doubles, the first 5
#: and 3.
FLOATS = [0.2889092, 0.32182762, 1.31948531, 0.83890486, 0.735412]
DOUBLES = [0.5224159172320835, 0.15751844028530917, 0.606812922120664]


def test_exponentials_are_the_wheels_within_their_last_bits() -> None:
    """Within one unit in the last place in float32, within 1e-9 in float64."""
    single = CpuDraw("exponential", (1.0,), 2_000, version="2.6", mkl=True)
    double = replace(single, dtype="float64")

    values = single.values(42, np.arange(5))
    assert np.abs(values - np.array(FLOATS, np.float32)).max() <= np.spacing(np.float32(1.4))
    assert np.allclose(double.values(42, np.arange(3)), DOUBLES, rtol=1e-9, atol=0)
    assert (single.consumed, double.consumed) == (1, 2)
    assert not single.exact


def test_the_library_draws_only_where_it_did() -> None:
    """Not from 2.7 on, not on other processors, not Cauchy draws."""
    ask = np.arange(5)
    new = CpuDraw("exponential", (1.0,), 2_000)

    assert np.array_equal(replace(new, version="2.7", mkl=True).values(42, ask), new.values(42, ask))
    assert np.array_equal(replace(new, version="2.6").values(42, ask), new.values(42, ask))
    assert not np.any(replace(new, version="2.6", mkl=True).values(42, ask) == new.values(42, ask))
    cauchy = CpuDraw("cauchy", (0.0, 1.0), 10, version="2.6", mkl=True)
    assert cauchy.consumed == 20


def test_members_are_reached_without_those_before() -> None:
    """Any member equals the one that stepping gives; a seed of 0 stands for 1."""
    steps = [1]
    for _ in range(300):
        steps.append(steps[-1] * int(MULTIPLIER) % int(MODULUS))

    assert members(0, np.array([300, 0, 7])).tolist() == [steps[300], 1, steps[7]]
    assert members(int(MODULUS) + 5, np.array([0])).tolist() == [5]
    assert members(1, np.array([int(MODULUS) - 1])).tolist() == [1]
