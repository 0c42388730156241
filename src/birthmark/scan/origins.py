"""Further origins in one tensor: rows of another birth beside the first one's, and weighted sums of draws.

Where a good part of the survivors is not predicted by the origins found so far, the rest is a selection of
its own: for another seed that people use, for another offset of a known seed, for a CPU's draw, and for the
sum of several launches of a known seed. Whatever predicts a part of it is kept, and the rest asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch
from birthmark.evidence.judge import Judged, Judgements
from birthmark.evidence.judge_merge import judge_merge
from birthmark.evidence.mixture import left_over
from birthmark.evidence.solved import HostLook, held_against
from birthmark.evidence.verdict import PREDICTED
from birthmark.recipes.sharding import WHOLE
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.scan.state import State
from birthmark.search.engine import search
from birthmark.search.known_seed import among_usual_seeds
from birthmark.search.merges import merged_draws
from birthmark.search.offsets import search_offsets
from birthmark.search.options import Options
from birthmark.search.outcome import Outcome
from birthmark.search.solve.selections import lattice_of, solve_selection
from birthmark.search.solve.solve import Unsolved
from birthmark.search.stepped import Known, search_stepped
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors

#: Origins of one tensor's rows that are looked for.
MOST_ORIGINS: Final = 4
#: Share of the selection's rows that must be left, and resemble no known birth, before another is looked for.
LEAST_REST: Final = 0.02
#: So few rows can lie near the start by chance, or be no survivors; with fewer a search has nothing to hold.
LEAST_ROWS: Final = 2
#: A row that correlates so well with a known draw is of that birth and was touched since; with few values it
#: must be so many standard errors, too.
RESEMBLING, CHANCE_ERRORS = 0.3, 4.0
#: The last offset at which rows of a known seed are looked for.
LAST_OFFSET: Final = 512
#: By how much shards of one rule must correlate better with all survivors than any origin found before.
GAIN: Final = 0.1
#: Tensors whose survivors are tried as a weighted sum of draws.
MOST_MERGED: Final = 2


def rest_of(state: State, tensor: str, targets: Sequence[Survivors], wanted: Options, *, cpu: bool) -> None:
    """Look for further origins in the tensor of a finding, as long as a good part of its rows has none.

    Args:
        state: with a finding in the tensor.
        tensor: its name.
        targets: what the survey found; without the tensor there is nothing to look at.
        wanted: the options of the search.
        cpu: whether a draw of the CPU generator is looked for as well.
    """
    target = next((each for each in targets if each.tensor == tensor), None)
    if target is None or not wanted.dictionary:
        return
    # Rows of the hold-out are not looked at, so the share is taken of the selection's alone.
    least = max(LEAST_ROWS, LEAST_REST * np.unique(state.split(target)[0].unit).size)
    for _ in range(MOST_ORIGINS - 1):
        explained = _explained(state, target.tensor)
        left = left_over(explained, *state.split(target))
        if left is None or state.stopped or np.unique(left[0].unit).size < least:
            return
        strange = _strange(state, target.tensor, left[0])
        enough = strange is not None and np.unique(strange.unit).size >= least
        if enough and _as_shards(state, target, wanted):
            continue
        if _sum_of_known(state, target, left, wanted) or strange is None or not enough:
            return
        left = strange, left[1]
        if not (
            _another_seed(state, target, left, wanted)
            or _another_offset(state, target, left, wanted)
            or (cpu and _on_a_cpu(state, target, left))
        ):
            return


def for_a_merge(state: State, targets: Sequence[Survivors], wanted: Options) -> None:
    """Try survivors that nothing predicts as a weighted sum of draws; a single one of them is a trace."""
    for target in targets[:MOST_MERGED]:
        try:
            selection, holdout = state.split(target)
            outcome = merged_draws(selection, wanted)
        except NothingToSearch:
            continue  # no normals, or too few; the other searches say what there is
        state.stopped = outcome.stopped
        state.searches.append((target.tensor, outcome.searched))
        if len(outcome.candidates) == 1:
            state.judge(target, selection, holdout, outcome)
        elif outcome.candidates:
            judgements = _judged(state, target, (selection, holdout), outcome)
            if all(one.judgement.outcome in PREDICTED for one in judgements.judged):
                # What correlated with a part of the sum before was a sight of it, and no finding of its own.
                _without_traces(state, target.tensor)
            state.judgements.append(judgements)
        if state.findings or state.stopped:
            return


def _without_traces(state: State, tensor: str) -> None:
    """Take back what was judged of a tensor before and does not predict it."""
    state.judgements = [
        Judgements(kept, group.notes)
        for group in state.judgements
        if (
            kept := tuple(
                one
                for one in group.judged
                if one.judgement.case.tensor != tensor or one.judgement.outcome in PREDICTED
            )
        )
    ]


def _judged(
    state: State, target: Survivors, parts: tuple[Selection, Holdout], outcome: Outcome
) -> Judgements:
    return judge_merge(
        state.checkpoint,
        target,
        *parts,
        outcome.candidates,
        trials=state.trials,
        declared=state.declared.scale,
    )


def _predicted(state: State, tensor: str) -> list[Judged]:
    """The findings in a tensor that predict some of its rows."""
    return [
        each
        for each in state.findings
        if each.judgement.case.tensor == tensor and each.judgement.outcome in PREDICTED
    ]


def _explained(state: State, tensor: str) -> NDArray[np.int64]:
    """Units of a tensor that some origin predicts."""
    ids = [each.judgement.survivors for each in _predicted(state, tensor)]
    ids += [
        one.units.ids[one.units.predicted]
        for one in state.solved
        if one.tensor == tensor and one.units is not None
    ]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *ids])).astype(np.int64)


def _strange(state: State, tensor: str, left: Selection) -> Selection | None:
    """Rows of what is left that resemble no known origin: the others are of a known birth, and touched."""
    known = [
        np.asarray(each.judgement.fit.hypothesis.standard(each.judgement.case.seed, left.indices), np.float64)
        for each in _predicted(state, tensor)
    ]
    known += [one.judgement.origin.standard(left.indices) for one in state.solved if one.tensor == tensor]
    kept = strangers(left, known)
    if not kept.any():
        return None
    return replace(
        left,
        indices=left.indices[kept],
        values=left.values[kept],
        unit=left.unit[kept],
        probability=left.probability[kept],
    )


def _as_shards(state: State, target: Survivors, wanted: Options) -> bool:
    """Take what is known for shards of one table whose seeds lie apart otherwise than the search supposed."""
    before = _predicted(state, target.tensor)
    known = [
        Known(
            replace(one.judgement.fit.hypothesis, sharding=WHOLE),
            one.judgement.case.seed_of_rank,
            (one.judgement.case.rank or 0)
            * one.judgement.case.hypothesis.sharding.local_shape(target.shape)[0],
        )
        for one in before
        if one.judgement.case.hypothesis.sharding.rule != "dtensor" and len(target.shape) == 2
    ]
    selection, holdout = state.split(target)
    outcome = search_stepped(selection, known, wanted.layouts or table_threads())
    state.searches.append((target.tensor, outcome.searched))
    best = max((one.judgement.selection.r or 0.0 for one in before), default=0.0)
    if not outcome.candidates or outcome.candidates[0].r < best + GAIN:
        return False
    held, explained = list(state.judgements), _explained(state, target.tensor)
    state.judgements = [
        Judgements(kept, group.notes)
        for group in held
        if (kept := tuple(one for one in group.judged if one.judgement.case.tensor != target.tensor))
    ]
    state.judge(target, selection, holdout, outcome)
    # Of the selection alone: the hold-out has no say in which of the two is kept.
    earlier, now = (
        np.isin(ids, selection.unit).sum() for ids in (explained, _explained(state, target.tensor))
    )
    if now <= earlier:
        state.judgements = held
        return False
    return True


def strangers(selection: Selection, known: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Elements of a selection whose rows or columns resemble none of the predictions for them.

    Args:
        selection: what may be seen of a tensor.
        known: standard values at the selection's indices, under each origin that is known.
    """
    _, number, counts = np.unique(selection.unit, return_inverse=True, return_counts=True)
    strange = np.ones(counts.size, dtype=np.bool_)
    values = selection.values
    for standard in known:
        predicted = np.where(np.isfinite(standard), standard, 0.0)
        sums = [
            np.bincount(number, weights=one * other)
            for one, other in ((values, predicted), (values, values), (predicted, predicted))
        ]
        r = sums[0] / np.sqrt(np.maximum(sums[1] * sums[2], 1e-300))
        strange &= r < np.maximum(RESEMBLING, CHANCE_ERRORS / np.sqrt(counts))
    return strange[number]


