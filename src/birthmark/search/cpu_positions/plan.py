"""The plan of a search at stream positions: all that is settled before the first seed."""

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
from birthmark.search.cpu_positions.judge import least_conditions
from birthmark.search.cpu_positions.passes import Passes, plan_passes
from birthmark.search.cpu_positions.sieve import Sieve, sieve_at
from birthmark.search.cpu_positions.units import Done, Key, Task, Unit, is_piece, pieces
from birthmark.search.options import Options

#: Seeds of the generator.
SEEDS: Final = 1 << 32
#: Seeds of one work unit: about half a second. Seeds of one call into the kernels: some tens of milliseconds,
#: so that a stop is heard soon.
UNIT: Final = 1 << 22
SLICE: Final = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All that is settled before the first seed.

    Attributes:
        conditions: what the values say.
        positions: the stream positions, in order, each once.
        seeds: first, and one past the last.
        passes: what each pass tests.
        workers: threads.
    """

    conditions: Conditions
    positions: tuple[int, ...]
    seeds: tuple[int, int]
    passes: Passes
    workers: int

    @property
    def trials(self) -> int:
        """Predictions: seeds times positions; at least 1."""
        return max(1, (self.seeds[1] - self.seeds[0]) * len(self.positions))

    @property
    def misses(self) -> tuple[float, ...]:
        """The chance of a miss after the first pass, the first two, and so on."""
        return self.passes.miss

    @property
    def fingerprint(self) -> str:
        """A digest of everything that decides the plan: equal for the same search only."""
        passes = [
            [*each.strict.tolist(), -1, *each.loose.tolist(), each.least] for each in self.passes.passes
        ]
        facts = [__version__, self.conditions.digest, self.seeds, self.positions, passes, UNIT]
        return blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()

    @property
    def description(self) -> str:
        """The search in a few words."""
        return f"CPU seeds {self.seeds[0]} to {self.seeds[1] - 1} at {len(self.positions)} positions"

    def count(self) -> int:
        """How many work units a pass has."""
        return len(self.positions) * -(-(self.seeds[1] - self.seeds[0]) // UNIT)

    def planned(self, unit: Unit) -> bool:
        """Whether this is one of the work units."""
        return unit.fixed in self.positions and is_piece(unit.start, unit.stop, *self.seeds, UNIT)

    def tasks(self, finished: set[Key]) -> Iterator[Task]:
        """What is still to be done, in order; the tests of a position are made when it is reached."""
        for number, chosen in enumerate(self.passes.passes):
            for index in self.positions:
                units = [Unit(number, index, *piece) for piece in pieces(*self.seeds, UNIT)]
                units = [each for each in units if each.key not in finished]
                if units:
                    sieve = sieve_at(self.conditions, chosen, index)
                    yield from (partial(run, sieve, unit) for unit in units)

    def pair(self, unit: Unit, found: int) -> tuple[int, int]:
        """(seed, position): units hold a position and find seeds."""
        return found, unit.fixed

    def title(self, unit: Unit) -> str:
        """What is going on."""
        place = self.positions.index(unit.fixed) + 1
        return f"CPU seeds at position {unit.fixed} ({place} of {len(self.positions)})"


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


def make_plan(
    conditions: Conditions,
    positions: Sequence[int],
    seeds: tuple[int, int],
    passes: int | None,
    workers: int | None,
) -> Plan:
    """Settle what a search will do; arguments as in `search.search_positions`.

    Raises:
        NothingToSearch: no position, or too few known bits for any answer to stand out.
        UsageError: a range of seeds or a position that cannot be, or fewer than one pass or thread.
    """
    first, stop = seeds
    if not 0 <= first <= stop <= SEEDS:
        raise UsageError(f"seeds {first} to {stop}: expected 0 <= first <= last + 1 <= 2^32 for a CPU draw.")
    if passes is not None and passes < 1:
        raise UsageError(f"{passes} passes: expected 1 or more.")
    each = tuple(dict.fromkeys(int(position) for position in positions))
    if not each:
        raise NothingToSearch("no stream position was given to search at.")
    if min(each) < 0:
        raise UsageError(f"stream position {min(each)}; expected 0 or more.")
    plan = Plan(conditions, each, seeds, plan_passes(conditions, passes), Options(workers=workers).threads)
    refuse_too_few(conditions, plan.trials)
    return plan


def refuse_too_few(conditions: Conditions, trials: int) -> None:
    """See that an answer can stand out.

    Raises:
        NothingToSearch: even a seed that satisfies all conditions would not.
    """
    least = least_conditions(trials)
    if len(conditions) < least:
        raise NothingToSearch(
            f"{len(conditions)} bits of words are known from {len(conditions.seen.values)} values: "
            f"{least} are needed for an answer that stands out of {trials:.1e} trials."
        )
