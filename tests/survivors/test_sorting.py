"""Sorting units into untouched and touched ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints.interface import Checkpoint
from birthmark.survivors.sorting import Sorted, sort_units
from birthmark.survivors.statistics import measure
from birthmark.survivors.units import RowUnits

Make = Callable[..., Checkpoint]
Trained = Callable[..., Any]


def sorted_of(checkpoint: Checkpoint, companion: str | None = None) -> Sorted | None:
    """The rows of the tensor e, sorted."""
    units = RowUnits(checkpoint, checkpoint.tensors["e"])
    seen = measure(units)
    other = RowUnits(checkpoint, checkpoint.tensors[companion]) if companion else None
    return sort_units(units, seen.ids, seen.energy, other)


def recall_and_precision(found: Sorted, untouched: np.ndarray) -> tuple[float, float]:
    """Of the units with probability one half."""
    likely = found.ids[found.probability >= 0.5]
    return float(np.isin(untouched, likely).mean()), float(np.isin(likely, untouched).mean())


@pytest.mark.parametrize("factor", [1.0, 0.8, 1e-12])
def test_the_scale_need_not_be_known(in_memory: Make, trained: Trained, factor: float) -> None:
    """Weight decay by any factor changes the energy that is found and nothing else."""
    made = trained(factor=factor)

    found = sorted_of(in_memory({"e": made.embedding, "h": made.head}, "bfloat16"), "h")

    assert found is not None
    assert found.energy == pytest.approx((0.02 * factor) ** 2, rel=0.08)
    recall, precision = recall_and_precision(found, made.untouched)
    assert recall > 0.8
    assert precision > 0.85


def test_an_isolated_group_is_found_by_its_norms(in_memory: Make) -> None:
    """Rows decayed to 1e-20 beside trained ones leave no doubt, in wide and in narrow tensors."""
    random = np.random.default_rng(0)
    for width in (64, 768):
        rows = random.standard_normal((800, width))
        rows *= np.where(np.arange(800) < 12, 1e-20, random.uniform(0.5, 2.0, 800))[:, None]

        found = sorted_of(in_memory({"e": rows.astype(np.float32)}, "bfloat16"))

        assert found is not None
        assert found.ids.tolist() == list(range(12))
        assert (found.probability >= 0.5).sum() >= 10


def test_survivors_between_trained_rows_are_found(in_memory: Make) -> None:
    """Where the initial scale is large, trained rows can be smaller than untouched ones."""
    random = np.random.default_rng(1)
    rows = random.standard_normal((3000, 600))
    basis = random.standard_normal((8, 600))
    rows += 0.15 * random.standard_normal((3000, 8)) @ basis
    rows *= random.uniform(0.6, 1.5, (3000, 1))
    survivors = np.arange(0, 3000, 12)
    rows[survivors] = random.standard_normal((250, 600))

    found = sorted_of(in_memory({"e": rows.astype(np.float32)}))

    assert found is not None
    assert found.energy == pytest.approx(1.0, rel=0.02)
    recall, _ = recall_and_precision(found, survivors)
    assert recall > 0.9


def test_without_survivors_there_is_no_evidence(in_memory: Make, trained: Trained) -> None:
    """Trained rows alone are explained as well without untouched ones among them."""
    made = trained(survivors=0, lightly=0.0)

    found = sorted_of(in_memory({"e": made.embedding, "h": made.head}, "bfloat16"), "h")

    assert found is None or found.evidence < 12.0


def test_the_order_of_units_does_not_matter(in_memory: Make, trained: Trained) -> None:
    """Shuffled rows get the same probabilities."""
    made = trained()
    order = np.random.default_rng(2).permutation(len(made.embedding))
    straight = sorted_of(in_memory({"e": made.embedding, "h": made.head}, "bfloat16"), "h")
    shuffled = sorted_of(in_memory({"e": made.embedding[order], "h": made.head[order]}, "bfloat16"), "h")

    assert straight is not None
    assert shuffled is not None
    before = np.zeros(len(order))
    after = np.zeros(len(order))
    before[straight.ids] = straight.probability
    after[order[shuffled.ids]] = shuffled.probability
    np.testing.assert_allclose(after, before, atol=0.02)
