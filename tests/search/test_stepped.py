"""Shards under other rules of seeds than rank after rank: found with their step, and not made up."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.search.stepped import Known, search_stepped
from birthmark.survivors.split import Selection

SHAPE = (4096, 128)
A100, H100 = 221184, 270336
WHOLE = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), A100)
ROWS = np.sort(np.random.default_rng(1).choice(SHAPE[0], 60, replace=False)).astype(np.int64)


def survivors(
    sharding: Sharding, seed: int, *, shape: tuple[int, int] = SHAPE, shuffled: bool = False
) -> Selection:
    """Untouched rows of a table that was cut so."""
    rows = ROWS[shape[0] > ROWS]
    indices = (rows[:, None] * shape[1] + np.arange(shape[1])).ravel()
    hypothesis = Hypothesis(Draw("normal", (0.0, 0.02), shape), A100, sharding=sharding)
    values = np.asarray(hypothesis.values(seed, indices), np.float64)
    if shuffled:
        order = np.random.default_rng(2).permutation(len(rows))
        values = values.reshape(len(rows), -1)[order].ravel()
    return Selection(
        "w", shape, "float32", "row", "normal", 0.02, 0.01,
        indices, values, indices // shape[1], np.ones(indices.size),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ways", "step"), [(4, 0), (4, -1), (2, 1000), (8, 10), (3, 1), (5, 100), (16, 65_537)]
)
def test_the_step_of_the_ranks_is_found(ways: int, step: int) -> None:
    """From the first shard's seed follow the number of shards, the step, and the others' seeds."""
    rows = 0 if SHAPE[0] % ways == 0 else -(-SHAPE[0] // (ways * 8)) * 8
    truth = Sharding(ways, "megatron" if step == 1 else "stepped", step, rows)
    outcome = search_stepped(survivors(truth, 5000), [Known(WHOLE, 5000, 0)], (A100, H100))

    best = outcome.candidates[0]
    assert (best.hypothesis.sharding.ways, best.hypothesis.sharding.seed_step) == (ways, step)
    assert best.seed == 5000
    assert best.r > 0.999
    assert outcome.searched.trials > 100


def test_two_known_shards_give_a_step_of_their_own() -> None:
    """A step that no rule has follows from two seeds; a later shard may be the known one."""
    selection = survivors(Sharding(4, "stepped", -4321), 900_000)
    known = [Known(WHOLE, 900_000 - 4321, 1024), Known(WHOLE, 900_000 - 3 * 4321, 3072)]

    best = search_stepped(selection, known, (A100, H100)).candidates[0]

    assert (best.seed, best.hypothesis.sharding) == (900_000, Sharding(4, "stepped", -4321))
    assert not search_stepped(selection, known[:1], (A100, H100)).candidates


def test_a_padded_vocabulary_has_a_short_last_shard() -> None:
    """Shards of 1,024 rows of which the published table lacks the last ones."""
    shape = (4000, 128)
    selection = survivors(Sharding(4, "megatron", rows=1024), 3952, shape=shape)
    whole = Hypothesis(Draw("normal", (0.0, 0.02), shape), A100)
    best = search_stepped(selection, [Known(whole, 3952, 0)], (A100, H100)).candidates[0]

    assert best.hypothesis.sharding == Sharding(4, "megatron", rows=1024)
    assert best.hypothesis.threads == A100
    assert best.r > 0.999


def test_what_is_no_shard_is_none() -> None:
    """Shuffled rows, another seed and a whole table have no other shards; columns cannot."""
    cut = Sharding(4, "stepped", 1000)
    assert not search_stepped(
        survivors(cut, 5000, shuffled=True), [Known(WHOLE, 5000, 0)], (A100,)
    ).candidates
    assert not search_stepped(survivors(cut, 5000), [Known(WHOLE, 5001, 0)], (A100,)).candidates
    assert not search_stepped(survivors(Sharding(), 5000), [Known(WHOLE, 5000, 0)], (A100,)).candidates
