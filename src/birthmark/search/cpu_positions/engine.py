"""A job's work units on all cores, until an answer is verified or all is done.

Only this module's thread touches the ledger, judges candidates and tells progress. Ctrl-C drops the units in
flight; whatever was finished is in the ledger.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypedDict

from birthmark.errors import LedgerError
from birthmark.search.cpu_positions.crew import finished
from birthmark.search.cpu_positions.judge import PositionCandidate, judge
from birthmark.search.cpu_positions.selftest import check
from birthmark.search.cpu_positions.units import Done, Job, Key, Unit
from birthmark.search.ledger import Ledger
from birthmark.search.progress import Progress, Status


class Account(TypedDict):
    """The fields of `outcome.Searched`."""

    passes: tuple[int, int]
    units: tuple[int, int]
    conditions: int
    values: int
    trials: int
    tested: int
    complete: bool
    miss_chance: float
    seconds: float
    per_second: float


@dataclass(slots=True)
class Work:
    """A job while it is done; what must outlive it is in the ledger.

    Attributes:
        job: it.
        everything: whether to go on after the first verified answer.
        progress: whom to tell.
        stopped: whether it was interrupted.
    """

    job: Job
    everything: bool
    progress: Progress | None
    stopped: bool = False
    began: float = field(default_factory=time.monotonic)
    finished: set[Key] = field(default_factory=set)
    size_done: int = 0
    size_fresh: int = 0
    strict: int = 0
    tested: dict[tuple[int, int], PositionCandidate | None] = field(default_factory=dict)

    def run(self, ledger: Ledger | None) -> None:
        """Do all that the ledger has not.

        Raises:
            SelfTestFailed: this machine does not compute the known answers.
            LedgerError: the ledger is damaged, or belongs to another search.
            OutputError: the ledger cannot be written.
        """
        check()
        try:
            for done in self._earlier(ledger):
                self._take(done, fresh=False)
            if not self._satisfied():
                with closing(finished(self.job.tasks(self.finished), self.job.workers)) as results:
                    for done in results:
                        if ledger is not None:
                            ledger.append(_record(done))
                        self._take(done, fresh=True)
                        self._tell(done.unit)
                        if self._satisfied():
                            break
        except KeyboardInterrupt:
            self.stopped = True
        if ledger is not None:
            ledger.flush()

    @property
    def candidates(self) -> tuple[PositionCandidate, ...]:
        """Those that stand out, best first."""
        found = [each for each in self.tested.values() if each is not None]
        return tuple(sorted(found, key=lambda each: (each.log10_p, each.index, each.seed)))

    def account(self) -> Account:
        """How far it went."""
        job = self.job
        each = job.count()
        done = Counter(number for number, *_ in self.finished)
        through = sum(done[number] == each for number in range(len(job.misses)))
        total = each * len(job.misses)
        seconds = time.monotonic() - self.began
        return Account(
            passes=(through, len(job.misses)),
            units=(len(self.finished), total),
            conditions=len(job.conditions),
            values=len(job.conditions.seen.values),
            trials=job.trials,
            tested=len(self.tested),
            complete=len(self.finished) == total,
            miss_chance=job.misses[through - 1] if through else 1.0,
            seconds=seconds,
            per_second=self.size_fresh / max(seconds, 1e-9),
        )

    def _satisfied(self) -> bool:
        return not self.everything and any(each is not None for each in self.tested.values())

    def _take(self, done: Done, *, fresh: bool) -> None:
        """Count a finished unit and judge what it found."""
        size = done.unit.stop - done.unit.start
        self.finished.add(done.unit.key)
        self.size_done += size
        self.size_fresh += size if fresh else 0
        self.strict += done.strict
        for found in done.found:
            pair = self.job.pair(done.unit, found)
            if pair not in self.tested:
                self.tested[pair] = judge(self.job.conditions, *pair, self.job.trials)

    def _tell(self, unit: Unit) -> None:
        if self.progress is None:
            return
        seconds = max(time.monotonic() - self.began, 1e-9)
        rate = self.size_fresh / seconds
        work = self.job.trials * len(self.job.misses)
        self.progress.update(
            Status(
                stage=self.job.title(unit),
                probe=unit.number + 1,
                probes=len(self.job.misses),
                share=self.size_done / work,
                seconds=seconds,
                seconds_left=(work - self.size_done) / rate if self.size_fresh else None,
                seeds_per_second=rate,
                blocks_per_second=rate,
                hits=self.strict,
                candidates=len(self.tested),
            )
        )

    def _earlier(self, ledger: Ledger | None) -> list[Done]:
        """The finished units of a ledger, each once."""
        if ledger is None:
            return []
        found: dict[Key, Done] = {}
        for record in ledger.begin(self.job.fingerprint, self.job.description):
            try:
                number, fixed, start, stop = (int(each) for each in record["unit"])
                unit = Unit(number, fixed, start, stop)
                done = Done(unit, int(record["strict"]), tuple(int(each) for each in record["found"]))
            except (KeyError, TypeError, ValueError) as error:
                raise LedgerError(f"{ledger.path} has a line that is no work unit: {record}.") from error
            if not (0 <= number < len(self.job.misses) and self.job.planned(unit)):
                raise LedgerError(f"{ledger.path} has a work unit that this search does not plan: {record}.")
            if unit.key in found:
                raise LedgerError(f"{ledger.path} counts the work unit {unit.key} twice.")
            found[unit.key] = done
        return list(found.values())


def _record(done: Done) -> dict[str, Any]:
    return {"unit": list(done.unit.key), "strict": done.strict, "found": list(done.found)}
