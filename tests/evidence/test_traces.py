"""Weak traces as evidence: from the search's candidate to a judgement, and the calibration of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints import open_checkpoint
from birthmark.evidence.decoys import score_decoys
from birthmark.evidence.elements import Elements
from birthmark.evidence.judge import judge
from birthmark.evidence.weigh import weigh
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.search.options import Options
from birthmark.search.weak import weak_candidates
from birthmark.survivors.levelling import levelled
from birthmark.survivors.traced import split_traced, traceable

SHAPE = (512, 128)
HYPOTHESIS = Hypothesis(Draw("normal", (0.0, 1.0), SHAPE), 28672)
FEW = Options(seeds=(1000, 1500), dictionary=False, ways=(1,))

Make = Callable[[np.random.Generator], NDArray[np.float64]]


def shared_rows(rng: np.random.Generator) -> NDArray[np.float64]:
    """Sixteen rows, each many times over with a little noise."""
    return np.repeat(rng.standard_normal((16, 128)), 32, axis=0) + 0.1 * rng.standard_normal(SHAPE)


def low_rank(rng: np.random.Generator) -> NDArray[np.float64]:
    """Three directions and a little noise."""
    mixed: NDArray[np.float64] = rng.standard_normal((512, 3)) @ rng.standard_normal((3, 128))
    return mixed + 0.05 * rng.standard_normal(SHAPE)


def heavy_tails(rng: np.random.Generator) -> NDArray[np.float64]:
    """Student's t with 1.5 degrees of freedom, whose variance is infinite."""
    return rng.standard_t(1.5, SHAPE)


def column_means(rng: np.random.Generator) -> NDArray[np.float64]:
    """Columns with means far larger than their spread."""
    return rng.standard_normal(SHAPE) + rng.normal(0, 10, 128)


def coarse(rng: np.random.Generator) -> NDArray[np.float64]:
    """Values on a grid of five numbers."""
    rounded: NDArray[np.float64] = np.rint(rng.standard_normal(SHAPE))
    return rounded


@pytest.mark.parametrize("make", [shared_rows, low_rank, heavy_tails, column_means, coarse])
@pytest.mark.parametrize("level", [False, True])
def test_decoys_of_structured_weights_have_unit_spread(make: Make, level: bool) -> None:
    """Whatever the structure of the stored values, sigmas of false seeds are a standard normal."""
    values = make(np.random.default_rng(4)).ravel()
    indices = np.arange(values.size)
    if level:
        values = levelled(values, indices, SHAPE[1])
    decoys = score_decoys(HYPOTHESIS, 7, Elements(indices, values, indices // SHAPE[1]), count=1024)
    assert decoys.mean == pytest.approx(0.0, abs=4.0 / 32.0)
    assert decoys.std == pytest.approx(1.0, abs=4.0 / 45.0)
    assert decoys.max_sigma is not None
    assert decoys.max_sigma < 5.0


def test_the_published_case_is_a_weak_trace(cases: Path) -> None:
    """Seed 1234 on 132 SMs shines through a trained model at r = 0.112, on rows that the search never saw."""
    with open_checkpoint(cases / "weak-r10") as checkpoint:
        traced = traceable(checkpoint)[0]
        selection, holdout = split_traced(checkpoint, traced)
        outcome = weak_candidates(selection, FEW)
        judgements = judge(
            checkpoint, traced, selection, holdout, outcome.candidates, trials=outcome.searched.trials
        )
    (judged,) = judgements.judged
    found = judged.judgement
    assert found.outcome == "weak-trace"
    assert found.case.seed == 1234
    assert found.fit.hypothesis.threads == 270336
    assert found.layouts is not None
    assert found.layouts.separated
    for one in (found.selection, found.holdout):
        assert one.r == pytest.approx(0.112, abs=0.008)
    assert found.selection.sigma is not None
    assert found.selection.sigma > 75
    assert found.holdout.sigma is not None
    assert found.holdout.sigma > 25
    assert found.as_stored is not None
    assert found.as_stored.r == pytest.approx(0.112, abs=0.003)
    assert abs(found.seed_plus_one.sigma or 9.0) < 4
    assert found.next_layout is not None
    assert abs(found.next_layout.differing.sigma or 9.0) < 4
    assert found.decoys.std == pytest.approx(1.0, abs=0.06)
    assert any("As stored" in note for note in found.notes)
    assert any("95 % interval" in note for note in found.notes)


@pytest.mark.parametrize("case", ["blackwell-31bit", "ada-4090"])
def test_trained_rows_of_other_cases_carry_a_trace(cases: Path, answers: dict[str, Any], case: str) -> None:
    """Rows that training moved still correlate at about 0.5: their seed is found without any survivor."""
    truth = answers[case]
    survivors = np.asarray(truth["survivors"]["rows"])
    with open_checkpoint(cases / case) as checkpoint:
        traced = traceable(checkpoint)[0]
        selection, _ = split_traced(checkpoint, traced)
    keep = ~np.isin(selection.unit, survivors)
    trained = replace(
        selection,
        indices=selection.indices[keep],
        values=selection.values[keep],
        unit=selection.unit[keep],
        probability=selection.probability[keep],
    )
    outcome = weak_candidates(
        trained, Options(seeds=(0, 64), dictionary=False, also=(truth["seed"],), ways=(1,))
    )
    (one,) = outcome.candidates
    assert (one.seed, one.hypothesis.threads) == (truth["seed"], truth["layout"]["G"])
    assert one.r == pytest.approx(truth["trained_rows_r"], abs=0.05)


def test_outliers_do_not_hide_a_trace_from_the_judgement(make_case: Any) -> None:
    """A trace among columns of very different size is judged on levelled values, and significant there."""
    rng = np.random.default_rng(3)
    sizes = np.exp(rng.normal(0, 2, 144))

    def train(values: NDArray[np.float64], _: NDArray[np.int64]) -> NDArray[np.float64]:
        noise = rng.standard_normal(values.size) * 0.02
        moved: NDArray[np.float64] = (0.2 * values + noise) * np.tile(sizes, values.size // 144)
        return moved

    rows = np.arange(0, 8192, 20)
    judgement = weigh(make_case(change=train, rows=rows, stored="float32"))
    assert judgement.outcome == "weak-trace"
    assert judgement.holdout.sigma is not None
    assert judgement.as_stored is not None
    assert judgement.as_stored.r is not None
    assert judgement.holdout.r is not None
    assert judgement.holdout.r > 1.3 * judgement.as_stored.r


def test_structure_without_a_trace_is_nothing(make_case: Any) -> None:
    """Columns of very different size under a false seed stay below any threshold."""
    rng = np.random.default_rng(3)
    sizes = np.exp(rng.normal(0, 2, 144))

    def train(values: NDArray[np.float64], _: NDArray[np.int64]) -> NDArray[np.float64]:
        other: NDArray[np.float64] = rng.standard_normal(values.size) * np.tile(sizes, values.size // 144)
        return other

    judgement = weigh(make_case(change=train, rows=np.arange(0, 8192, 20), stored="float32"))
    assert judgement.outcome == "none"
    assert judgement.holdout.sigma is not None
    assert abs(judgement.holdout.sigma) < 4.5
