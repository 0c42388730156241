"""Controls that speak for or against a finding by values that it was not made from, in the schema's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.census import rows_of_rank
from birthmark.evidence.elements import matrix_shape
from birthmark.evidence.judge import Judged
from birthmark.evidence.score import fisher
from birthmark.evidence.seed_free import SeedFree
from birthmark.evidence.solved import SolvedReading
from birthmark.evidence.trained import Trained, trained_trace
from birthmark.evidence.verdict import PREDICTED
from birthmark.reports.findings import score_model
from birthmark.reports.reading import Finding, TrainedModel, WithoutSeedModel

Standard = Callable[[NDArray[np.int64]], NDArray[np.floating]]


def with_controls(
    checkpoint: Checkpoint,
    findings: Sequence[Finding],
    judged: Sequence[Judged],
    solved: Sequence[SolvedReading],
    confirmed: Mapping[str, SeedFree],
) -> list[Finding]:
    """The findings with what trained rows, and pairs without any seed, say about them.

    Args:
        checkpoint: open; some trained rows of each finding's tensor are read.
        findings: those of `judged` first, then any others, those of `solved` last.
        judged: what has a launch layout.
        solved: what has none.
        confirmed: tensors whose layout was read once more without the seed.
    """
    changed = list(findings)
    known = _predicted(judged, solved)
    for number, one in enumerate(judged):
        if (looked := _of_layout(checkpoint, one, known)) is not None:
            changed[number] = changed[number].model_copy(update={"trained": _model(looked)})
        read = confirmed.get(one.judgement.case.tensor)
        if read is not None and findings[number].outcome in PREDICTED:
            again = _without_seed(read, findings[number])
            changed[number] = changed[number].model_copy(update={"without_seed": again})
    first = len(findings) - len(solved)
    for number, found in enumerate(solved, start=first):
        axis, standard = _axis(found.judgement.case.axis), found.judgement.origin.standard
        looked = trained_trace(checkpoint, found.tensor, axis, known[found.tensor], standard)
        if looked is not None:
            changed[number] = changed[number].model_copy(update={"trained": _model(looked)})
    return changed


def _predicted(judged: Sequence[Judged], solved: Sequence[SolvedReading]) -> dict[str, NDArray[np.int64]]:
    """By tensor, the units that any finding predicts."""
    found: dict[str, list[NDArray[np.int64]]] = {}
    for one in judged:
        found.setdefault(one.judgement.case.tensor, []).append(
            one.judgement.survivors if one.census is None else one.census.ids
        )
    for each in solved:
        units = each.units
        if units is not None:
            found.setdefault(each.tensor, []).append(units.ids[units.predicted])
    return {tensor: np.unique(np.concatenate(ids)) for tensor, ids in found.items()}


def _of_layout(
    checkpoint: Checkpoint, judged: Judged, known: Mapping[str, NDArray[np.int64]]
) -> Trained | None:
    judgement = judged.judgement
    case, hypothesis = judgement.case, judgement.fit.hypothesis
    if judgement.outcome not in PREDICTED or judgement.combination is not None:
        return None
    axis = _axis(case.axis)
    span = rows_of_rank(judgement, matrix_shape(case.shape)[0]) if axis == "row" else None

    def standard(indices: NDArray[np.int64]) -> NDArray[np.floating]:
        return hypothesis.standard(case.seed, indices)

    return trained_trace(checkpoint, case.tensor, axis, known[case.tensor], standard, span)


def _axis(axis: str) -> Literal["row", "column"]:
    return "column" if axis == "column" else "row"


def _model(trained: Trained) -> TrainedModel:
    r = trained.score.r
    interval = None if r is None else fisher(r, trained.score.n)
    return TrainedModel(
        units=trained.units,
        of=trained.of,
        score=score_model(trained.score),
        lo=None if interval is None else interval[0],
        hi=None if interval is None else interval[1],
        moved=None if trained.moved is None else score_model(trained.moved),
    )


def _without_seed(read: SeedFree, finding: Finding) -> WithoutSeedModel:
    best = read.together or read.holdout
    rival = read.background.next_best if read.background is not None else None
    agrees = None
    if read.result == "layout" and finding.layout is not None:
        shown = {read.threads, *(threads for _, threads in read.alike)}
        agrees = not shown.isdisjoint(finding.layout.not_excluded)
    return WithoutSeedModel(
        asked=read.result != "refused",
        threads=read.threads,
        agrees=agrees,
        pairs=0 if best is None else best.numbers,
        r=None if best is None else best.r,
        next_r=None if rival is None else rival[1].r,
        compared=len(read.layouts),
        statement=_sentence(read, agrees, None if rival is None else rival[1].r),
    )


def _sentence(read: SeedFree, agrees: bool | None, rival: float | None) -> str:
    if read.result == "layout":
        assert read.together is not None
        others = (
            "" if rival is None else f"; of {len(read.layouts) - 1:,} others none exceeds R = {rival:.1f}"
        )
        shown = (
            f"the pairs of {read.threads:,} threads lie on the generator's lattice, "
            f"R = {read.together.r:.1f} on {read.together.numbers:,} pairs{others}."
        )
        return f"Yes: {shown}" if agrees else f"It contradicts this finding: {shown}"
    if read.result == "family":
        return f"It contradicts this finding: {read.reason}."
    word = "Not asked" if read.result == "refused" else "No layout shows"
    return f"{word}: {read.reason}."
