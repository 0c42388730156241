"""The searches of a scan: for a launch layout and its seed, in one tensor after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch
from birthmark.evidence.judge import Judged, Judgements
from birthmark.evidence.seed_free import seed_free
from birthmark.scan.options import ScanOptions
from birthmark.scan.origins import rest_of, strangers
from birthmark.scan.state import State
from birthmark.search.engine import search
from birthmark.search.ledger import Ledger
from birthmark.search.offsets import search_offsets
from birthmark.search.options import Options
from birthmark.search.outcome import Outcome
from birthmark.search.related import search_related
from birthmark.search.weak import weak_candidates
from birthmark.survivors.split import Selection
from birthmark.survivors.survey import likely_values
from birthmark.survivors.survivor import Survivors
from birthmark.survivors.traced import split_traced, traceable

#: Tensors that are tried with the dictionary of seeds, and those that a known seed is tried on.
MOST_TARGETS, MOST_OTHERS = 8, 64
#: Tensors that are tried with the dictionary because a known seed leaves so much of their survivors strange.
MOST_STRANGERS, STRANGE = 2, 0.25
#: Known seeds from which those of other processes are derived.
MOST_KNOWN = 4
#: Tensors whose layout or family is read without a seed, those that are asked for it, and those that are
#: looked at, refusals included.
MOST_SEEDLESS, MOST_ASKED, MOST_LOOKED_AT = 2, 4, 8


def with_usual_seeds(state: State, targets: Sequence[Survivors], wanted: Options) -> list[str]:
    """Try the dictionary of seeds on each target; return the reasons of those that offered nothing."""
    refusals: list[str] = []
    for target in targets[:MOST_TARGETS]:
        _attempt(state, target, replace(wanted, seeds=(0, 0)), None, refusals)
        if state.settled or state.stopped:
            break
    return refusals


def in_full(state: State, targets: Sequence[Survivors], options: ScanOptions) -> list[str]:
    """Try every seed of the range: on the named tensors, or on the most promising one."""
    refusals: list[str] = []
    wanted = replace(options.search, dictionary=False)
    for number, target in enumerate(targets if options.tensors else targets[:1]):
        if state.settled or state.stopped:
            break
        _attempt(state, target, _narrowed(state, target, wanted), _ledger(options, number), refusals)
    return refusals


def without_seed(state: State, targets: Sequence[Survivors]) -> None:
    """What the values say about their layout without a seed.

    The most promising tensor comes first, then those with the most values: a tensor of one wave has no layout
    to show. Why a tensor was not asked is kept as well, each kind of reason once.
    """
    rest = sorted(targets[1:], key=likely_values, reverse=True)
    told: set[str] = set()
    asked, read = 0, 0
    for target in [*targets[:1], *rest][:MOST_LOOKED_AT]:
        if asked == MOST_ASKED or read == MOST_SEEDLESS:
            return
        found = seed_free(state.checkpoint, target)
        kind = found.reason.lstrip("0123456789,")
        if found.result == "refused":
            if kind in told:
                continue
            told.add(kind)
        asked += found.result != "refused"
        read += found.result in ("layout", "family")
        state.layouts.append((target, found))


def from_the_known_seed(
    state: State, found: Judged, targets: Sequence[Survivors], wanted: Options, *, cpu: bool = True
) -> None:
    """What else a predicted tensor leads to: other births in it, and other tensors at later offsets."""
    if found.judgement.combination is None:
        rest_of(state, found.judgement.case.tensor, targets, wanted, cpu=cpu)
    _others(state, found, targets, wanted)


def beyond_allowed(state: State, found: Judged, targets: Sequence[Survivors], wanted: Options) -> None:
    """Hold a seed that was found under the user's layouts against all layouts of the device table.

    Below one wave every layout predicts the same values, so that a seed is found under a wrong one as well;
    where another explains more of the survivors, the reading names that one instead.
    """
    tensor, seed = found.judgement.case.tensor, found.judgement.case.seed
    target = next(each for each in targets if each.tensor == tensor)
    before = list(state.judgements)
    once = replace(wanted, layouts=None, seeds=(seed, seed + 1), dictionary=False)
    _attempt(state, target, once, None, [])
    best, held = _explained(state.judgements[len(before) :], tensor), _explained(before, tensor)
    if best <= held:
        state.judgements = before
        return
    state.judgements = [
        group for group in before if all(each.judgement.case.tensor != tensor for each in group.judged)
    ] + state.judgements[len(before) :]
    state.notes.append(
        f"{tensor}: the layouts that were allowed explain {held:,} rows or columns, and another one of the "
        f"device table {best:,}; the reading names that one."
    )


def _explained(groups: Sequence[Judgements], tensor: str) -> int:
    """How many rows or columns of a tensor the findings predict together, each counted once."""
    found = [
        each.judgement.survivors
        for group in groups
        for each in group.findings
        if each.judgement.case.tensor == tensor
    ]
    return len(np.unique(np.concatenate(found))) if found else 0


def for_a_trace_after_all(state: State, options: ScanOptions) -> bool:
    """Try trained values although something seemed to survive, for nothing predicts that; whether it helped.

    A survey that takes chance groups for survivors must not hide a trace. One tensor is asked in a quick
    scan: that costs it less than what was tried before. Under layouts that the user names nothing is asked:
    below one wave a wrong one shows a trace as well as the right one.
    """
    if options.search.layouts is not None:
        return False
    if state.findings or state.solved or state.stopped or any(found.threads for _, found in state.layouts):
        return False
    seeds = options.search.seeds
    for_a_trace(state, options, most=1 if seeds[0] == seeds[1] else 2)
    return bool(state.findings)


def for_a_trace(state: State, options: ScanOptions, *, most: int = 2) -> list[str]:
    """Try trained values for a trace of the seeds that people use; return the tensors that were read.

    Args:
        state: what has been done so far.
        options: of the scan.
        most: tensors to try.
    """
    names = options.tensors or None
    traced = traceable(state.checkpoint, names, most=most)
    before = len(state.searches)
    for target in traced:
        try:
            selection, holdout = split_traced(state.checkpoint, target)
            outcome = weak_candidates(selection, options.search, progress=state.progress)
        except NothingToSearch:
            continue  # too few values; the reason why nothing survived says what matters
        state.stopped = outcome.stopped
        state.searches.append((target.tensor, outcome.searched))
        state.judge(target, selection, holdout, outcome)
        if state.findings or state.stopped:
            break
    if len(state.searches) > before and not state.findings and not state.stopped:
        tried = ", ".join(name for name, _ in state.searches[before:])
        state.notes.append(
            f"Trained values of {tried} were tried for a weak trace of the seeds that people use; none "
            "stands out. A trace of another seed, of a later draw, or of a correlation below 0.08 would not "
            "show."
        )
    return [target.tensor for target in traced]


def _attempt(
    state: State, target: Survivors, wanted: Options, ledger: Ledger | None, refusals: list[str]
) -> None:
    """One search of one tensor, and the judgement of what it found."""
    try:
        selection, holdout = state.split(target)
        outcome = search(selection, wanted, ledger=ledger, progress=state.progress)
    except NothingToSearch as error:
        refusals.append(str(error))
        return
    state.stopped = outcome.stopped
    state.searches.append((target.tensor, outcome.searched))
    state.judge(target, selection, holdout, outcome)


def _others(state: State, found: Judged, targets: Sequence[Survivors], wanted: Options) -> None:
    """Try the other tensors with the seed that is now known, at later offsets."""
    if state.stopped:
        return
    known, allowed = found.judgement, MOST_STRANGERS if wanted.dictionary else 0
    rest = [target for target in targets if target.tensor != known.case.tensor][:MOST_OTHERS]
    for target in rest:
        selection, holdout = state.split(target)
        layouts = known.layouts.not_excluded if known.layouts else (known.fit.hypothesis.threads,)
        outcome = search_offsets(selection, known.case.seed, layouts, wanted, progress=state.progress)
        state.searches.append((target.tensor, outcome.searched))
        if outcome.stopped:
            state.stopped = True
            return
        if not allowed or not _is_strange(selection, outcome):
            state.judge(target, selection, holdout, outcome)
            continue
        if _related(state, target, wanted):
            continue
        allowed -= 1
        if not _stranger(state, target, outcome, wanted):
            return


def _related(state: State, target: Survivors, wanted: Options) -> bool:
    """Try seeds of the same run, as experts, layers or stages have them; whether one predicts the tensor."""
    selection, holdout = state.split(target)
    if selection.distribution != "normal":
        return False
    seeds = list(dict.fromkeys(one.judgement.case.seed_of_rank for one in state.findings))[:MOST_KNOWN]
    outcome = search_related(selection, seeds, wanted.layouts or table_threads())
    state.searches.append((target.tensor, outcome.searched))
    if not outcome.candidates or _is_strange(selection, outcome):
        return False
    state.judge(target, selection, holdout, outcome)
    return True


def _is_strange(selection: Selection, outcome: Outcome) -> bool:
    """Whether much of a selection resembles nothing that a known seed draws."""
    known = [
        np.asarray(each.hypothesis.standard(each.seed, selection.indices), np.float64)
        for each in outcome.candidates
    ]
    return float(strangers(selection, known).mean()) >= STRANGE


def _stranger(state: State, target: Survivors, found: Outcome, wanted: Options) -> bool:
    """Try a tensor that a known seed does not explain with others: another model's, or a later stage's.

    Args:
        state: with a finding in another tensor.
        target: the tensor in question.
        found: what the known seed gave on it.
        wanted: the options of the search.

    Returns:
        Whether the scan goes on: nobody stopped it.
    """
    selection, holdout = state.split(target)
    try:
        outcome = search(selection, replace(wanted, seeds=(0, 0)), progress=state.progress)
    except NothingToSearch:
        outcome = found
    else:
        state.stopped = outcome.stopped
        state.searches.append((target.tensor, outcome.searched))
    tried = [outcome, found]
    if found.candidates and _is_strange(selection, outcome):
        # A part of it is the known seed's: the rest may be, on another device.
        again = search_offsets(
            selection,
            found.candidates[0].seed,
            wanted.layouts or table_threads(),
            wanted,
            progress=state.progress,
        )
        state.stopped |= again.stopped
        state.searches.append((target.tensor, again.searched))
        tried.append(again)
    best = max(tried, key=lambda one: one.candidates[0].r if one.candidates else -1.0)
    state.judge(target, selection, holdout, best)
    return not state.stopped


def _narrowed(state: State, target: Survivors, wanted: Options) -> Options:
    """The search with the one layout that was read off the values, where the user named none."""
    for survivors, found in state.layouts:
        if survivors.tensor == target.tensor and found.threads is not None and wanted.layouts is None:
            return replace(wanted, layouts=(found.threads,), exhaustive=False)
    return wanted


def _ledger(options: ScanOptions, number: int) -> Ledger | None:
    """The ledger of the full search of one tensor; further tensors get further files beside the first."""
    if options.ledger is None:
        return None
    path = options.ledger
    if number:
        path = path.with_name(f"{path.name}.{number + 1}")
    return Ledger(path, resume=options.resume and path.exists())
