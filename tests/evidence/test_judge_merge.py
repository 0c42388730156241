"""The draws of a merge held against a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from birthmark.evidence.judge_merge import judge_merge
from birthmark.evidence.verdict import Claim, overall
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.reports.assemble import claim
from birthmark.survivors.split import split
from birthmark.survivors.survivor import Survivors

SHAPE = (2048, 96)


@dataclass(frozen=True)
class Found:
    """A draw that a search found."""

    hypothesis: Hypothesis
    seed: int


def test_a_merge_in_a_checkpoint_is_a_mixture(in_memory: Any) -> None:
    """Two findings with one census; rows that the survey never named are counted as well."""
    random = np.random.default_rng(0)
    draws = [
        Found(Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), threads), seed)
        for seed, threads in ((42, 81920), (7, 110592))
    ]
    parts = [one.hypothesis.tensor(one.seed).astype(np.float64).reshape(SHAPE) for one in draws]
    kept = np.sort(random.choice(SHAPE[0], 60, replace=False))
    values = 0.02 * random.standard_normal(SHAPE)
    values[kept] = (0.75 * parts[0] + 0.25 * parts[1])[kept]
    checkpoint = in_memory("w", values.astype(np.float32), "float32")
    survivors = Survivors("w", SHAPE, "float32", "row", kept[:40], np.ones(40), "normal", 0.016, 0.01)
    found = judge_merge(checkpoint, survivors, *split(checkpoint, survivors), draws, trials=10**6)

    assert [one.judgement.outcome for one in found.judged] == ["match", "match"]
    claims: list[Claim] = [claim(one) for one in found.judged]
    assert overall(claims) == "mixture"
    shared = found.judged[0].census
    assert shared is not None
    assert shared is found.judged[1].census
    assert shared.ids.tolist() == kept.tolist()
    for one in found.judged:
        blocks = one.judgement.fit.hypothesis.blocks
        case = one.judgement.case
        assert not np.isin(blocks(case.holdout.indices), blocks(case.selection.indices)).any()
