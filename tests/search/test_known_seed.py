"""Tensors in the stream of a seed that is known: where they lie, and how many trials that took."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.known_seed import MARGIN, locate_selections, reach_of
from birthmark.survivors.split import Selection

SHAPE, BOUND, SEED, INDEX = (64, 32), 0.125, 77, 5000


def selection(seed: int = SEED, index: int = INDEX) -> Selection:
    """A whole tensor as the CPU generator draws it, every other row of it."""
    size = SHAPE[0] * SHAPE[1]
    indices = np.flatnonzero((np.arange(size) // SHAPE[1]) % 2 == 0)
    values = CpuDraw("uniform", (-BOUND, BOUND), size, index=index).values(seed, indices)
    unit = indices // SHAPE[1]
    return Selection(
        "layer.weight", SHAPE, "float32", "row", "uniform", BOUND, 1e-4, indices,
        values.astype(np.float64), unit, np.full(len(indices), 0.99),
    )  # fmt: skip


def test_a_tensor_is_found_where_it_starts() -> None:
    """Seed and place come out, and every word that was looked at is a trial, at half the weight."""
    (found,) = locate_selections([selection()], SEED, 20_000, "other.weight", ends=(100, 200))

    assert found is not None
    assert (found.origin.seed, found.origin.index) == (SEED, INDEX)
    assert found.trials == 2 * 20_000


def test_a_tensor_behind_a_known_draw_is_one_of_few_suppositions() -> None:
    """Where it starts right behind a known draw, only the known ends count, at half the weight too."""
    (found,) = locate_selections([selection()], SEED, 20_000, "other.weight", ends=(INDEX, 200, 200))

    assert found is not None
    assert found.trials == 2 * 2


@pytest.mark.parametrize(("seed", "reach"), [(SEED + 1, 20_000), (SEED, 4000)])
def test_another_stream_or_too_short_a_look_finds_nothing(seed: int, reach: int) -> None:
    """The stream of the next seed does not hold it, nor do words before it."""
    assert locate_selections([selection()], seed, reach, "other.weight") == [None]


def test_how_far_a_stream_is_looked_at() -> None:
    """Past the furthest draw by as much again, by the model twice, or by a margin, whatever is most."""
    assert reach_of([], 0) == MARGIN
    assert reach_of([3 * MARGIN], 10) == 6 * MARGIN
    assert reach_of([10], 4 * MARGIN) == 10 + 8 * MARGIN
