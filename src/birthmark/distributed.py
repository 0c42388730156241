"""A distributed tensor's initial values: one hypothesis for each process that holds a shard of it.

`birthmark.recipes.dtensor` says who holds which elements and from which offset each process draws; from there
on a shard is a tensor like any other. Random access goes to the processes that hold what was asked for, and
to no other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import Arithmetic
from birthmark.errors import UsageError
from birthmark.hypothesis import CHUNK, Draw, Hypothesis, Values
from birthmark.recipes.dtensor import Distribution, Placement


@dataclass(frozen=True, slots=True)
class Distributed:
    """Everything that decides a distributed tensor's initial values, except the seed.

    Attributes:
        draw: the call on the whole tensor.
        mesh: extents of the mesh of processes.
        placements: what each of its dimensions does to the tensor.
        threads: G of every process's device.
        arithmetic: how words become floats there.
        offset: the generators' common offset before the draw, a multiple of 4. Up to torch 2.8 it is that of
            the state that distributed draws keep for themselves.
        offsets: how far a shard's double launches move the offset: "2.5+" or "2.4-".
    """

    draw: Draw
    mesh: tuple[int, ...]
    placements: tuple[Placement, ...]
    threads: int
    arithmetic: Arithmetic = "nvidia-volta+"
    offset: int = 0
    offsets: str = "2.5+"

    def __post_init__(self) -> None:
        self.of(0)

    @property
    def distribution(self) -> Distribution:
        """Who holds what."""
        return Distribution(self.draw.shape, self.mesh, self.placements)

    def of(self, rank: int) -> Hypothesis:
        """The hypothesis of one process's shard.

        Raises:
            UsageError: no such rank, or something of the draw cannot be.
        """
        distribution = self.distribution
        return Hypothesis(
            replace(self.draw, shape=distribution.local_shape(rank)),
            self.threads,
            self.arithmetic,
            self.offset + distribution.shift(rank),
            offsets=self.offsets,
            redraw_step=distribution.advance,
        )

    def values(self, seed: int, indices: NDArray[np.int64]) -> Values:
        """The initial values of elements at C-order flat indices of the whole tensor, decoded.

        Returns:
            float32, or float64 for a float64 draw, in the shape of `indices`.

        Raises:
            UsageError: an index lies outside the tensor.
        """
        given = np.asarray(indices)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.draw.size:
            raise UsageError(
                f"element indices {given.min()} to {given.max()}: the tensor has {self.draw.size} elements."
            )
        flat = given.astype(np.int64, copy=False).reshape(-1)
        out: NDArray[Any] = np.empty(flat.size, np.float64 if self.draw.dtype == "float64" else np.float32)
        distribution = self.distribution
        for begin in range(0, flat.size, CHUNK):
            part = slice(begin, begin + CHUNK)
            ranks, local = distribution.locate(flat[part])
            for rank in np.unique(ranks).tolist():
                here = ranks == rank
                out[part][here] = self.of(rank).values(seed, local[here])
        return out.reshape(given.shape)

    def run(self, seed: int, start: int, stop: int) -> Values:
        """The initial values of the elements start <= i < stop, decoded.

        Raises:
            UsageError: the range is empty the wrong way round or leaves the tensor.
        """
        if not 0 <= start <= stop <= self.draw.size:
            raise UsageError(
                f"elements {start} to {stop} of a tensor of {self.draw.size}: expected a range in it."
            )
        return self.values(seed, np.arange(start, stop))

    def tensor(self, seed: int) -> Values:
        """The whole tensor, in its shape."""
        return self.values(seed, np.arange(self.draw.size).reshape(self.draw.shape))

    def end_offset_of(self, seed: int) -> int:
        """Every process's offset after the draw; goes through all shards where values can lie out of bounds.

        All processes draw again while any value of any shard lies out of bounds, and each round moves the
        offset as the first draw did (torch 2.12 and later).
        """
        step = self.distribution.advance
        if not self.draw.redraws or not self.draw.size:
            return self.offset + step
        rounds = 1
        for rank in range(self.distribution.ranks):
            shard = self.of(rank)
            if shard.draw.size:
                rounds = max(rounds, (shard.end_offset_of(seed) - shard.offset) // step)
        return self.offset + step * rounds
