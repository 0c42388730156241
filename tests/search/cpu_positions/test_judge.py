"""The last word on a seed: how many conditions hold, how likely that is by chance, and at which scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.cpu_positions.judge import (
    VERIFIED,
    PositionCandidate,
    judge,
    least_conditions,
    log10_chance,
)

TRIALS = 2**32


@pytest.mark.parametrize(
    ("facts", "arithmetic"),
    [
        ({"scale": (0.02999, 0.0302)}, "cpu-fused"),
        ({"distribution": "normal", "places": range(16), "scale": (0.029, 0.031)}, "cpu-fused"),
        ({"distribution": "normal", "shape": (2, 5), "places": range(10)}, "cpu-fused"),
    ],
)
def test_the_true_seed_stands_out(left: Callable[..., Any], facts: dict[str, Any], arithmetic: str) -> None:
    """All conditions hold, all values are equal bit for bit, and the scale is the one that was drawn with."""
    draw = left(**facts)
    found = judge(draw.conditions(), draw.seed, draw.index, TRIALS)
    count = len(draw.indices())
    assert isinstance(found, PositionCandidate)
    assert (found.agreeing, found.equal, found.values) == (found.of, count, count)
    assert (found.scale, found.written, found.arithmetic) == (0.03, True, arithmetic)
    assert found.log10_p < VERIFIED


def test_few_normals_at_an_open_scale(left: Callable[..., Any]) -> None:
    """Below 16 elements the scale is a usual one near the best fit, or the fit itself."""
    for parameter, written in ((0.02, True), (0.0237, False)):
        draw = left(
            distribution="normal",
            shape=(10,),
            places=range(10),
            parameter=parameter,
            scale=(0.9 * parameter, 1.1 * parameter),
        )
        found = judge(draw.conditions(), draw.seed, draw.index, TRIALS)
        assert found is not None
        assert found.written == written
        assert found.scale == pytest.approx(parameter, rel=1e-6)


def test_wrong_seeds_and_positions_do_not(left: Callable[..., Any]) -> None:
    """The next seed and the next position are nothing."""
    draw = left()
    conditions = draw.conditions()
    assert judge(conditions, draw.seed + 1, draw.index, TRIALS) is None
    assert judge(conditions, draw.seed, draw.index + 1, TRIALS) is None


def test_a_few_touched_values_are_seen(left: Callable[..., Any]) -> None:
    """Some wrong values leave the seed standing, and the counts say how many."""
    draw = left()
    values = draw.values()
    values[:3] *= -1.0
    found = judge(draw.conditions(values), draw.seed, draw.index, TRIALS)
    assert found is not None
    assert found.equal == 9
    assert found.agreeing < found.of


@pytest.mark.parametrize(("agreeing", "of"), [(60, 60), (70, 96), (51, 96), (300, 400)])
def test_the_chance_is_a_bound(agreeing: int, of: int) -> None:
    """Never below the binomial tail, exact for all of them, and grown by the trials."""
    exact = math.log10(bdtrc(agreeing - 1, of, 0.5))
    bound = log10_chance(agreeing, of, 1)
    assert bound >= exact - 1e-9
    assert bound <= exact + 2.0
    if agreeing == of:
        assert bound == pytest.approx(exact)
    assert log10_chance(agreeing, of, 1000) == pytest.approx(min(0.0, bound + 3.0))


def test_half_or_fewer_is_no_evidence() -> None:
    """What chance gives has chance 1; so has nothing."""
    assert log10_chance(48, 96, 1) == log10_chance(10, 96, 7) == log10_chance(0, 0, 1) == 0.0


@pytest.mark.parametrize("trials", [1, 2**32, 10**15])
def test_how_many_conditions_it_takes(trials: int) -> None:
    """With one fewer even a perfect seed does not stand out."""
    least = least_conditions(trials)
    assert log10_chance(least, least, trials) < VERIFIED <= log10_chance(least - 1, least - 1, trials)


def test_unfused_uniforms_are_told_apart(left: Callable[..., Any]) -> None:
    """Of both arithmetics the one that predicts more values is reported."""
    draw = left(places=range(200))
    other = CpuDraw("uniform", (-0.03, 0.03), 120_000, draw.index, "float32", "cpu-unfused")
    values = np.asarray(other.values(draw.seed, draw.indices()), np.float64)
    found = judge(draw.conditions(values), draw.seed, draw.index, TRIALS)
    fused = judge(draw.conditions(), draw.seed, draw.index, TRIALS)
    assert found is not None
    assert fused is not None
    assert (found.arithmetic, found.equal) == ("cpu-unfused", 200)
    assert (fused.arithmetic, fused.equal) == ("cpu-fused", 200)
