"""One way in: candidates of a search, with the checkpoint they are to be held against, become judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.evidence.case import Case
from birthmark.evidence.census import Census, census
from birthmark.evidence.elements import Elements
from birthmark.evidence.holdout import HeldOut, read_holdout
from birthmark.evidence.mixture import second_case
from birthmark.evidence.score import score
from birthmark.evidence.verdict import PREDICTED
from birthmark.evidence.weigh import Judgement, weigh
from birthmark.hypothesis import Hypothesis
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors

#: Candidates that may be scored on the hold-out; each is counted as a trial there.
MOST_CANDIDATES = 16


#: Layouts of one seed that rows of one tensor may come from.
MOST_PARTS = 4


class Proposal(Protocol):
    """What a search hands over: a hypothesis with a seed that passed its probes."""

    @property
    def hypothesis(self) -> Hypothesis:
        """Everything but the seed."""
        ...

    @property
    def seed(self) -> int:
        """The seed of shard 0."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A judgement with the census of its tensor.

    Attributes:
        judgement: the numbers.
        census: which units of the tensor are predicted; None where nothing is predicted.
        shared: units of a mixture that several of its layouts predict alike.
    """

    judgement: Judgement
    census: Census | None
    shared: int = 0

    @property
    def is_finding(self) -> bool:
        """Whether there is something to report."""
        return self.judgement.outcome != "none"


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """All that came of one search.

    Attributes:
        judged: one for each origin (each shard with a seed of its own, each part of a mixture); where
            nothing was found, the best candidate with the outcome "none"; empty where there was no
            candidate.
        notes: about the hold-out and the census.
    """

    judged: tuple[Judged, ...]
    notes: tuple[str, ...]

    @property
    def findings(self) -> tuple[Judged, ...]:
        """Those that are to be reported."""
        return tuple(one for one in self.judged if one.is_finding)


def distinct(groups: Sequence[Judgements]) -> tuple[Judgements, ...]:
    """Without what a later search of the same tensor found again: the later judgement stays.

    Args:
        groups: one for each search, in order.
    """
    seen: set[tuple[object, ...]] = set()
    kept: list[Judgements] = []
    for group in reversed(groups):
        fresh = tuple(one for one in group.judged if _origin(one) not in seen)
        seen.update(_origin(one) for one in group.judged)
        if fresh:
            kept.append(Judgements(fresh, group.notes))
    return tuple(reversed(kept))


def _origin(judged: Judged) -> tuple[object, ...]:
    case = judged.judgement.case
    hypothesis = judged.judgement.fit.hypothesis
    return (case.tensor, case.rank, case.seed, hypothesis.threads, hypothesis.offset, hypothesis.sharding)


def judge(
    checkpoint: Checkpoint,
    survivors: Survivors,
    selection: Selection,
    holdout: Holdout,
    candidates: Sequence[Proposal],
    *,
    trials: int,
    probes: NDArray[np.int64] | None = None,
    layouts: tuple[int, ...] | None = None,
    declared: float | None = None,
) -> Judgements:
    """Judge the candidates of a finished search.

    Args:
        checkpoint: where the hold-out and all other values lie.
        survivors: what the survey saw in the tensor.
        selection: what the search saw.
        holdout: where the held-out elements lie.
        candidates: best first.
        trials: predictions that the search tried.
        probes: flat indices of the elements that seeds were rejected by; None where unknown.
        layouts: the G's that the candidate's is compared with; None for the device table's.
        declared: the scale that the model's own files declare; None where unknown.
    """
    if not candidates:
        return Judgements((), ())
    seen = Elements(selection.indices, selection.values, selection.unit)
    chosen, held, scored = _best(checkpoint, selection, holdout, candidates, probes)
    case = Case(
        tensor=selection.tensor,
        shape=selection.shape,
        dtype=selection.dtype,
        axis=selection.axis,
        scale=selection.scale,
        hypothesis=chosen.hypothesis,
        seed=chosen.seed % 2**64,
        selection=seen,
        holdout=held.elements,
        trials=max(1, trials),
        holdout_trials=scored,
        layouts=table_threads() if layouts is None else layouts,
        declared=declared,
    )
    ranks = case.ranks()
    parts = [weigh(case.of_rank(rank)) for rank in ranks] if ranks else [weigh(case)]
    if sum(one.outcome in PREDICTED for one in parts) > 1:  # it takes two shards to show a cut
        parts = [_on_its_layout(one) for one in parts]
    judged = tuple(one for part in parts for one in _with_census(checkpoint, survivors, part))
    notes = [held.note, *dict.fromkeys(one.census.note for one in judged if one.census and one.census.note)]
    return Judgements(judged, tuple(notes))


def _best(
    checkpoint: Checkpoint,
    selection: Selection,
    holdout: Holdout,
    candidates: Sequence[Proposal],
    probes: NDArray[np.int64] | None,
) -> tuple[Proposal, HeldOut, int]:
    """The candidate that scores highest on the hold-out, its hold-out, and how many were scored on it."""
    best: tuple[float, Proposal, HeldOut] | None = None
    tried = list(candidates[:MOST_CANDIDATES])
    for candidate in tried:
        held = read_holdout(checkpoint, selection, holdout, candidate.hypothesis, probes)
        standard = candidate.hypothesis.standard(candidate.seed, held.elements.indices)
        sigma = score(held.elements.values, standard).sigma
        value = -np.inf if sigma is None else sigma
        if best is None or value > best[0]:
            best = (value, candidate, held)
    assert best is not None
    return best[1], best[2], len(tried)


def _on_its_layout(judgement: Judgement) -> Judgement:
    """A shard's judgement under the layout that predicts all of it: processes may run on several devices."""
    other = second_case(judgement) if judgement.outcome in PREDICTED else None
    if other is None:
        return judgement
    case = judgement.case
    moved = replace(case, hypothesis=other.hypothesis, trials=case.trials * len(case.layouts))
    again = weigh(moved)
    # The hold-out has no say in the choice, or it would be no hold-out for what was chosen.
    before, after = (int(np.isin(one.survivors, case.selection.unit).sum()) for one in (judgement, again))
    return again if again.outcome in PREDICTED and after > before else judgement


def _with_census(checkpoint: Checkpoint, survivors: Survivors, judgement: Judgement) -> tuple[Judged, ...]:
    """The judgement with its census, and further parts where the tensor is a mixture of layouts."""
    if judgement.outcome not in PREDICTED:
        return (Judged(judgement, None),)
    parts = [judgement]
    while parts[-1].outcome == "match" and len(parts) < MOST_PARTS:
        other = second_case(parts[-1])
        following = weigh(other) if other is not None else None
        if following is None or following.outcome != "match":
            break
        parts.append(following)
    counted = [census(checkpoint, part, survivors.ids) for part in parts]
    _, times = np.unique(np.concatenate([one.ids for one in counted]), return_counts=True)
    shared = int(np.count_nonzero(times > 1))
    return tuple(Judged(part, one, shared) for part, one in zip(parts, counted, strict=True))
