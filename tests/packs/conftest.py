"""A small pack: a match of eight rows, with its reading."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.evidence.case import Case
from birthmark.evidence.judge import judge
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.recipes.sharding import Sharding
from birthmark.reports.account import NOTHING_SEARCHED
from birthmark.reports.assemble import assemble
from birthmark.reports.reading import Reading
from birthmark.survivors.split import Holdout, Selection, held_out
from birthmark.survivors.survivor import Survivors

SHAPE = (512, 64)


@dataclass(frozen=True)
class Found:
    """A candidate."""

    hypothesis: Hypothesis
    seed: int


def evidence(
    folder: Path, *, rows: np.ndarray, truth: Hypothesis, change: float = 0.0
) -> tuple[Reading, list[Case]]:
    """The reading of a checkpoint whose given rows are untouched, and the cases behind it."""
    rng = np.random.default_rng(0)
    values = truth.tensor(5).astype(np.float64)
    values = np.where(np.isin(np.arange(SHAPE[0]), rows)[:, None], values, 0.02 * rng.normal(size=SHAPE))
    values = values + change * rng.normal(size=SHAPE)
    path = folder / "model.safetensors"
    save_file({"w": values.astype(np.float32)}, str(path))
    hidden = held_out("w", rows)
    places = [(rows[side][:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel() for side in (~hidden, hidden)]
    with open_checkpoint(path) as checkpoint:
        stored = checkpoint.elements("w", places[0]).astype(np.float64)
        unit = places[0] // SHAPE[1]
        selection = Selection(
            "w", SHAPE, "float32", "row", "normal", 0.02, 0.01, places[0], stored, unit, np.ones(unit.size)
        )
        survivors = Survivors("w", SHAPE, "float32", "row", rows, np.ones(rows.size), "normal", 0.02, 0.01)
        holdout = Holdout("w", "row", places[1], places[1] // SHAPE[1])
        judged = judge(checkpoint, survivors, selection, holdout, [Found(truth, 5)], trials=10**6)
        reading = assemble(
            checkpoint,
            [judged],
            NOTHING_SEARCHED,
            command="birthmark scan model.safetensors",
            tensors_read=["w"],
        )
    return reading, [one.judgement.case for one in judged.findings]


TRUTH = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 28672)


@pytest.fixture(scope="session")
def match(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reading, list[Case]]:
    """A match on twelve rows, some beyond the first wave."""
    return evidence(tmp_path_factory.mktemp("match"), rows=np.arange(450, 510, 5), truth=TRUTH)


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reading, list[Case]]:
    """Two shards with seeds of their own."""
    truth = replace(TRUTH, sharding=Sharding(2, "megatron"), threads=8192)
    return evidence(tmp_path_factory.mktemp("shards"), rows=np.arange(0, 512, 8), truth=truth)


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reading, list[Case]]:
    """A weak trace in a whole tensor."""
    return evidence(tmp_path_factory.mktemp("trace"), rows=np.arange(512), truth=TRUTH, change=0.05)
