"""The plan of a search at stream positions: all that is settled before the first seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from birthmark import __version__
from birthmark.errors import NothingToSearch, UsageError
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.judge import least_conditions
from birthmark.search.cpu_positions.passes import Passes, plan_passes
from birthmark.search.cpu_positions.sieve import Sieve, sieve_at
from birthmark.search.options import Options

#: Seeds of the generator.
SEEDS: Final = 1 << 32
#: Seeds of one work unit: about half a second.
UNIT: Final = 1 << 22

Key = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Unit:
    """Seeds that are done together: pass, position, first seed, and one past the last."""

    number: int
    index: int
    start: int
    stop: int

    @property
    def key(self) -> Key:
        """All of it."""
        return self.number, self.index, self.start, self.stop


@dataclass(frozen=True, slots=True)
class Done:
    """A finished work unit.

    Attributes:
        unit: which.
        strict: seeds that passed the conditions that must all hold.
        found: seeds that passed everything.
    """

    unit: Unit
    strict: int
    found: tuple[int, ...]


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
    def work(self) -> int:
        """Seeds through all passes and positions; at least 1."""
        return self.trials * len(self.passes.passes)

    @property
    def units_each(self) -> int:
        """Work units of one pass at one position."""
        return -(-(self.seeds[1] - self.seeds[0]) // UNIT)

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

    def units(self, number: int, index: int) -> Iterator[Unit]:
        """The work units of a pass at a position."""
        first, stop = self.seeds
        for start in range(first, stop, UNIT):
            yield Unit(number, index, start, min(start + UNIT, stop))

    def sieve(self, number: int, index: int) -> Sieve:
        """The tests of a pass at a position; made anew, in some tens of milliseconds."""
        return sieve_at(self.conditions, self.passes.passes[number], index)


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
    least = least_conditions(plan.trials)
    if len(conditions) < least:
        raise NothingToSearch(
            f"{len(conditions)} bits of words are known from {len(conditions.seen.values)} values: "
            f"{least} are needed for an answer that stands out of {plan.trials:.1e} trials."
        )
    return plan
