"""Every seed at given stream positions: work units on all cores, until an answer is verified or all is done.

The kernels run without the interpreter lock, so threads are enough. Only this module's thread touches the
ledger, judges candidates and tells progress. Ctrl-C drops the units in flight; whatever was finished is in
the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from birthmark.errors import LedgerError
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.judge import PositionCandidate, judge
from birthmark.search.cpu_positions.outcome import PositionsOutcome, PositionsSearched
from birthmark.search.cpu_positions.plan import Done, Key, Plan, Unit, make_plan
from birthmark.search.cpu_positions.selftest import check
from birthmark.search.cpu_positions.sieve import Sieve
from birthmark.search.ledger import Ledger
from birthmark.search.progress import Progress, Status

#: Seeds of one call into the kernels: some tens of milliseconds, so that a stop is heard soon.
SLICE = 1 << 18
#: Units that wait beside those in flight, for each thread, and how often progress is told.
AHEAD, TELL_SECONDS = 2, 0.2


@dataclass(slots=True)
class _Search:
    """The state of a search while it runs; what must outlive it is in the ledger."""

    plan: Plan
    everything: bool
    progress: Progress | None
    began: float
    finished: set[Key] = field(default_factory=set)
    seeds_done: int = 0
    seeds_fresh: int = 0
    strict: int = 0
    tested: dict[tuple[int, int], PositionCandidate | None] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[PositionCandidate, ...]:
        """Best first."""
        found = [each for each in self.tested.values() if each is not None]
        return tuple(sorted(found, key=lambda each: (each.log10_p, each.index, each.seed)))

    def satisfied(self) -> bool:
        """Whether the search may end here."""
        return not self.everything and any(each is not None for each in self.tested.values())

    def take(self, done: Done, *, fresh: bool) -> None:
        """Count a finished unit and judge what it found."""
        size = done.unit.stop - done.unit.start
        self.finished.add(done.unit.key)
        self.seeds_done += size
        self.seeds_fresh += size if fresh else 0
        self.strict += done.strict
        for seed in done.found:
            if (seed, done.unit.index) not in self.tested:
                self.tested[seed, done.unit.index] = judge(
                    self.plan.conditions, seed, done.unit.index, self.plan.trials
                )


def search_positions(
    conditions: Conditions,
    positions: Sequence[int],
    *,
    seeds: tuple[int, int] = (0, 1 << 32),
    passes: int | None = None,
    everything: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> PositionsOutcome:
    """Try every seed of a range at stream positions.

    Args:
        conditions: what survivors say about the words (`conditions_of`, `conditions_of_selection`).
        positions: 32-bit words drawn before the tensor's first element, 0 or more; likeliest first, repeats
            are dropped. Each costs a pass through all seeds and counts in the trials.
        seeds: first, and one past the last.
        passes: how many passes at most; None for as many as a chance of a miss of 2 % takes.
        everything: whether to go on after the first verified answer.
        ledger: where finished units are noted, and from where a search is resumed; None for nowhere.
        progress: whom to tell.
        workers: threads; None for as many as there are processors.

    Returns:
        The candidates that stand out after all trials, and what was searched. `stopped` is set after Ctrl-C.

    Raises:
        NothingToSearch: the values say too little for any answer to stand out of so many trials.
        SelfTestFailed: this machine does not compute the known answers.
        UsageError: a range or position that cannot be.
        LedgerError: the ledger is damaged, or belongs to another search.
        OutputError: the ledger cannot be written.
    """
    began = time.monotonic()
    plan = make_plan(conditions, positions, seeds, passes, workers)
    check()
    state = _Search(plan, everything, progress, began)
    earlier = _earlier(ledger, plan)
    stopped = False
    try:
        for done in earlier.values():
            state.take(done, fresh=False)
        if not state.satisfied():
            with closing(_finished(state)) as finished:
                for done in finished:
                    if ledger is not None:
                        ledger.append(_record(done))
                    state.take(done, fresh=True)
                    if state.satisfied():
                        break
    except KeyboardInterrupt:
        stopped = True
    if ledger is not None:
        ledger.flush()
    return PositionsOutcome(state.candidates, _searched(state), stopped)


def run(sieve: Sieve, unit: Unit, stop: Event) -> Done | None:
    """Do one unit; None if `stop` was set before it was finished."""
    found: list[int] = []
    strict = 0
    for start in range(unit.start, unit.stop, SLICE):
        if stop.is_set():
            return None
        seeds, passed = sieve.passing(start, min(SLICE, unit.stop - start))
        found.extend(seeds.tolist())
        strict += passed
    return Done(unit, strict, tuple(found))


def _finished(state: _Search) -> Generator[Done, None, None]:
    """Units as they get finished, all cores at work, with progress told in between."""
    waiting = _waiting(state)
    workers = state.plan.workers
    stop = Event()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="birthmark-cpu-search")
    try:
        flying: set[Future[Done | None]] = set()
        while True:
            while len(flying) < AHEAD * workers and (ready := next(waiting, None)) is not None:
                flying.add(pool.submit(run, *ready, stop))
            if not flying:
                return
            landed, flying = wait(flying, timeout=TELL_SECONDS, return_when=FIRST_COMPLETED)
            done = [each for each in (future.result() for future in landed) if each is not None]
            for each in sorted(done, key=lambda each: each.unit.key):
                yield each
                _tell(state, each.unit)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _waiting(state: _Search) -> Iterator[tuple[Sieve, Unit]]:
    """The units that are still to be done, in order, each with its tests."""
    for number in range(len(state.plan.passes.passes)):
        for index in state.plan.positions:
            units = [each for each in state.plan.units(number, index) if each.key not in state.finished]
            if units:
                sieve = state.plan.sieve(number, index)
                yield from ((sieve, unit) for unit in units)


def _tell(state: _Search, unit: Unit) -> None:
    if state.progress is None:
        return
    seconds = max(time.monotonic() - state.began, 1e-9)
    rate = state.seeds_fresh / seconds
    plan = state.plan
    left = (plan.work - state.seeds_done) / rate if state.seeds_fresh else None
    place = plan.positions.index(unit.index) + 1
    state.progress.update(
        Status(
            stage=f"CPU seeds at position {unit.index} ({place} of {len(plan.positions)})",
            probe=unit.number + 1,
            probes=len(plan.passes.passes),
            share=state.seeds_done / plan.work,
            seconds=seconds,
            seconds_left=left,
            seeds_per_second=rate,
            blocks_per_second=rate,
            hits=state.strict,
            candidates=len(state.tested),
        )
    )


def _searched(state: _Search) -> PositionsSearched:
    plan = state.plan
    each = len(plan.positions) * plan.units_each
    through = sum(
        all(unit.key in state.finished for index in plan.positions for unit in plan.units(number, index))
        for number in range(len(plan.passes.passes))
    )
    seconds = time.monotonic() - state.began
    return PositionsSearched(
        seeds=plan.seeds,
        positions=plan.positions,
        passes=(through, len(plan.passes.passes)),
        units=(len(state.finished), each * len(plan.passes.passes)),
        conditions=len(plan.conditions),
        values=len(plan.conditions.seen.values),
        trials=plan.trials,
        tested=len(state.tested),
        complete=len(state.finished) == each * len(plan.passes.passes),
        miss_chance=plan.passes.miss[through - 1] if through else 1.0,
        seconds=seconds,
        seeds_per_second=state.seeds_fresh / max(seconds, 1e-9),
    )


def _record(done: Done) -> dict[str, Any]:
    return {"unit": list(done.unit.key), "strict": done.strict, "found": list(done.found)}


def _earlier(ledger: Ledger | None, plan: Plan) -> dict[Key, Done]:
    """The finished units of a ledger, each once."""
    if ledger is None:
        return {}
    planned = {
        unit.key: unit
        for number in range(len(plan.passes.passes))
        for index in plan.positions
        for unit in plan.units(number, index)
    }
    found: dict[Key, Done] = {}
    for record in ledger.begin(plan.fingerprint, plan.description):
        try:
            number, index, start, stop = (int(each) for each in record["unit"])
            key = number, index, start, stop
            done = Done(planned[key], int(record["strict"]), tuple(int(seed) for seed in record["found"]))
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(
                f"{ledger.path} has a line that is no work unit of this search: {record}."
            ) from error
        if key in found:
            raise LedgerError(f"{ledger.path} counts the work unit {key} twice.")
        found[key] = done
    return found
