"""The order of a scan.

The tensors with survivors are tried in the order of their promise: all of them with the seeds that people
use, which takes a second each, then the most promising one with every seed. In between, likely seeds are
tried where recipes suppose that a tensor was drawn later than the generator's start, survivors are tried as a
draw of the CPU generator, which is solved for, float32 survivors are asked for their layout without a seed,
which spares the search all others, and what nothing predicts is tried as a merge of two models. Once a seed
is known, the other tensors are tried with it at later offsets of the generator. Where nothing survived,
trained values are tried for a weak trace of the seeds that people use.
"""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.checkpoints.declarations import declarations
from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import UnknownName
from birthmark.evidence.judge import distinct
from birthmark.evidence.layout_case import layout_case
from birthmark.evidence.verdict import PREDICTED
from birthmark.packs.origins import AnyCase
from birthmark.replay.matching import match_trace
from birthmark.reports.account import account
from birthmark.reports.assemble import assemble, not_searched
from birthmark.reports.reading import DeclaredModel
from birthmark.reports.surveyed import special_notes, why_not
from birthmark.scan.along_trace import search_by_trace, trace_by_trace
from birthmark.scan.controls import confirm_layouts
from birthmark.scan.host import Sight, along_the_stream, by_elimination, on_the_lattice, sights
from birthmark.scan.hosts import in_full_on_hosts, quickly
from birthmark.scan.options import ScanOptions
from birthmark.scan.origins import for_a_merge, rest_of
from birthmark.scan.searching import (
    beyond_allowed,
    for_a_trace,
    for_a_trace_after_all,
    from_the_known_seed,
    in_full,
    with_usual_seeds,
    without_seed,
)
from birthmark.scan.state import Scan, State
from birthmark.scan.supposed import at_supposed_places
from birthmark.search.progress import Progress
from birthmark.search.weak import MOST_RANGE
from birthmark.survivors.survey import best_targets, survey
from birthmark.survivors.survivor import Survivors


def scan(
    checkpoint: Checkpoint, options: ScanOptions, *, command: str, progress: Progress | None = None
) -> Scan:
    """Read a checkpoint's birthmark.

    Args:
        checkpoint: open; it stays open.
        options: how far to go.
        command: how the reading can be made again, for the reading itself.
        progress: whom to tell.

    Raises:
        UnknownName: a tensor of the options is not in the checkpoint.
        UsageError: the trace of the options does not fit the checkpoint.
        SelfTestFailed: this machine does not compute the known answers.
        LedgerError: the ledger is damaged, or belongs to another search.
    """
    _check_names(checkpoint, options.tensors)
    if options.trace is not None:
        match_trace(options.trace, checkpoint.tensors, prefix=options.prefix)
    surveys = survey(checkpoint)
    if options.tensors:
        surveys = [each for each in surveys if each.tensor in options.tensors]
    targets = best_targets(surveys)
    read = [each.tensor for each in surveys if each.survivors is not None]
    notes = [*checkpoint.notes, *special_notes(surveys)]
    state = State(checkpoint, declarations(checkpoint), progress, notes=notes)
    traced = options.trace is not None
    searching, tracing = (search_by_trace, trace_by_trace) if traced else (_search, for_a_trace)
    refusals = searching(state, targets, options) if targets else [why_not(surveys)]
    if not state.searches and not state.solved:  # nothing survived, or too little
        read += tracing(state, options)
        if not state.findings:
            reason = refusals[0]
            reading = not_searched(checkpoint, reason, command=command, tensors_read=read, notes=state.notes)
            return Scan(reading, (), stopped=state.stopped)
    if state.predicted is not None and not state.stopped:
        confirm_layouts(state, targets)
    return _read(state, command, read)


def _search(state: State, targets: Sequence[Survivors], options: ScanOptions) -> list[str]:
    """Search the targets; return the reasons of those that offered nothing to search."""
    refusals: list[str] = []
    wanted = options.search
    seen: list[Sight] = []
    if options.cpu and wanted.dictionary and wanted.layouts is None:
        seen = sights(state, targets, options.tensors)
        on_the_lattice(state, seen)
    if wanted.dictionary and not state.settled:
        refusals += with_usual_seeds(state, targets, wanted)
        if not wanted.offset and not state.solved and not state.stopped:
            at_supposed_places(state, targets, wanted)
    if not state.settled and not state.stopped:
        searched = {name for name, _ in state.searches}
        by_elimination(state, [each for each in seen if each.tensor in searched])
        if not state.settled:
            without_seed(state, targets)
            if wanted.dictionary and not any(
                found.result in ("layout", "family") for _, found in state.layouts
            ):
                for_a_merge(state, targets, wanted)
    if options.cpu and wanted.dictionary and not state.settled and not state.stopped:
        quickly(state, targets)
        if not state.settled:
            in_full_on_hosts(state, targets, seen, wanted.seeds)
    first, stop = wanted.seeds
    if stop - first > MOST_RANGE and for_a_trace_after_all(state, options):  # seconds, before minutes
        return refusals
    if targets and first < stop and not state.solved:
        refusals += in_full(state, targets, options)
    if stop - first <= MOST_RANGE:
        for_a_trace_after_all(state, options)
    if wanted.layouts is not None and state.predicted is not None and not state.stopped:
        beyond_allowed(state, state.predicted, targets, wanted)
    if state.predicted is not None and not state.stopped:
        from_the_known_seed(state, state.predicted, targets, wanted, cpu=options.cpu)
    elif state.solved:
        rest_of(state, state.solved[0].tensor, targets, wanted, cpu=False)
        along_the_stream(state, seen)
    return refusals


def _read(state: State, command: str, read: list[str]) -> Scan:
    """Everything that was found, as a reading."""
    predicted = {each.judgement.case.tensor for each in state.findings if each.judgement.outcome in PREDICTED}
    declared = None
    if (
        (state.findings or state.solved)
        and state.declared.seed is not None
        and state.declared.source is not None
    ):
        agrees = any(each.judgement.case.seed == state.declared.seed for each in state.findings)
        declared = DeclaredModel(seed=state.declared.seed, source=state.declared.source, agrees=agrees)
    layouts = [(each, found) for each, found in state.layouts if each.tensor not in predicted]
    reading = assemble(
        state.checkpoint,
        distinct(state.judgements),
        account(state.searches),
        command=command,
        tensors_read=read,
        declared=declared,
        layouts=layouts,
        confirmed=state.confirmed,
        solved=state.solved,
        looks=state.looks,
        notes=state.notes,
    )
    cases: list[AnyCase] = [each.judgement.case for each in state.findings]
    cases += [layout_case(state.checkpoint, each) for each, found in layouts if found.result == "layout"]
    cases += [one.judgement.case for one in state.solved]
    return Scan(reading, tuple(cases), stopped=state.stopped)


def _check_names(checkpoint: Checkpoint, names: Sequence[str]) -> None:
    for name in names:
        if name not in checkpoint.tensors:
            raise UnknownName("tensor", name, checkpoint.tensors)
