"""Every seed of a range at every position of a range near the start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from threading import Event
from typing import Final

from birthmark import __version__
from birthmark.errors import UsageError
from birthmark.generators.mt19937_words import SIZE
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.engine import Work
from birthmark.search.cpu_positions.near import near_matches
from birthmark.search.cpu_positions.outcome import NearOutcome, NearSearched
from birthmark.search.cpu_positions.plan import SEEDS, refuse_too_few
from birthmark.search.cpu_positions.streams import Probe, Probes, plan_probes
from birthmark.search.cpu_positions.units import Done, Key, Task, Unit, is_piece, pieces
from birthmark.search.ledger import Ledger
from birthmark.search.options import Options
from birthmark.search.progress import Progress

#: The furthest position: beyond, all 2^32 seeds would take a month.
FURTHEST: Final = 1 << 20
#: Words of one work unit, and of one call into the kernel.
UNIT: Final = 1 << 30
CALL: Final = 1 << 26

_POSITION_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """All that is settled before the first seed.

    Attributes:
        conditions: what the values say.
        seeds: first, and one past the last.
        positions: first, and one past the last.
        probes: what is looked for, one probe a pass.
        workers: threads.
    """

    conditions: Conditions
    seeds: tuple[int, int]
    positions: tuple[int, int]
    probes: Probes
    workers: int

    @property
    def trials(self) -> int:
        """Predictions: seeds times positions; at least 1."""
        return max(1, (self.seeds[1] - self.seeds[0]) * (self.positions[1] - self.positions[0]))

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
        return f"CPU seeds {self.seeds[0]} to {self.seeds[1] - 1}, positions up to {self.positions[1] - 1}"

    def count(self) -> int:
        """How many work units a pass has."""
        return -(-(self.seeds[1] - self.seeds[0]) // self._seeds_of(UNIT))

    def planned(self, unit: Unit) -> bool:
        """Whether this is one of the work units; all hold the range of positions."""
        right = unit.fixed == self.positions[1]
        return right and is_piece(unit.start, unit.stop, *self.seeds, self._seeds_of(UNIT))

    def tasks(self, finished: set[Key]) -> Iterator[Task]:
        """What is still to be done, in order."""
        for number, probe in enumerate(self.probes.probes):
            ranges = pieces(*self.seeds, self._seeds_of(UNIT))
            units = (Unit(number, self.positions[1], *piece) for piece in ranges)
            yield from (partial(self.run, probe, unit) for unit in units if unit.key not in finished)

    def run(self, probe: Probe, unit: Unit, stop: Event) -> Done | None:
        """Do one unit; None if `stop` was set before it was finished."""
        found: list[int] = []
        size = self._seeds_of(CALL)
        for start in range(unit.start, unit.stop, size):
            if stop.is_set():
                return None
            passed = near_matches(start, min(size, unit.stop - start), *self.positions, probe)
            found.extend(seed << _POSITION_BITS | position for seed, position in passed)
        return Done(unit, len(found), tuple(found))

    def pair(self, unit: Unit, found: int) -> tuple[int, int]:  # noqa: ARG002 - both are in `found`
        """(seed, position)."""
        return found >> _POSITION_BITS, found & ((1 << _POSITION_BITS) - 1)

    def title(self, unit: Unit) -> str:
        """What is going on."""
        return f"CPU seeds from {unit.start} at positions up to {self.positions[1] - 1}"

    def _seeds_of(self, words: int) -> int:
        """How many seeds make so many words; a multiple of what runs together."""
        reach = self.positions[1] + max(int(each.places.max()) for each in self.probes.probes) + SIZE
        return max(1, words // reach // 128) * 128


def search_near(
    conditions: Conditions,
    positions: tuple[int, int],
    *,
    seeds: tuple[int, int] = (0, SEEDS),
    everything: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> NearOutcome:
    """Try every seed of a range at every position of a range near the start.

    Args:
        conditions: what survivors say about the words (`conditions_of`, `conditions_of_selection`).
        positions: 32-bit words drawn before the tensor's first element: first, and one past the last.
        seeds: first, and one past the last.
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
        UsageError: ranges that cannot be, or positions too far off for this way.
        LedgerError: the ledger is damaged, or belongs to another search.
        OutputError: the ledger cannot be written.
    """
    first, stop = positions
    if not 0 <= first <= stop <= FURTHEST:
        raise UsageError(f"positions {first} to {stop}: expected 0 <= first <= last + 1 <= {FURTHEST}.")
    if not 0 <= seeds[0] <= seeds[1] <= SEEDS:
        raise UsageError(f"seeds {seeds[0]} to {seeds[1]}: expected 0 <= first <= last + 1 <= 2^32.")
    job = Near(conditions, seeds, positions, plan_probes(conditions), Options(workers=workers).threads)
    refuse_too_few(conditions, job.trials)
    work = Work(job, everything, progress)
    work.run(ledger)
    searched = NearSearched(**work.account(), seeds=seeds, positions=positions)
    return NearOutcome(work.candidates, searched, work.stopped)
