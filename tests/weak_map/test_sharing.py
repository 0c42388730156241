"""Tensors that are predicted by the same numbers: found, and allowed for when scores are pooled."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
import pytest

from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_values import Drawn
from birthmark.weak_map.births import Aim
from birthmark.weak_map.controls import Sample, background
from birthmark.weak_map.sharing import inflation, same_draws

from .conftest import Memory, predicted, structured, traced
from .test_controls import samples

SHAPE = (64, 64)
LAYERS = 12


def seeded_alike() -> Trace:
    """Layers that each begin with the same state: one stream for each, all with the user's seed."""
    draws = tuple(
        TracedDraw("normal", (0.0, 0.05), SHAPE, tensor=f"layers.{number}", stream=number)
        for number in range(LAYERS)
    )
    tensors = tuple(
        TracedTensor(f"layers.{number}", SHAPE, "float32", Drawn(number)) for number in range(LAYERS)
    )
    return Trace(draws, tensors, tuple(TracedStream("cuda") for _ in range(LAYERS)))


def born_alike() -> Memory:
    """Their weights after training under a seed that nobody asks for: nine tenths in common."""
    common = structured(SHAPE, 99)
    own = [structured(SHAPE, number) for number in range(LAYERS)]
    return Memory({f"layers.{number}": 3.0 * common + each for number, each in enumerate(own)})


def test_layers_that_are_seeded_alike_are_found(pool: Executor) -> None:
    """All of them are one group, whatever their factor; layers drawn one after another are none."""
    checkpoint, trace = born_alike(), seeded_alike()
    by = predicted(checkpoint, trace, 7)
    assert same_draws(by, samples(checkpoint, by, pool)) == (tuple(range(LAYERS)),)
    scaled = replace(trace, draws=(replace(trace.draws[0], parameters=(0.0, 0.01)), *trace.draws[1:]))
    by = predicted(checkpoint, scaled, 7)
    assert same_draws(by, samples(checkpoint, by, pool)) == (tuple(range(LAYERS)),)


def test_layers_of_one_stream_share_nothing(model: Memory, pool: Executor) -> None:
    """Each has its own place in the stream."""
    by = predicted(model, traced())
    found = same_draws(by, samples(model, by, pool))
    assert found == ()
    assert inflation(found, samples(model, by, pool), [1] * len(by.aims)) == 1.0


@pytest.mark.parametrize("alike", [True, False])
def test_false_seeds_stay_standard_normal_together(alike: bool, pool: Executor) -> None:
    """Pooled over layers that were seeded alike, they would spread three times too widely."""
    checkpoint = born_alike()
    if not alike:
        own = {f"layers.{number}": structured(SHAPE, number) for number in range(LAYERS)}
        checkpoint = Memory(own)
    by = predicted(checkpoint, seeded_alike(), 7)
    parts = samples(checkpoint, by, pool)
    found = background(by, parts, pool, 300)
    assert found is not None
    wider = inflation(same_draws(by, parts), parts, [SHAPE[0] * SHAPE[1]] * LAYERS)
    assert wider > 8.0 if alike else wider < 1.6
    assert 0.8 < found.pooled_std < 1.12
    assert abs(found.pooled_mean) < 4 / 300**0.5


def test_other_places_count_as_alike() -> None:
    """Tensors of other shapes were sampled elsewhere, and nothing is known of them."""
    some = Sample(Aim("a", "a"), 100, np.arange(100), np.ones(100))
    other = Sample(Aim("b", "b"), 200, np.arange(0, 200, 2), np.ones(100))
    opposed = Sample(Aim("c", "c"), 100, np.arange(100), -np.ones(100))
    assert inflation([(0, 1)], [some, other], [1003, 1003]) == pytest.approx(2.0)
    assert inflation([(0, 1)], [some, opposed], [1003, 1003]) == 1.0
    assert inflation([(0, 1)], [some, some], [3, 3]) == 1.0
