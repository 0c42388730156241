"""Cheap stand-ins for standard values: close to the true ones, for every kind of seed and offset."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.samplers.fill import standard_at
from birthmark.search.surrogate import NORMAL_STEPS, UNIFORM_STEPS, products, staged

FREE = np.full((1, 2), -(2**62), np.int64)


def one_by_one(seed: int, counter: int, threads: NDArray[np.int64]) -> NDArray[np.float64]:
    """The stand-ins of single elements: normal and uniform, in units."""
    found = np.zeros((threads.size, 2))
    sums, reached = np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    for row, product in enumerate(products(threads)):
        staged(
            np.array([seed], np.uint64),
            np.uint64(counter),
            np.array([product]),
            np.ones(1, np.int32),
            np.ones(1, np.int64),
            FREE,
            sums,
            reached,
        )
        found[row] = sums[0]
    units: NDArray[np.float64] = found / np.array([NORMAL_STEPS, UNIFORM_STEPS])
    return units


def exact(distribution: str, seed: int, counter: int, threads: NDArray[np.int64]) -> NDArray[np.float64]:
    """The true standard values of lane 0."""
    size = threads.size
    return np.asarray(
        standard_at(
            distribution,
            np.array([seed], np.uint64),
            np.full(size, counter, np.uint64),
            threads.astype(np.uint64),
            np.zeros(size, np.uint8),
            "nvidia-volta+",
        ),
        np.float64,
    )


@pytest.mark.parametrize(("seed", "counter"), [(0, 0), (42, 3), (2**32 + 5, 0), (2**64 - 1, 2**33 + 7)])
def test_stand_ins_are_close_to_the_true_values(seed: int, counter: int) -> None:
    """Normals agree within 0.01 and uniforms within a step, for seeds and counters of 64 bits."""
    threads = np.concatenate([np.arange(600), np.array([26623, 270335, 2**32 - 1])])
    found = one_by_one(seed, counter, threads)
    assert np.abs(found[:, 0] - exact("normal", seed, counter, threads)).max() < 0.01
    assert np.abs(found[:, 1] - (2.0 * exact("uniform", seed, counter, threads) - 1.0)).max() < 1e-4


def test_sums_are_those_of_the_values_and_stages_end_where_limits_say() -> None:
    """A sum is that of its products; a seed stops after the first stage in which both sums are too small."""
    rng = np.random.default_rng(3)
    threads = np.arange(500)
    values = rng.integers(-3000, 3000, 500).astype(np.int32)
    seeds = np.arange(40, dtype=np.uint64)
    ends = np.array([200, 500])
    full, stages = np.zeros((40, 2), np.int64), np.zeros(40, np.int64)
    staged(seeds, np.uint64(0), products(threads), values, ends, np.repeat(FREE, 2, axis=0), full, stages)
    assert (stages == 2).all()
    direct = one_by_one(7, 0, threads)
    assert full[7, 0] == round(float(direct[:, 0] @ values) * NORMAL_STEPS)
    assert full[7, 1] == round(float(direct[:, 1] @ values) * UNIFORM_STEPS)
    first = np.zeros((40, 2), np.int64)
    staged(seeds, np.uint64(0), products(threads), values, ends[:1], FREE, first, stages)
    limits = np.array([[int(np.median(first[:, 0])), 2**62], [-(2**62), -(2**62)]])
    some, reached = np.zeros((40, 2), np.int64), np.zeros(40, np.int64)
    staged(seeds, np.uint64(0), products(threads), values, ends, limits, some, reached)
    passed = first[:, 0] > limits[0, 0]
    assert np.array_equal(reached, np.where(passed, 2, 0))
    assert np.array_equal(some, np.where(passed[:, None], full, first))
