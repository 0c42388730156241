"""Stand-ins for normals anywhere in a draw: close to the true ones, for every call, lane and seed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.search.merge_kernel import NORMAL_STEPS, VALUE_STEPS, places_of, score_staged

SHAPE = (512, 64)
HYPOTHESIS = Hypothesis(Draw("normal", (0.0, 1.0), SHAPE), 512, offset=4 * (2**32 + 3))


def sums_of(
    seeds: list[int],
    indices: NDArray[np.int64],
    values: NDArray[np.int32],
    ends: list[int],
    limits: list[int],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The kernel's sums and stages."""
    places = places_of(HYPOTHESIS.locate(indices))
    sums, reached = np.zeros(len(seeds), np.int64), np.zeros(len(seeds), np.int64)
    score_staged(
        np.array(seeds, np.uint64), places.first, places.second, places.third, places.fourth, places.later,
        places.turn, values, np.array(ends, np.int64), np.array(limits, np.int64), sums, reached,
    )  # fmt: skip
    return sums, reached


@pytest.mark.parametrize("seed", [0, 42, 2**63 + 11])
def test_single_elements_are_the_true_normals(seed: int) -> None:
    """Each within a few thousandths, over all lanes and many calls."""
    indices = np.arange(5, SHAPE[0] * SHAPE[1], 331, dtype=np.int64)
    one = np.ones(1, np.int32)
    found = [
        sums_of([seed], indices[i : i + 1], one, [1], [-(2**62)])[0][0] / NORMAL_STEPS
        for i in range(len(indices))
    ]

    place = HYPOTHESIS.locate(indices)
    assert set(place.lane.tolist()) == {0, 1, 2, 3}
    assert np.unique(place.counter).size > 10
    np.testing.assert_allclose(found, HYPOTHESIS.standard(seed, indices), atol=0.012)


def test_a_seed_stops_where_it_falls_below_a_limit() -> None:
    """The true seed passes all stages, another one the first at most; sums go as far as the seed did."""
    indices = np.arange(0, 4096, 8, dtype=np.int64)
    values = np.rint(HYPOTHESIS.standard(42, indices) * VALUE_STEPS).astype(np.int32)
    lengths = np.sqrt(np.cumsum(values.astype(float) ** 2)[[63, 511]])
    limits = np.ceil(4.0 * lengths * NORMAL_STEPS).astype(np.int64).tolist()
    sums, reached = sums_of([42, 43], indices, values, [64, 512], limits)

    assert reached.tolist() == [2, 0]
    assert sums[0] > limits[1]
    assert sums[1] == sums_of([43], indices, values, [64], limits[:1])[0][0]
