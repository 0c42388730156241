"""Ways from seed to key: what they spell, what they share, and that they lead to JAX's keys."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.generators.threefry import COUNTERS, Counters, key_of
from birthmark.recipes.flax import linen_key
from birthmark.recipes.haiku import haiku_key
from birthmark.search.neighbours.jax_paths import KeyPath, Step, all_paths, keys_of, short_paths

TENSOR = "network.params.body.Dense_0.kernel"


@pytest.mark.parametrize("counters", COUNTERS)
def test_paths_lead_where_jax_leads(counters: Counters) -> None:
    """Each step is JAX's own split or fold, under either order of counters."""
    for number in (2, 3, 5):
        for which in range(number):
            path = KeyPath((Step(number, which), Step(0, 7)), "")
            assert path.key(key_of(3), counters) == key_of(3).split(number, counters)[which].fold_in(7)


def test_frameworks_are_among_them() -> None:
    """Flax's and haiku's keys are reached, by paths that say so; each path stands once."""
    paths = {path.text: path for path in all_paths(TENSOR)}
    flax = paths["split(2)[1], flax up to 0.4.0: module body.Dense_0, parameter 1"]
    root = key_of(0).split(2, "original")[1]
    assert flax.key(key_of(0), "original") == linen_key(root, ("body", "Dense_0"), 1, "levels")
    assert paths["haiku: random parameter 12"].key(key_of(0), "original") == haiku_key(
        key_of(0), 12, "original"
    )
    steps = [path.steps for path in all_paths(TENSOR)]
    assert len(set(steps)) == len(steps)
    assert {path.steps for path in short_paths(TENSOR)} <= set(steps)


def test_many_seeds_at_once() -> None:
    """The keys of all paths and seeds are those of each alone."""
    paths = short_paths(TENSOR)
    roots = np.array([[0, 3], [0, 9]], np.uint32)
    for counters in COUNTERS:
        keys = keys_of(paths, roots, counters)
        for path, found in zip(paths, keys, strict=True):
            for seed, (high, low) in zip((3, 9), found.tolist(), strict=True):
                key = path.key(key_of(seed), counters)
                assert (key.high, key.low) == (high, low)
