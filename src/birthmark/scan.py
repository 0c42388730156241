"""The main job, end to end: survey, split, search, judge, and the reading of it all.

The tensors with survivors are tried in the order of their promise: all of them with the seeds that people
use, which takes a second each, then the most promising one with every seed. In between, survivors are tried
as a draw of the CPU generator, which is solved for, and float32 survivors are asked for their layout without
a seed, which spares the search all others. Once a seed is known, the other tensors are tried with it at later
offsets of the generator. Where nothing survived, trained values are tried for a weak trace of the seeds that
people use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from birthmark.checkpoints.declarations import Declarations, declarations
from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch, UnknownName
from birthmark.evidence.case import Case
from birthmark.evidence.judge import Judged, Judgements, distinct, judge
from birthmark.evidence.mixture import unexplained_part
from birthmark.evidence.seed_free import SeedFree, seed_free
from birthmark.evidence.solved import SolvedReading, solve_survivors
from birthmark.reports.account import account
from birthmark.reports.assemble import assemble, not_searched
from birthmark.reports.reading import DeclaredModel, Reading
from birthmark.reports.surveyed import special_notes, why_not
from birthmark.search.engine import search
from birthmark.search.ledger import Ledger
from birthmark.search.offsets import search_offsets
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched
from birthmark.search.progress import Progress
from birthmark.search.weak import weak_candidates
from birthmark.survivors.split import Holdout, Selection, split
from birthmark.survivors.survey import best_targets, survey
from birthmark.survivors.survivor import Survivors
from birthmark.survivors.traced import split_traced, traceable

#: Tensors that are tried with the dictionary of seeds, and those that a known seed is tried on.
MOST_TARGETS, MOST_OTHERS = 8, 64
#: Tensors whose layout is read without a seed; tensors that are tried as a CPU draw, for up to half a minute.
MOST_SEEDLESS, MOST_SOLVED = 2, 1
#: Share of the survivors that must be left unpredicted before a second seed is looked for in them.
LEAST_REST = 0.25
#: Outcomes that end a search: the survivors are predicted.
PREDICTED = frozenset({"match", "seed-only"})


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What a user can ask of a scan.

    Attributes:
        search: how far the search of the most promising tensor goes.
        tensors: names of the tensors to search, each in full; empty for birthmark's own choice.
        ledger: where the full search keeps its progress; None for nowhere.
        resume: whether to go on from there.
        cpu: whether survivors are also tried as a draw of the CPU generator, where no usual GPU seed fits.
    """

    search: Options = field(default_factory=Options)
    tensors: tuple[str, ...] = ()
    ledger: Path | None = None
    resume: bool = False
    cpu: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """The end of a scan.

    Attributes:
        reading: the result.
        cases: what each finding rests on, in the order of the findings; an evidence pack carries them. A
            layout that was read without its seed has none.
        stopped: whether it was interrupted; its ledger lets it go on.
    """

    reading: Reading
    cases: tuple[Case, ...]
    stopped: bool


