"""Work units, and what a job must offer so that the engine can do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from birthmark.search.cpu_positions.conditions import Conditions

Key = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Unit:
    """What is done together: in pass `number`, with `fixed` held, everything from `start` to `stop` - 1.

    Either a position is held and seeds are gone through, or the other way round.
    """

    number: int
    fixed: int
    start: int
    stop: int

    @property
    def key(self) -> Key:
        """All of it."""
        return self.number, self.fixed, self.start, self.stop


def pieces(first: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """A range in pieces of a size, the last one shorter: (start, stop) of each."""
    for start in range(first, stop, size):
        yield start, min(start + size, stop)


def is_piece(start: int, end: int, first: int, stop: int, size: int) -> bool:
    """Whether (start, end) is one of the `pieces` of a range."""
    return first <= start < stop and (start - first) % size == 0 and end == min(start + size, stop)


@dataclass(frozen=True, slots=True)
class Done:
    """A finished work unit.

    Attributes:
        unit: which.
        strict: how many passed the conditions that must all hold.
        found: those (seeds or positions) that passed everything.
    """

    unit: Unit
    strict: int
    found: tuple[int, ...]


Task = Callable[[Event], Done | None]


class Job(Protocol):
    """A search that is cut into work units."""

    @property
    def conditions(self) -> Conditions:
        """What the values say."""
        ...

    @property
    def workers(self) -> int:
        """Threads."""
        ...

    @property
    def trials(self) -> int:
        """Predictions, at least 1."""
        ...

    @property
    def misses(self) -> tuple[float, ...]:
        """The chance of a miss after the first pass, the first two, and so on."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for the same search only."""
        ...

    @property
    def description(self) -> str:
        """The search in a few words."""
        ...

    def count(self) -> int:
        """How many work units a pass has."""
        ...

    def planned(self, unit: Unit) -> bool:
        """Whether this is one of the work units."""
        ...

    def tasks(self, finished: set[Key]) -> Iterator[Task]:
        """What is still to be done, in order."""
        ...

    def pair(self, unit: Unit, found: int) -> tuple[int, int]:
        """(seed, position) of what a unit found."""
        ...

    def title(self, unit: Unit) -> str:
        """What is going on, for progress."""
        ...
