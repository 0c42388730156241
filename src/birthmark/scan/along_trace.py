"""A scan that has a trace of the model: each tensor is tried where it was drawn, and one seed on all of them.

The order is that of a scan without one. What changes are the places: offsets for each layout, the index of a
CPU draw, later tensors as well as the first. At the end the seed is held against the whole model, tensors
without survivors included, and the layouts of the device table are compared by the offsets that they give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch, UsageError
from birthmark.evidence.judge import Judged
from birthmark.evidence.solved import HostLook, held_against
from birthmark.recipes.trace import Trace
from birthmark.replay.matching import Match, match_trace
from birthmark.scan.host import Sight, on_the_lattice, sights
from birthmark.scan.options import ScanOptions
from birthmark.scan.searching import MOST_OTHERS, MOST_TARGETS
from birthmark.scan.state import State
from birthmark.scan.trace_account import account_for_model
from birthmark.search.by_trace import TracedPlaces, confirm, fewest_groups, narrowed
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.cpu_positions.conditions import conditions_of_selection
from birthmark.search.cpu_positions.search import search_positions
from birthmark.search.engine import search
from birthmark.search.known_seed import among_usual_seeds, candidate_at
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.search.origin import Found
from birthmark.search.weak import weak_candidates
from birthmark.survivors.survivor import Survivors
from birthmark.survivors.traced import split_traced, traceable


@dataclass(frozen=True, slots=True)
class _Plan:
    """The trace on this checkpoint."""

    trace: Trace
    match: Match
    places: TracedPlaces
    layouts: tuple[int, ...]


def matched(state: State, options: ScanOptions) -> Match:
    """Which tensors of the checkpoint the trace is of.

    Raises:
        UsageError: the trace does not fit; the message names the first tensor that differs.
    """
    assert options.trace is not None
    return match_trace(options.trace, state.checkpoint.tensors, prefix=options.prefix)


def search_by_trace(state: State, targets: Sequence[Survivors], options: ScanOptions) -> list[str]:
    """Search the targets where the trace places them; return the reasons of those that offered nothing.

    Raises:
        UsageError: the trace does not fit the checkpoint.
    """
    plan = _plan(state, options)
    aimed = [target for target in targets if plan.places.aim(target.tensor) is not None]
    refusals = [
        f"{target.tensor} is no single draw in its own order in the trace"
        for target in targets
        if target not in aimed
    ]
    seen = _on_cpu(state, plan, aimed, options) if options.cpu and options.search.layouts is None else []
    if not state.settled and options.search.dictionary:
        for target in aimed[:MOST_TARGETS]:
            _search(state, plan, target, replace(options.search, seeds=(0, 0)), None, refusals)
            if state.settled or state.stopped:
                break
    if not state.settled and not state.stopped and options.search.seeds[0] < options.search.seeds[1]:
        _in_full(state, plan, aimed, seen, options, refusals)
    if state.predicted is not None and not state.stopped:
        _others(state, plan, state.predicted, aimed, options.search)
    account_for_model(state, plan.trace, plan.match)
    return refusals


def trace_by_trace(state: State, options: ScanOptions) -> list[str]:
    """Where nothing survived: try trained values for the seeds that people use, where the trace places them.

    Returns:
        The tensors that were read.
    """
    plan = _plan(state, options)
    names = [name for name in plan.places.names if plan.places.aim(name) is not None]
    chosen = [name for name in names if not options.tensors or name in options.tensors]
    traced = traceable(state.checkpoint, chosen) if chosen else []
    for target in traced:
        for group in plan.places.groups(target.tensor, plan.layouts):
            aim = plan.places.aim(target.tensor)
            assert aim is not None
            try:
                selection, holdout = split_traced(state.checkpoint, target)
                wanted = narrowed(options.search, group, aim)
                outcome = weak_candidates(selection, wanted, progress=state.progress)
            except NothingToSearch:
                continue  # too few values in the first wave of these layouts
            state.stopped = outcome.stopped
            state.searches.append((target.tensor, outcome.searched))
            state.judge(target, selection, holdout, outcome)
            if state.findings or state.stopped:
                break
        if state.findings or state.stopped:
            break
    account_for_model(state, plan.trace, plan.match)
    return [target.tensor for target in traced]


def _plan(state: State, options: ScanOptions) -> _Plan:
    assert options.trace is not None
    match = matched(state, options)
    names = {stored: traced for traced, stored in reversed(match.names.items())}
    layouts = options.search.layouts or table_threads()
    return _Plan(options.trace, match, TracedPlaces(options.trace, names), layouts)


def _on_cpu(state: State, plan: _Plan, aimed: Sequence[Survivors], options: ScanOptions) -> list[Sight]:
    """Solve survivors as CPU draws, try usual seeds where the trace places them, then the other tensors."""
    there = [target for target in aimed if plan.places.indices(target.tensor)]
    seen = sights(state, there)
    on_the_lattice(state, seen)
    if not state.settled and options.search.dictionary:
        for sight in seen[:MOST_TARGETS]:
            indices = plan.places.indices(sight.tensor)
            tried, found = among_usual_seeds(sight.selection, indices)
            for one in tried.tried:
                what = f"CPU draw, dictionary of seeds, the trace's index {one.index:,}: {one.seeds:,} seeds"
                complete = one.seeds == one.of
                state.looks.append(
                    HostLook((sight.tensor,), what, one.seeds, tried.reason, complete=complete)
                )
            if found is not None and _held(state, sight, found):
                break
    if state.solved:
        _others_on_cpu(state, plan, seen)
    return seen


def _search(
    state: State,
    plan: _Plan,
    target: Survivors,
    wanted: Options,
    ledger: Ledger | None,
    refusals: list[str],
) -> None:
    """One tensor, each group of layouts at its own offset."""
    aim = plan.places.aim(target.tensor)
    assert aim is not None
    for group in plan.places.groups(target.tensor, plan.layouts):
        try:
            selection, holdout = state.split(target)
            outcome = search(selection, narrowed(wanted, group, aim), ledger=ledger, progress=state.progress)
        except NothingToSearch as error:
            refusals.append(str(error))
            return
        state.stopped = outcome.stopped
        state.searches.append((target.tensor, outcome.searched))
        state.judge(target, selection, holdout, outcome)
        if state.settled or state.stopped:
            return


def _in_full(
    state: State,
    plan: _Plan,
    aimed: Sequence[Survivors],
    seen: Sequence[Sight],
    options: ScanOptions,
    refusals: list[str],
) -> None:
    """Every seed of the range: on the CPU at the traced index, then on a GPU where that costs least."""
    for sight in seen[:1]:
        indices = plan.places.indices(sight.tensor)[:1]
        try:
            outcome = search_positions(
                conditions_of_selection(sight.selection), indices, seeds=_low(options.search.seeds)
            )
        except NothingToSearch:
            continue
        state.stopped = outcome.stopped
        first, stop = outcome.searched.seeds
        what = f"CPU draw, seeds {first:,} to {stop:,}, the trace's index"
        reason = None if outcome.candidates else "no seed stands out"
        state.looks.append(
            HostLook(
                (sight.tensor,), what, outcome.searched.trials, reason, complete=outcome.searched.complete
            )
        )
        for one in outcome.candidates:
            how = "found among all seeds at the place that the trace gives"
            found = candidate_at(
                sight.selection, one.seed, one.index, how=how, trials=outcome.searched.trials
            )
            if _held(state, sight, found):
                _others_on_cpu(state, plan, seen)
                return
    order = fewest_groups(plan.places, [target.tensor for target in aimed], plan.layouts)
    named = {target.tensor: target for target in aimed}
    for tensor in order if options.tensors else order[:1]:
        if state.settled or state.stopped:
            return
        wanted = replace(options.search, dictionary=False)
        groups = plan.places.groups(tensor, plan.layouts)
        ledger = None
        if options.ledger is not None and len(groups) == 1:
            ledger = Ledger(options.ledger, resume=options.resume and options.ledger.exists())
        _search(state, plan, named[tensor], wanted, ledger, refusals)


def _low(seeds: tuple[int, int]) -> tuple[int, int]:
    """The part of a range of seeds that the CPU's generator tells apart."""
    return min(seeds[0], 1 << 32), min(seeds[1], 1 << 32)


