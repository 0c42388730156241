"""Stand-ins for normals anywhere in a draw: close to the true ones, for every call, lane and seed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.search.merge_kernel import NORMAL_STEPS, VALUE_STEPS, places_of, score_seeds

SHAPE = (512, 64)
HYPOTHESIS = Hypothesis(Draw("normal", (0.0, 1.0), SHAPE), 512, offset=4 * (2**32 + 3))


def sums_of(seeds: list[int], indices: NDArray[np.int64], values: NDArray[np.int32]) -> NDArray[np.int64]:
    """The kernel's sums."""
    places = places_of(HYPOTHESIS.locate(indices))
    sums = np.zeros(len(seeds), np.int64)
    score_seeds(
        np.array(seeds, np.uint64), places.first, places.second, places.third, places.fourth, places.later,
        places.turn, values, sums,
    )  # fmt: skip
    return sums


@pytest.mark.parametrize("seed", [0, 42, 2**63 + 11])
def test_single_elements_are_the_true_normals(seed: int) -> None:
    """Each within a few thousandths, over all lanes and many calls."""
    indices = np.arange(5, SHAPE[0] * SHAPE[1], 331, dtype=np.int64)
    one = np.ones(1, np.int32)
    found = [sums_of([seed], indices[i : i + 1], one)[0] / NORMAL_STEPS for i in range(len(indices))]

    place = HYPOTHESIS.locate(indices)
    assert set(place.lane.tolist()) == {0, 1, 2, 3}
    assert np.unique(place.counter).size > 10
    np.testing.assert_allclose(found, HYPOTHESIS.standard(seed, indices), atol=0.012)


def test_the_true_seed_scores_highest() -> None:
    """Its sum is the sum of squares, another one's is nearly nothing; parts add up to the whole."""
    indices = np.arange(0, 4096, 8, dtype=np.int64)
    values = np.rint(HYPOTHESIS.standard(42, indices) * VALUE_STEPS).astype(np.int32)
    true, false = sums_of([42, 43], indices, values)
    squares = float(np.square(values.astype(float)).sum()) * NORMAL_STEPS / VALUE_STEPS

    assert true == pytest.approx(squares, rel=0.02)
    assert abs(false) < 0.2 * true
    assert (
        true == sums_of([42], indices[:100], values[:100])[0] + sums_of([42], indices[100:], values[100:])[0]
    )
