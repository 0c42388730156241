"""Tensors of other processes of a run: found by seeds that hang together with known ones, and not made up."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.search.related import related_seeds, search_related
from birthmark.survivors.split import Selection

SHAPE = (256, 128)
A100 = 221184


def untouched(seed: int, offset: int = 0, *, shuffled: bool = False) -> Selection:
    """Half the rows of an expert's matrix as it was drawn."""
    indices = np.arange(0, SHAPE[0] * SHAPE[1] // 2, dtype=np.int64)
    drawn = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), A100, offset=offset).values(seed, indices)
    values = np.asarray(drawn, np.float64)
    if shuffled:
        values = np.random.default_rng(1).permutation(values)
    return Selection(
        "w", SHAPE, "float32", "tensor", "normal", 0.02, 0.01,
        indices, values, indices // SHAPE[1], np.ones(indices.size),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("known", "seed", "offset"),
    [(3952, 1234 + 1024 + 700, 8), (2258, 2258 + 100 * 40, 0), (81_234_567, 81_234_570, 128)],
)
def test_a_process_of_the_same_run(known: int, seed: int, offset: int) -> None:
    """An expert under the base seed of a known shard, another expert, the next rank: seed and offset."""
    outcome = search_related(untouched(seed, offset), [known], (A100,))
    (best,) = outcome.candidates
    assert (best.seed, best.hypothesis.offset) == (seed, offset)
    assert best.r > 0.999
    assert outcome.searched.trials >= len(related_seeds([known])) * 33


def test_strangers_are_not_related() -> None:
    """A seed of its own, a shuffled draw and a later offset are not found."""
    assert not search_related(untouched(5_870_214_893_347_715), [3952], (A100,)).candidates
    assert not search_related(untouched(3952, shuffled=True), [3952], (A100,)).candidates
    assert not search_related(untouched(3952, 132), [3952], (A100,)).candidates


def test_related_seeds_hold_what_rules_make() -> None:
    """Megatron's streams of one base seed lead to each other; seeds wrap at 64 bits, and are bounded."""
    seeds = related_seeds([3952])
    assert {1234, 2258, 2258 + 25_500, 3953, 4052}.issubset(seeds.tolist())
    assert np.all(seeds[1:] > seeds[:-1])
    assert 2**64 - 1 in related_seeds([0]).tolist()
    assert len(related_seeds([5, 10**6, 10**9, 10**12])) < 1 << 17
