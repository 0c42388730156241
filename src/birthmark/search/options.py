"""What a user can ask of a search."""

from __future__ import annotations

import os
from dataclasses import dataclass

from birthmark.errors import UsageError
from birthmark.recipes.sharding import SEED_SPACE
from birthmark.search.kernel import CHUNK, RUN
from birthmark.search.space import WAYS


@dataclass(frozen=True, slots=True)
class Options:
    """How far a search goes.

    Attributes:
        seeds: the range of seeds, first and one past the last; all 2^32 by default.
        also: single seeds of 64 bits that are tried with the dictionary, such as a declared one.
        dictionary: whether the seeds that people use are tried first.
        layouts: the G's to try instead of the device table's; None for the table.
        ways: how many ways a vocabulary may have been cut.
        offset: the generator's offset when the draw starts, a multiple of 4.
        exhaustive: whether to go on through every G of 16 to 512 SMs.
        truncated: whether truncated normals are searched for as well, where the values look normal.
        everything: whether to go on after the first verified answer.
        probes: how many probes to use; None for as many as a small chance of a miss takes.
        workers: threads; None for as many as there are processors.
        unit: seeds in one work unit; None for about a second's worth.
    """

    seeds: tuple[int, int] = (0, RUN)
    also: tuple[int, ...] = ()
    dictionary: bool = True
    layouts: tuple[int, ...] | None = None
    ways: tuple[int, ...] = WAYS
    offset: int = 0
    exhaustive: bool = False
    truncated: bool = True
    everything: bool = False
    probes: int | None = None
    workers: int | None = None
    unit: int | None = None

    def __post_init__(self) -> None:
        first, stop = self.seeds
        if not 0 <= first <= stop <= SEED_SPACE:
            raise UsageError(f"seeds {first} to {stop}: expected 0 <= first <= last + 1 <= 2^64.")
        if self.layouts is not None and not self.layouts:
            raise UsageError("an empty list of layouts: name at least one G, or leave the list out.")
        if not self.ways or min(self.ways) < 1:
            raise UsageError(f"shardings of {self.ways} ways: expected at least one number of 1 or more.")
        for name, value, least in (
            ("probes", self.probes, 1),
            ("workers", self.workers, 1),
            ("seeds in a work unit", self.unit, CHUNK),
        ):
            if value is not None and value < least:
                raise UsageError(f"{value} {name}: expected {least} or more.")

    @property
    def threads(self) -> int:
        """How many threads scan at a time."""
        if self.workers is not None:
            return self.workers
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:  # not every platform can say what this process may use
            return os.cpu_count() or 1
