"""False seeds and other layouts on samples of a model."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
import pytest

from birthmark.evidence.decoys import NEAR, decoy_seeds
from birthmark.replay.replaying import Birth
from birthmark.survivors.levelling import levelled
from birthmark.weak_map import controls
from birthmark.weak_map.bands import Heads, bands_of, matrix
from birthmark.weak_map.births import FromTrace, Predicted
from birthmark.weak_map.controls import Sample, background, layouts, sample_of
from birthmark.weak_map.scanning import scan_tensor

from .conftest import SHAPES, Memory, born, predicted, traced, trained

#: Layouts of the table that the model's tensors tell apart.
CLAIMED, OTHER = 26_624, 28_672


@pytest.fixture(scope="module")
def checkpoint() -> Memory:
    """The model, drawn on a device of the table."""
    return Memory(trained(born(traced(), Birth(42, CLAIMED))))


def samples(checkpoint: Memory, by: Predicted, pool: Executor) -> list[Sample]:
    found = []
    for aim in by.aims:
        bands = bands_of(aim.stored, checkpoint.tensors[aim.stored].shape, Heads())
        found.append(sample_of(checkpoint, aim, scan_tensor(checkpoint, by, aim, bands, pool, 2).levels))
    return found


def test_samples_are_levelled_elements(
    checkpoint: Memory, pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evenly spaced, in order, with the values that levelling the whole tensor gives; stacks by matrices."""
    monkeypatch.setattr(controls, "SAMPLE", 500)
    for each in samples(checkpoint, predicted(checkpoint, traced(), threads=CLAIMED), pool):
        name = each.aim.stored
        columns = matrix(SHAPES[name])[1]
        whole = levelled(checkpoint.arrays[name].ravel(), np.arange(each.size), columns)

        assert min(each.size, 250) <= len(each.indices) <= 500
        assert np.all(np.diff(each.indices) > 0)
        np.testing.assert_allclose(each.level, whole[each.indices], atol=1e-9)


def test_false_seeds_are_standard_normal_and_the_true_one_is_not(checkpoint: Memory, pool: Executor) -> None:
    """One by one and pooled, on values full of structure."""
    by = predicted(checkpoint, traced(), threads=CLAIMED)
    found = background(by, samples(checkpoint, by, pool), pool, 200)
    assert found is not None

    assert found.count == 200
    assert abs(found.mean) < 0.15
    assert abs(found.std - 1.0) < 0.1
    assert abs(found.pooled_mean) < 0.3
    assert abs(found.pooled_std - 1.0) < 0.2
    assert found.z > 10 > found.pooled_largest
    assert found.reached == 0
    assert found.log10_p == pytest.approx(-np.log10(201))
    assert set(found.each) == set(SHAPES)


def test_a_false_seed_is_one_of_many(checkpoint: Memory, pool: Executor) -> None:
    """The next seed scores like the others do."""
    by = predicted(checkpoint, traced(), seed=43, threads=CLAIMED)
    found = background(by, samples(checkpoint, by, pool), pool, 60)
    assert found is not None

    assert abs(found.z) < 4.5
    assert found.reached > 0


def test_neighbours_are_no_decoys() -> None:
    """Seeds that shards of the true one may have are not among them."""
    seeds = decoy_seeds(300, 1234).astype(np.int64)

    assert np.abs(seeds - 1234).min() > NEAR


def test_there_is_not_always_a_background(checkpoint: Memory, pool: Executor) -> None:
    """No false seeds asked for, nothing to score, or a walk for each."""
    by = predicted(checkpoint, traced(), threads=CLAIMED)
    some = samples(checkpoint, by, pool)
    trace = traced()
    call = replace(trace.draws[0], distribution="truncated-normal", parameters=(0.0, 0.05, -0.1, 0.1))
    walking = predicted(checkpoint, replace(trace, draws=(call, *trace.draws[1:])), threads=CLAIMED)

    assert background(by, some, pool, 0) is None
    assert background(by, [], pool, 10) is None
    assert background(walking, some, pool, 10) is None
    assert layouts(walking, some, pool) is None


def test_the_right_layout_explains_most(checkpoint: Memory, pool: Executor) -> None:
    """And a wrong one is refuted by it, though it predicts what lies below one wave."""
    by = predicted(checkpoint, traced(), threads=CLAIMED)
    some = samples(checkpoint, by, pool)
    right = layouts(by, some, pool)
    wrong = layouts(by.of_layout(OTHER), some, pool)
    assert right is not None
    assert wrong is not None

    assert right.best == (CLAIMED, right.claimed)
    assert right.same == (CLAIMED,)
    assert not right.refuted
    assert right.next is not None
    assert right.next[1] < right.claimed
    assert wrong.claimed > 100
    assert wrong.best[0] == CLAIMED
    assert wrong.refuted


def test_layouts_that_predict_alike_are_named(pool: Executor) -> None:
    """A vector below one wave of every device cannot tell them apart; a CPU has none."""
    values = born(traced(), Birth(42, CLAIMED))
    checkpoint = Memory({"embed.weight": values["embed.weight"][:20]})
    trace = traced(("embed.weight",))
    small = replace(
        trace,
        draws=(replace(trace.draws[0], shape=(20, 64)),),
        tensors=(replace(trace.tensors[0], shape=(20, 64)),),
    )
    by = predicted(checkpoint, small, threads=CLAIMED)
    found = layouts(by, samples(checkpoint, by, pool), pool)
    assert found is not None

    assert len(found.same) > 40
    assert found.next is None
    on_cpu = predicted(checkpoint, replace(small, streams=traced(device="cpu").streams), threads=None)
    assert isinstance(on_cpu, FromTrace)
    assert layouts(on_cpu, samples(checkpoint, on_cpu, pool), pool) is None
