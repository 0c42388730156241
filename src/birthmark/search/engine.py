"""The engine: work units on all cores, stage after stage, until an answer is verified or the plan is done.

The kernels run without the interpreter lock, so threads are enough. Only this module's thread touches the
ledger, judges candidates and tells progress. Ctrl-C drops the units in flight; whatever was finished is in
the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from birthmark.errors import LedgerError
from birthmark.recipes.sharding import SEED_SPACE
from birthmark.search.correlation import log10_p
from birthmark.search.layouts import resolve
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome
from birthmark.search.plan import VERIFIED, Plan, make_plan
from birthmark.search.progress import Progress, Status
from birthmark.search.report import StageTally, searched
from birthmark.search.runner import Done, Found, run
from birthmark.search.selftest import check
from birthmark.search.space import Prediction
from birthmark.search.stage import Stage, Unit
from birthmark.search.stages import all_stages
from birthmark.survivors.split import Selection

#: Units that wait beside those in flight, for each thread, and how often progress is told.
AHEAD, TELL_SECONDS = 2, 0.2

Key = tuple[str, int, int, int]


@dataclass(slots=True)
class _Search:
    """The state of a search while it runs; what must outlive it is in the ledger."""

    plan: Plan
    ledger: Ledger | None
    progress: Progress | None
    earlier: dict[Key, Done]
    began: float
    tallies: list[StageTally] = field(default_factory=list)
    tested: dict[tuple[str, int], Candidate | None] = field(default_factory=dict)
    compared: dict[str, tuple[Prediction, ...]] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        return any(candidate is not None for candidate in self.tested.values())

    @property
    def satisfied(self) -> bool:
        """Whether the search may end here."""
        return self.verified and not self.plan.options.everything


def search(
    selection: Selection,
    options: Options | None = None,
    *,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Search seeds and layouts for those that predict a selection.

    Args:
        selection: all that the search sees of the checkpoint.
        options: how far to go.
        ledger: where finished units are noted, and from where a search is resumed; None for nowhere.
        progress: whom to tell.

    Returns:
        The candidates that stand out after all trials, and what was searched. `stopped` is set after Ctrl-C.

    Raises:
        NothingToSearch: the selection is too small for any answer to stand out.
        SelfTestFailed: this machine does not compute the known answers.
        LedgerError: the ledger is damaged, or belongs to another search.
        OutputError: the ledger cannot be written.
    """
    began = time.monotonic()
    check()
    plan = make_plan(selection, options or Options())
    earlier = _earlier(ledger, plan)
    state = _Search(plan, ledger, progress, earlier, began)
    stopped = False
    try:
        for stage in all_stages(plan):
            tally = StageTally(stage)
            state.tallies.append(tally)
            _work(state, stage, tally)
            if state.satisfied:
                break
        if state.earlier and not state.satisfied:
            raise LedgerError(
                f"the ledger has units that this search does not plan: {next(iter(state.earlier))}."
            )
    except KeyboardInterrupt:
        stopped = True
    if ledger is not None:
        ledger.flush()
    candidates = sorted(
        (candidate for candidate in state.tested.values() if candidate is not None),
        key=lambda candidate: (
            round(candidate.log10_p, 3),
            candidate.hypothesis.sharding.ways,
            candidate.seed,
        ),
    )
    finished = not stopped and not state.satisfied
    return Outcome(
        tuple(candidates),
        searched(plan, state.tallies, len(state.tested), finished, time.monotonic() - began),
        stopped,
    )


def _work(state: _Search, stage: Stage, tally: StageTally) -> None:
    """Do a stage's units, those that the ledger has not, until they are done or the search is satisfied."""
    todo = []
    for unit in stage.units():
        done = state.earlier.pop(_key(unit), None)
        if done is None:
            todo.append(unit)
        else:
            _take(state, tally, done, fresh=False)
            if state.satisfied:
                return
    with closing(_finished(state, stage, tally, todo)) as finished:
        for done in finished:
            if state.ledger is not None:
                state.ledger.append(_record(done))
            _take(state, tally, done, fresh=True)
            if state.satisfied:
                return


def _take(state: _Search, tally: StageTally, done: Done, *, fresh: bool) -> None:
    """Count a finished unit and judge what it found."""
    tally.add(done, fresh=fresh)
    plan = tally.stage.plan
    for found in done.found:
        if (plan.family.name, found.seed) not in state.tested:
            _judge(state, plan, found.seed)


