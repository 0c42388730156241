"""The seeds of a stage as one row of positions: runs of consecutive seeds first, then single ones.

Work units are ranges of positions, so a range of 2^32 seeds and a dictionary of single ones are cut alike.
`pieces` gives seeds of at most 32 bits as runs, for the fast loop, and all others as arrays; it wraps at 2^64
as seeds do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from birthmark.recipes.sharding import SEED_SPACE
from birthmark.search.kernel import RUN

#: Fewer consecutive seeds than this are scanned as single ones.
_LEAST_RUN = 4096
#: Consecutive seeds beyond 32 bits come in arrays of this many.
_ARRAY = 1 << 18


@dataclass(frozen=True, slots=True)
class Run:
    """`count` consecutive seeds below 2^32."""

    first: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Seeds by position.

    Attributes:
        runs: (first seed, how many) of each run.
        single: uint64, the seeds after the runs.
    """

    runs: tuple[tuple[int, int], ...]
    single: NDArray[np.uint64]

    @property
    def size(self) -> int:
        """How many seeds there are."""
        return sum(count for _, count in self.runs) + len(self.single)

    @property
    def digest(self) -> str:
        """A short digest of all of them."""
        return blake2b(repr(self.runs).encode() + self.single.tobytes(), digest_size=8).hexdigest()

    def pieces(self, start: int, stop: int, shift: int = 0) -> Iterator[Run | NDArray[np.uint64]]:
        """The seeds at positions start <= p < stop, each plus `shift`, modulo 2^64."""
        begin = 0
        for first, count in self.runs:
            a, b = max(start, begin), min(stop, begin + count)
            if a < b:
                yield from _cut(first + a - begin + shift, b - a)
            begin += count
        a, b = max(start, begin), min(stop, begin + len(self.single))
        if a < b:
            yield self.single[a - begin : b - begin] + np.uint64(shift)


def _cut(first: int, count: int) -> Iterator[Run | NDArray[np.uint64]]:
    while count > 0:
        first %= SEED_SPACE
        if first < RUN:
            part = min(count, RUN - first)
            yield Run(first, part)
        else:
            part = min(count, _ARRAY, SEED_SPACE - first)
            yield np.arange(part, dtype=np.uint64) + np.uint64(first)
        first, count = first + part, count - part


def consecutive(first: int, stop: int) -> Seeds:
    """The seeds first <= s < stop."""
    return Seeds(((first, stop - first),), np.empty(0, np.uint64))


def listed(seeds: NDArray[np.uint64]) -> Seeds:
    """Given seeds, each once."""
    # Sorting is several times faster here than numpy's own `unique`, which hashes.
    ordered = np.sort(seeds)
    ordered = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(seeds) else ordered
    breaks = np.flatnonzero(np.diff(ordered) != 1) + 1
    starts = np.concatenate([[0], breaks]).astype(np.int64)
    counts = np.diff(np.append(starts, len(ordered)))
    long = counts >= _LEAST_RUN
    runs = tuple(
        (int(ordered[start]), int(count)) for start, count in zip(starts[long], counts[long], strict=True)
    )
    return Seeds(runs, np.ascontiguousarray(ordered[np.repeat(~long, counts)]))