def _another_seed(state: State, target: Survivors, left: tuple[Selection, Holdout], wanted: Options) -> bool:
    """Try the seeds that people use on what is left."""
    try:
        outcome = search(left[0], replace(wanted, seeds=(0, 0), dictionary=True), progress=state.progress)
    except NothingToSearch:
        return False
    state.stopped = outcome.stopped
    state.searches.append((target.tensor, outcome.searched))
    known = {each.judgement.case.seed for each in _predicted(state, target.tensor)}
    others = tuple(each for each in outcome.candidates if each.seed not in known)
    return _kept(state, target, left, replace(outcome, candidates=others))


def _another_offset(
    state: State, target: Survivors, left: tuple[Selection, Holdout], wanted: Options
) -> bool:
    """Try the known seeds at other offsets on what is left: a model built otherwise before this tensor."""
    plain = replace(wanted, ways=(1,), truncated=False)
    for seed in dict.fromkeys(each.judgement.case.seed for each in _predicted(state, target.tensor)):
        layouts = wanted.layouts or table_threads()
        outcome = search_offsets(left[0], seed, layouts, plain, last=LAST_OFFSET)
        state.searches.append((target.tensor, outcome.searched))
        if _kept(state, target, left, outcome):
            return True
    return False


def _kept(state: State, target: Survivors, left: tuple[Selection, Holdout], outcome: Outcome) -> bool:
    """Judge candidates; keep only what predicts: values that training touched resemble the first birth."""
    before = list(state.judgements)
    state.judge(target, *left, outcome)
    if any(
        one.judgement.outcome in PREDICTED
        for group in state.judgements[len(before) :]
        for one in group.judged
    ):
        return True
    state.judgements = before
    return False


