"""Permutations as `torch.randperm` makes them on a GPU: positions sorted by random keys, ties shuffled after.

A key is drawn for each of the n positions: an int32 with a range of 2^32 - 1, or an int64 for n from 30,084
on. The positions are sorted by the keys' low bits, stably; how many bits, follows from n so that ties are
rare (one draw in ten has any). A second kernel, with the generator moved on by n, shuffles the positions of
each run of equal
keys: the thread at the run's first place takes one word for each step of a shuffle by Fisher and Yates.

Sources: pytorch `aten/src/ATen/native/cuda/Randperm.cu` and `Randperm.cuh` (1.10 to 2.15.0; older releases
used other algorithms). No element of a permutation can be had without all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.philox import words
from birthmark.samplers.cuda_draw import CudaDraw
from birthmark.samplers.integers import Integers

#: Beyond so many bits of a key PyTorch shifts by more than C++ defines.
MOST_BITS: Final = 63
#: Up to so many bits the keys are int32.
SHORT_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class Permutation:
    """One call of `randperm(size)`, but for the seed.

    Attributes:
        size: how many positions.
        threads: G, the threads of a full launch of the device.
        offset: the generator's offset when the call starts, a multiple of 4.
        integers: the version rule of integers: "2.7+" or "2.6-".
        offsets: how far two-word draws move the offset: "2.5+" or "2.4-".
    """

    size: int
    threads: int
    offset: int = 0
    integers: str = "2.7+"
    offsets: str = "2.5+"

    def __post_init__(self) -> None:
        if self.size < 0:
            raise UsageError(f"a permutation of {self.size} positions: expected 0 or more.")
        if self.size and self.bits > MOST_BITS:
            raise UsageError(
                f"a permutation of {self.size} positions: torch sorts by {self.bits} bits of a key there, "
                f"and what its mask of them is, C++ leaves open; expected {MOST_BITS} bits at most."
            )
        self._keys()

    @property
    def bits(self) -> int:
        """Low bits of a key that decide, so that nine permutations in ten have no ties."""
        n = float(self.size)
        return min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9)))))

    @property
    def end_offset(self) -> int:
        """The generator's offset after the call."""
        return self._keys().end_offset + (self.size + 3) // 4 * 4

    def run(self, seed: int, start: int = 0, stop: int | None = None) -> NDArray[np.int64]:
        """The permutation from position start up to stop (default: all), int64.

        It is made whole for any part of it.

        Raises:
            UsageError: the range is empty the wrong way round or leaves the permutation.
        """
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise UsageError(f"positions {start} to {stop} of {self.size}: expected a range in it.")
        if start == stop:
            return np.empty(0, np.int64)
        keys = self._keys().run(seed)
        if self.bits < 64:
            keys = keys & np.int64((1 << self.bits) - 1) if self.bits != SHORT_BITS else keys
        order = np.argsort(keys, kind="stable").astype(np.int64)
        return self._untied(seed, keys[order], order)[start:stop]

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions at `indices` of the permutation, in their shape; it is made whole for them.

        Raises:
            UsageError: an index lies outside of it.
        """
        given = np.asarray(indices)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.size:
            raise UsageError(
                f"indices {given.min()} to {given.max()}: the permutation has {self.size} positions."
            )
        return self.run(seed)[given]

    def _keys(self) -> CudaDraw:
        short = self.size == 0 or self.bits <= SHORT_BITS
        width = 31 if short else 63
        keys = Integers(-(1 << width), (1 << width) - 1, "int32" if short else "int64", self.integers)
        return CudaDraw(keys, self.size, self.threads, offset=self.offset, offsets=self.offsets)

    def _untied(self, seed: int, keys: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shuffle the positions of each run of equal sorted keys."""
        tied = keys[1:] == keys[:-1]
        if not tied.any():
            return order
        edges = np.diff(tied.astype(np.int8), prepend=0, append=0)
        counter = self._keys().end_offset // 4
        for first, last in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
            island = order[first : last + 1]
            steps = island.size - 1
            calls = np.arange(counter, counter + -(-steps // 4), dtype=np.uint64)
            drawn = words(seed, calls, np.full(calls.shape, first, np.uint64)).reshape(-1)
            for number, place in enumerate(range(steps, 0, -1)):
                other = int(drawn[number]) % (place + 1)
                island[[place, other]] = island[[other, place]]
        return order