def _judge(state: _Search, plan: Plan, seed: int) -> None:
    """Compare a seed with the whole selection, and note what comes of it.

    Where all elements lie in one shard, only the sum of seed and rank is known: the same numbers can come
    from another sharding with another seed. Such seeds are judged at once, lest one reading hide the others.
    """
    family = plan.family.name
    if family not in state.compared:
        state.compared[family] = plan.predictions(plan.layouts(wide=True))
    compared = state.compared[family]
    found = state.tested[family, seed] = _judged(state, plan, seed, compared)
    if found is None:
        return
    ranks, _, _ = found.hypothesis.sharding.locate(plan.selection.shape, plan.selection.indices)
    for cut in plan.cuts:
        others, _, _ = cut.locate(plan.selection.shape, plan.selection.indices)
        shift = np.unique(ranks - others)
        other = (seed + int(shift[0])) % SEED_SPACE
        same = [each for each in compared if each.hypothesis.sharding == cut]
        if len(shift) == 1 and same and (family, other) not in state.tested:
            state.tested[family, other] = _judged(state, plan, other, same)


def _judged(state: _Search, plan: Plan, seed: int, predictions: Sequence[Prediction]) -> Candidate | None:
    """A candidate, or None where it does not stand out after all trials."""
    found = resolve(plan.selection, seed, predictions)
    trials = sum(tally.size for tally in state.tallies)
    score = log10_p(found.n, found.r, trials)
    if score >= VERIFIED:
        return None
    return Candidate(found.hypothesis, seed, found.n, found.r, score, found.not_excluded, found.rival)


def _finished(
    state: _Search, stage: Stage, tally: StageTally, todo: Iterable[Unit]
) -> Generator[Done, None, None]:
    """Units as they get finished, all cores at work, with progress told in between."""
    waiting = iter(todo)
    workers = stage.plan.options.threads
    stop = Event()
    with _pool(workers, stop) as pool:
        flying: set[Future[Done | None]] = set()
        while True:
            while len(flying) < AHEAD * workers and (unit := next(waiting, None)) is not None:
                flying.add(pool.submit(run, stage, unit, stop))
            if not flying:
                return
            ready, flying = wait(flying, timeout=TELL_SECONDS, return_when=FIRST_COMPLETED)
            done = [each for each in (future.result() for future in ready) if each is not None]
            yield from sorted(done, key=lambda each: _key(each.unit))
            _tell(state, stage, tally)


@contextmanager
def _pool(workers: int, stop: Event) -> Iterator[ThreadPoolExecutor]:
    """Threads that end when the block does, however it does: the units in flight are given up."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="birthmark-search")
    try:
        yield pool
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _tell(state: _Search, stage: Stage, tally: StageTally) -> None:
    if state.progress is None:
        return
    seconds = max(time.monotonic() - tally.began, 1e-9)
    fresh = tally.fresh_work
    rate = fresh / seconds
    number = tally.current
    blocks = len(stage.passes[number].blocks) if stage.passes else 1
    state.progress.update(
        Status(
            stage=stage.title,
            probe=number + 1,
            probes=len(stage.passes),
            share=tally.share,
            seconds=time.monotonic() - state.began,
            seconds_left=(stage.work - tally.work) / rate if fresh else None,
            seeds_per_second=rate / blocks,
            blocks_per_second=rate,
            hits=tally.hits,
            candidates=len(state.tested),
        )
    )


def _key(unit: Unit) -> Key:
    return unit.stage, unit.number, unit.start, unit.stop


def _record(done: Done) -> dict[str, Any]:
    return {
        "unit": list(_key(done.unit)),
        "hits": done.hits,
        "found": [[found.seed, found.row] for found in done.found],
    }


def _earlier(ledger: Ledger | None, plan: Plan) -> dict[Key, Done]:
    """The finished units of a ledger, each once."""
    if ledger is None:
        return {}
    found: dict[Key, Done] = {}
    for record in ledger.begin(plan.fingerprint, f"tensor {plan.selection.tensor}"):
        try:
            stage, number, start, stop = record["unit"]
            unit = Unit(str(stage), int(number), int(start), int(stop))
            seeds = tuple(Found(int(seed), int(row)) for seed, row in record["found"])
            done = Done(unit, int(record["hits"]), seeds)
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(f"{ledger.path} has a line that is no work unit: {record}.") from error
        if _key(unit) in found:
            raise LedgerError(f"{ledger.path} counts the work unit {_key(unit)} twice.")
        found[_key(unit)] = done
    return found