def _on_a_cpu(state: State, target: Survivors, left: tuple[Selection, Holdout]) -> bool:
    """Solve what is left as a CPU draw where it lies on that lattice, else try the seeds that people use."""
    selection, holdout = left
    nominals = () if state.declared.scale is None else (state.declared.scale,)
    found = None
    if lattice_of(selection, nominals) is not None:
        solved = solve_selection(selection, nominals)
        what = f"CPU draw in the rest, by solving for the generator's state, {solved.attempts:,} subsets"
        found = None if isinstance(solved, Unsolved) else solved
        reason = solved.message if isinstance(solved, Unsolved) else None
        state.looks.append(HostLook((target.tensor,), what, solved.attempts, reason))
    if found is None:
        parameters = (0.0, 1.0) if selection.distribution == "normal" else (-1.0, 1.0)
        again = CpuDraw(selection.distribution, parameters, int(np.prod(selection.shape))).consumed
        tried, found = among_usual_seeds(selection, (0, again), nominals)
        for one in tried.tried:
            what = f"CPU draw in the rest, dictionary of seeds, index {one.index:,}: {one.seeds:,} seeds"
            reason = tried.reason if found is None else None
            complete = one.seeds == one.of
            state.looks.append(HostLook((target.tensor,), what, one.seeds, reason, complete=complete))
    if found is None:
        return False
    reading = held_against(state.checkpoint, target, selection, holdout, found)
    if reading.matches:
        state.solved.append(reading)
    return reading.matches


def _sum_of_known(state: State, target: Survivors, left: tuple[Selection, Holdout], wanted: Options) -> bool:
    """Try what is left as a sum of launches of the known seeds: they agree on the rows of the first wave."""
    before = _predicted(state, target.tensor)
    seeds = np.array(sorted({each.judgement.case.seed for each in before}), np.uint64)
    if not len(seeds):
        return False
    try:
        outcome = merged_draws(left[0], wanted, seeds=seeds)
    except NothingToSearch:
        return False
    state.searches.append((target.tensor, outcome.searched))
    if len(outcome.candidates) < 2:
        return False
    judgements = _judged(state, target, state.split(target), outcome)
    if not all(one.judgement.outcome in PREDICTED for one in judgements.judged):
        return False
    # The sum gives the rows of the first wave as well: the earlier findings are parts of it.
    state.judgements = [
        Judgements(kept, group.notes)
        for group in state.judgements
        if (kept := tuple(one for one in group.judged if one not in before))
    ]
    state.judgements.append(judgements)
    return True
