"""A few seeds at every position of their streams, as far as a budget goes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from threading import Event
from typing import Final

from birthmark import __version__
from birthmark.errors import NothingToSearch, UsageError
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.engine import Work
from birthmark.search.cpu_positions.outcome import StreamsOutcome, StreamsSearched
from birthmark.search.cpu_positions.plan import refuse_too_few
from birthmark.search.cpu_positions.streams import Probe, Probes, matches, plan_probes
from birthmark.search.cpu_positions.units import Done, Key, Task, Unit, is_piece, pieces
from birthmark.search.cpu_seeds import seeds_in_order
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.search.progress import Progress

#: How far streams are followed unless told otherwise.
FURTHEST: Final = 10**9
#: Positions of all seeds together: about a minute of one core.
BUDGET: Final = 10**11
#: Positions of one work unit: some tenths of a second.
UNIT: Final = 1 << 28

_LOW = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """All that is settled before the first word.

    Attributes:
        conditions: what the values say.
        seeds: the seeds, in order, each once.
        positions: first, and one past the last.
        probes: what is looked for, one probe a pass.
        workers: threads.
    """

    conditions: Conditions
    seeds: tuple[int, ...]
    positions: tuple[int, int]
    probes: Probes
    workers: int

    @property
    def trials(self) -> int:
        """Predictions: seeds times positions; at least 1."""
        return max(1, len(self.seeds) * (self.positions[1] - self.positions[0]))

    @property
    def misses(self) -> tuple[float, ...]:
        """The chance of a miss after the first pass, the first two, and so on."""
        return self.probes.misses

    @property
    def fingerprint(self) -> str:
        """A digest of everything that decides the search."""
        probes = [[each.first, each.places.tolist(), each.low.tolist()] for each in self.probes.probes]
        facts = [__version__, self.conditions.digest, self.seeds, self.positions, probes, UNIT]
        return blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()

    @property
    def description(self) -> str:
        """The search in a few words."""
        return f"streams of {len(self.seeds)} CPU seeds from {self.positions[0]} to {self.positions[1] - 1}"

    def count(self) -> int:
        """How many work units a pass has."""
        return len(self.seeds) * -(-(self.positions[1] - self.positions[0]) // UNIT)

    def planned(self, unit: Unit) -> bool:
        """Whether this is one of the work units."""
        return unit.fixed in self.seeds and is_piece(unit.start, unit.stop, *self.positions, UNIT)

    def tasks(self, finished: set[Key]) -> Iterator[Task]:
        """What is still to be done, in order."""
        for number, probe in enumerate(self.probes.probes):
            for seed in self.seeds:
                units = (Unit(number, seed, *piece) for piece in pieces(*self.positions, UNIT))
                yield from (partial(run, probe, unit) for unit in units if unit.key not in finished)

    def pair(self, unit: Unit, found: int) -> tuple[int, int]:
        """(seed, position): units hold a seed and find positions."""
        return unit.fixed, found

    def title(self, unit: Unit) -> str:
        """What is going on."""
        return f"stream of CPU seed {unit.fixed} ({self.seeds.index(unit.fixed) + 1} of {len(self.seeds)})"


def run(probe: Probe, unit: Unit, stop: Event) -> Done | None:
    """Do one unit; None if `stop` was set before it was finished."""
    found = matches(unit.fixed, unit.start, unit.stop, probe, stop)
    return None if found is None else Done(unit, len(found), tuple(found))


def popular_seeds(positions: int, budget: int = BUDGET) -> tuple[int, ...]:
    """The seeds that people use, named ones first, as many as a budget of positions allows; at least one."""
    listed = seeds_in_order()
    return tuple(int(seed) for seed in listed[: max(1, budget // max(1, positions))])


def search_streams(
    conditions: Conditions,
    seeds: Sequence[int] | None = None,
    *,
    positions: tuple[int, int] = (0, FURTHEST),
    budget: int = BUDGET,
    everything: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> StreamsOutcome:
    """Try seeds at every position of a range, by running their streams once.

    Args:
        conditions: what survivors say about the words (`conditions_of`, `conditions_of_selection`).
        seeds: any integers, of which the low 32 bits count, likeliest first; None for as many as the budget
            allows of those that people use.
        positions: 32-bit words drawn before the tensor's first element: first, and one past the last.
        budget: positions of all popular seeds together; seeds that are named are not bounded by it.
        everything: whether to go on after the first verified answer.
        ledger: where finished units are noted, and from where a search is resumed; None for nowhere.
        progress: whom to tell.
        workers: threads; None for as many as there are processors.

    Returns:
        The candidates that stand out after all trials, and what was searched. `stopped` is set after Ctrl-C.

    Raises:
        NothingToSearch: the values say too little for any answer to stand out of so many trials, or no words
            near each other are known well enough.
        SelfTestFailed: this machine does not compute the known answers.
        UsageError: a range that cannot be.
        LedgerError: the ledger is damaged, or belongs to another search.
        OutputError: the ledger cannot be written.
    """
    first, stop = positions
    if not 0 <= first <= stop:
        raise UsageError(f"positions {first} to {stop}: expected 0 <= first <= last + 1.")
    chosen = popular_seeds(stop - first, budget) if seeds is None else seeds
    each = tuple(dict.fromkeys(int(seed) & _LOW for seed in chosen))
    if not each:
        raise NothingToSearch("no seed was given whose stream could be searched.")
    threads = Options(workers=workers).threads
    job = Streams(conditions, each, positions, plan_probes(conditions), threads)
    refuse_too_few(conditions, job.trials)
    work = Work(job, everything, progress)
    work.run(ledger)
    searched = StreamsSearched(**work.account(), seeds=job.seeds, positions=positions)
    return StreamsOutcome(work.candidates, searched, work.stopped)