def _others(state: State, plan: _Plan, found: Judged, aimed: Sequence[Survivors], wanted: Options) -> None:
    """The other tensors with the seed that is now known, each where it was drawn."""
    known = found.judgement
    layouts = known.layouts.not_excluded if known.layouts else (known.fit.hypothesis.threads,)
    for target in [each for each in aimed if each.tensor != known.case.tensor][:MOST_OTHERS]:
        aim = plan.places.aim(target.tensor)
        groups = plan.places.groups(target.tensor, layouts)
        if aim is None or not groups:
            continue
        try:
            selection, holdout = state.split(target)
        except NothingToSearch:
            continue
        seed = known.case.seed if aim.seed is None else aim.seed
        outcome = confirm(selection, seed, groups, wanted, aim)
        state.searches.append((target.tensor, outcome.searched))
        state.judge(target, selection, holdout, outcome)


def _others_on_cpu(state: State, plan: _Plan, seen: Sequence[Sight]) -> None:
    """The other tensors with the CPU seed that is now known; whether the trace's places hold is noted."""
    origin = next(
        (one.judgement.origin for one in state.solved if isinstance(one.judgement.origin, CpuOrigin)), None
    )
    if origin is None:
        return
    taken = {one.tensor for one in state.solved}
    for sight in [each for each in seen if each.tensor not in taken]:
        aim = plan.places.aim(sight.tensor)
        seed = origin.seed if aim is None or aim.seed is None else aim.seed
        places = plan.places.indices(sight.tensor)
        for index in places:
            how = "held against the place that the trace gives"
            try:
                found = candidate_at(sight.selection, seed, index, how=how, trials=len(places))
            except UsageError:  # fewer than 16 normals, which no candidate is made of
                break
            if _held(state, sight, found):
                break
    for one in state.solved:
        solved = one.judgement.origin
        indices = plan.places.indices(one.tensor)
        if isinstance(solved, CpuOrigin) and indices and solved.index not in indices:
            state.notes.append(
                f"{one.tensor} was drawn at index {solved.index:,}, and the trace has it at {indices[0]:,}: "
                "the model was built otherwise than it was traced."
            )


def _held(state: State, sight: Sight, found: Found) -> bool:
    """Hold a candidate against the checkpoint, and keep it if it is a finding."""
    reading = held_against(state.checkpoint, sight.survivors, sight.selection, sight.holdout, found)
    if reading.matches:
        state.solved.append(reading)
    else:
        reason = f"the candidate does not hold: {reading.judgement.reason}"
        state.looks.append(HostLook((sight.tensor,), f"CPU draw, seed {found.origin.seed}", 1, reason))
    return reading.matches