@dataclass(slots=True)
class _State:
    """What has been done so far."""

    checkpoint: Checkpoint
    declared: Declarations
    progress: Progress | None
    parts: dict[str, tuple[Selection, Holdout]] = field(default_factory=dict)
    searches: list[tuple[str, Searched]] = field(default_factory=list)
    judgements: list[Judgements] = field(default_factory=list)
    layouts: list[tuple[Survivors, SeedFree]] = field(default_factory=list)
    solved: list[tuple[Survivors, SolvedReading]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stopped: bool = False

    @property
    def trials(self) -> int:
        """Predictions tried by all searches so far."""
        return sum(searched.trials for _, searched in self.searches)

    @property
    def findings(self) -> list[Judged]:
        """What is to be reported so far."""
        return [found for group in distinct(self.judgements) for found in group.findings]

    @property
    def settled(self) -> bool:
        """Whether survivors are predicted, so that no further seed needs to be tried."""
        return self.predicted is not None or any(one.result == "match" for _, one in self.solved)

    @property
    def predicted(self) -> Judged | None:
        """The first finding whose seed and layout predict survivors."""
        return next((each for each in self.findings if each.judgement.outcome in PREDICTED), None)

    def split(self, target: Survivors) -> tuple[Selection, Holdout]:
        """Selection and hold-out of a tensor, made once."""
        if target.tensor not in self.parts:
            self.parts[target.tensor] = split(self.checkpoint, target)
        return self.parts[target.tensor]


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
        SelfTestFailed: this machine does not compute the known answers.
        LedgerError: the ledger is damaged, or belongs to another search.
    """
    _check_names(checkpoint, options.tensors)
    surveys = survey(checkpoint)
    if options.tensors:
        surveys = [each for each in surveys if each.tensor in options.tensors]
    targets = best_targets(surveys)
    read = [each.tensor for each in surveys if each.survivors is not None]
    notes = [*checkpoint.notes, *special_notes(surveys)]
    state = _State(checkpoint, declarations(checkpoint), progress, notes=notes)
    refusals = _search(state, targets, options) if targets else [why_not(surveys)]
    if not state.searches:  # nothing survived, or too little
        read += _trace(state, options)
        if not state.findings:
            reason = refusals[0]
            reading = not_searched(checkpoint, reason, command=command, tensors_read=read, notes=state.notes)
            return Scan(reading, (), stopped=state.stopped)
    return _read(state, command, read)


def _search(state: _State, targets: Sequence[Survivors], options: ScanOptions) -> list[str]:
    """Search the targets; return the reasons of those that offered nothing to search."""
    refusals: list[str] = []
    wanted = options.search
    in_full = list(targets) if options.tensors else [targets[0]]
    if wanted.dictionary:
        for target in targets[:MOST_TARGETS]:
            _attempt(state, target, replace(wanted, seeds=(0, 0)), None, refusals)
            if state.settled or state.stopped:
                break
        wanted = replace(wanted, dictionary=False)
    if not state.settled and not state.stopped:
        if options.cpu and options.search.dictionary and options.search.layouts is None:
            _on_cpu(state, targets)
        if not state.settled:
            _without_seed(state, targets)
    if wanted.seeds[0] < wanted.seeds[1]:
        for number, target in enumerate(in_full):
            if state.settled or state.stopped:
                break
            _attempt(state, target, _narrowed(state, target, wanted), _ledger(options, number), refusals)
    if state.predicted is not None and not state.stopped:
        _rest(state, state.predicted, targets, options.search)
        _others(state, state.predicted, targets, options.search)
    return refusals


def _rest(state: _State, found: Judged, targets: Sequence[Survivors], wanted: Options) -> None:
    """Where a good part of the survivors is not predicted, look for a second birth with another seed."""
    known = found.judgement
    left = unexplained_part(known, *state.split(_named(targets, known.case.tensor)))
    explained = sum(each.judgement.survivors.size for each in state.findings)
    if left is None or known.unexplained.size < LEAST_REST * (known.unexplained.size + explained):
        return
    selection, holdout = left
    try:
        outcome = search(selection, replace(wanted, seeds=(0, 0), dictionary=True), progress=state.progress)
    except NothingToSearch:
        return
    state.stopped = outcome.stopped
    state.searches.append((known.case.tensor, outcome.searched))
    others = [each for each in outcome.candidates if each.seed != known.case.seed]
    before = list(state.judgements)
    _judge(
        state,
        _named(targets, known.case.tensor),
        selection,
        holdout,
        replace(outcome, candidates=tuple(others)),
    )
    if not any(
        one.judgement.outcome in PREDICTED
        for group in state.judgements[len(before) :]
        for one in group.judged
    ):
        state.judgements = before  # values that training touched still resemble the first birth


def _named(targets: Sequence[Survivors], name: str) -> Survivors:
    return next(target for target in targets if target.tensor == name)


def _on_cpu(state: _State, targets: Sequence[Survivors]) -> None:
    """Take the survivors for a draw of PyTorch's CPU generator, and solve for its seed and position."""
    nominals = () if state.declared.scale is None else (state.declared.scale,)
    large_enough = dict(state.searches)
    for target in [each for each in targets if each.tensor in large_enough][:MOST_SOLVED]:
        selection, holdout = state.split(target)
        found = solve_survivors(state.checkpoint, target, selection, holdout, nominals=nominals)
        state.solved.append((target, found))
        if found.result == "match":
            return


def _without_seed(state: _State, targets: Sequence[Survivors]) -> None:
    """What the values say about their layout without a seed; coarse dtypes say nothing and are not asked."""
    for target in targets:
        if len(state.layouts) == MOST_SEEDLESS:
            return
        found = seed_free(state.checkpoint, target)
        if found.result != "refused":
            state.layouts.append((target, found))


def _narrowed(state: _State, target: Survivors, wanted: Options) -> Options:
    """The search with the one layout that was read off the values, where the user named none."""
    for survivors, found in state.layouts:
        if survivors.tensor == target.tensor and found.threads is not None and wanted.layouts is None:
            return replace(wanted, layouts=(found.threads,), exhaustive=False)
    return wanted


def _trace(state: _State, options: ScanOptions) -> list[str]:
    """Try trained values for a trace of the seeds that people use; return the tensors that were read."""
    names = options.tensors or None
    traced = traceable(state.checkpoint, names)
    for target in traced:
        try:
            selection, holdout = split_traced(state.checkpoint, target)
            outcome = weak_candidates(selection, options.search, progress=state.progress)
        except NothingToSearch:
            continue  # too few values; the reason why nothing survived says what matters
        state.stopped = outcome.stopped
        state.searches.append((target.tensor, outcome.searched))
        _judge(state, target, selection, holdout, outcome)
        if state.findings or state.stopped:
            break
    if state.searches and not state.findings and not state.stopped:
        tried = ", ".join(name for name, _ in state.searches)
        state.notes.append(
            f"Trained values of {tried} were tried for a weak trace of the seeds that people use; none "
            "stands out. A trace of another seed, of a later draw, or of a correlation below 0.08 would not "
            "show."
        )
    return _names(traced)


def _names(targets: Sequence[Survivors]) -> list[str]:
    return [target.tensor for target in targets]


def _attempt(
    state: _State, target: Survivors, wanted: Options, ledger: Ledger | None, refusals: list[str]
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
    _judge(state, target, selection, holdout, outcome)


def _judge(
    state: _State, target: Survivors, selection: Selection, holdout: Holdout, outcome: Outcome
) -> None:
    """Hold the candidates against the checkpoint."""
    if not outcome.candidates:
        return
    judgements = judge(
        state.checkpoint,
        target,
        selection,
        holdout,
        outcome.candidates,
        trials=state.trials,
        layouts=_compared(outcome.candidates),
        declared=state.declared.scale,
    )
    state.judgements.append(judgements)


def _compared(candidates: Sequence[Candidate]) -> tuple[int, ...]:
    """The G's that a candidate is held against: the table's, and those that the search left open."""
    left = {threads for candidate in candidates for threads in candidate.not_excluded}
    return tuple(sorted(left.union(table_threads())))


def _others(state: _State, found: Judged, targets: Sequence[Survivors], wanted: Options) -> None:
    """Try the other tensors with the seed that is now known, at later offsets."""
    known = found.judgement
    rest = [target for target in targets if target.tensor != known.case.tensor][:MOST_OTHERS]
    for target in rest:
        selection, holdout = state.split(target)
        layouts = known.layouts.not_excluded if known.layouts else (known.fit.hypothesis.threads,)
        outcome = search_offsets(selection, known.case.seed, layouts, wanted, progress=state.progress)
        state.searches.append((target.tensor, outcome.searched))
        if outcome.stopped:
            state.stopped = True
            return
        _judge(state, target, selection, holdout, outcome)


def _ledger(options: ScanOptions, number: int) -> Ledger | None:
    """The ledger of the full search of one tensor; further tensors get further files beside the first."""
    if options.ledger is None:
        return None
    path = options.ledger
    if number:
        path = path.with_name(f"{path.name}.{number + 1}")
    return Ledger(path, resume=options.resume and path.exists())


def _read(state: _State, command: str, read: list[str]) -> Scan:
    """Everything that was found, as a reading."""
    predicted = {each.judgement.case.tensor for each in state.findings if each.judgement.outcome in PREDICTED}
    declared = None
    if state.findings and state.declared.seed is not None and state.declared.source is not None:
        agrees = any(each.judgement.case.seed == state.declared.seed for each in state.findings)
        declared = DeclaredModel(seed=state.declared.seed, source=state.declared.source, agrees=agrees)
    reading = assemble(
        state.checkpoint,
        distinct(state.judgements),
        account(state.searches),
        command=command,
        tensors_read=read,
        declared=declared,
        layouts=[(each, found) for each, found in state.layouts if each.tensor not in predicted],
        solved=state.solved,
        notes=state.notes,
    )
    cases = tuple(each.judgement.case for each in state.findings)
    return Scan(reading, cases, stopped=state.stopped)


def _check_names(checkpoint: Checkpoint, names: Sequence[str]) -> None:
    for name in names:
        if name not in checkpoint.tensors:
            raise UnknownName("tensor", name, checkpoint.tensors)
