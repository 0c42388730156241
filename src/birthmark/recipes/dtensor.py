"""Distributed tensors of PyTorch (DTensor: FSDP2, tensor parallelism): who holds what, and who draws where.

Every process draws its own shard with the ordinary kernel, under the same seed, but at an offset of its own:
the number of its shard times the elements of the *first* shard, rounded up to a multiple of 4, further on.
After the draw every process stands as many elements further as the whole tensor has, rounded up likewise,
whatever the kernel consumed. Replicas hold the same shard and draw the same values.

The first shard is taken as torch takes it: of the tensor's full extents, so that of two cuts along one
dimension only the last one counts.

Source: pytorch `torch/distributed/tensor/_random.py` (2.1 to 2.15.0; until 2.4 `torch/distributed/_tensor/
random.py`) and `placement_types.py`. Up to 2.5 a dimension could be cut once; up to 2.8 these offsets lived
in a state of their own, and the generator of the device was not moved; from 2.9 on they are the generator's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError


@dataclass(frozen=True, slots=True)
class Shard:
    """A cut along one dimension, in contiguous runs that are as equal as rounding up allows.

    Attributes:
        dimension: which one, from 0.
        split: above 1 for torch's strided cut (what FSDP2 does to a tensor that another cut follows): the
            dimension is first seen as so many runs, and each process takes its part of every run.
    """

    dimension: int
    split: int = 1


#: What one dimension of the mesh does: a cut, or None where its processes are replicas.
Placement = Shard | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """How a tensor lies on a mesh of processes.

    Attributes:
        shape: extents of the whole tensor.
        mesh: extents of the mesh; ranks count through it in C order.
        placements: one for each dimension of the mesh, applied from left to right.
    """

    shape: tuple[int, ...]
    mesh: tuple[int, ...]
    placements: tuple[Placement, ...]

    def __post_init__(self) -> None:
        if len(self.mesh) != len(self.placements) or not self.mesh or min(self.mesh) < 1:
            raise UsageError(
                f"mesh {self.mesh} with {len(self.placements)} placements: expected one for each dimension "
                "of 1 or more processes."
            )
        for placement in self.placements:
            if placement is not None and (
                not 0 <= placement.dimension < len(self.shape) or placement.split < 1
            ):
                raise UsageError(
                    f"{placement} of a tensor of shape {self.shape}: expected one of its dimensions."
                )

    @property
    def ranks(self) -> int:
        """Processes of the mesh."""
        return math.prod(self.mesh)

    @property
    def advance(self) -> int:
        """How far a draw moves the offset of every process."""
        return _ceil4(math.prod(self.shape))

    @property
    def first_shard(self) -> tuple[int, ...]:
        """The extents that torch takes for the first shard's."""
        found = list(self.shape)
        for size, placement in zip(self.mesh, self.placements, strict=True):
            if placement is not None:
                whole = self.shape[placement.dimension]
                found[placement.dimension] = len(_part(np.arange(whole), placement.split, size, 0))
        return tuple(found)

    def shift(self, rank: int) -> int:
        """How far behind the offset before the draw a process starts.

        Raises:
            UsageError: no such rank.
        """
        coordinate = self.coordinate(rank)
        index = 0
        for dimension in range(len(self.shape)):
            for size, place, placement in zip(self.mesh, coordinate, self.placements, strict=True):
                if placement is not None and placement.dimension == dimension:
                    index = index * size + place
        return _ceil4(index * math.prod(self.first_shard))

    def coordinate(self, rank: int) -> tuple[int, ...]:
        """Where a rank lies in the mesh.

        Raises:
            UsageError: no such rank.
        """
        if not 0 <= rank < self.ranks:
            raise UsageError(f"rank {rank}: the mesh {self.mesh} has the ranks 0 to {self.ranks - 1}.")
        return tuple(int(place) for place in np.unravel_index(rank, self.mesh))

    def held(self, rank: int) -> tuple[NDArray[np.int64], ...]:
        """The indices that a process holds of each dimension of the tensor, in the order of its shard."""
        coordinate = self.coordinate(rank)
        held = [np.arange(size, dtype=np.int64) for size in self.shape]
        for size, place, placement in zip(self.mesh, coordinate, self.placements, strict=True):
            if placement is not None:
                own = held[placement.dimension]
                held[placement.dimension] = _part(own, placement.split, size, place)
        return tuple(held)

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """Extents of a process's shard; one of them can be 0."""
        return tuple(len(indices) for indices in self.held(rank))

    def locate(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Who holds elements, and where in its shard.

        Args:
            indices: C-order flat indices into the whole tensor, int64, any shape (not checked).

        Returns:
            (rank, C-order flat index in its shard), int64 of the shape of `indices`; of replicas the first.
        """
        coordinates = np.unravel_index(indices, self.shape) if self.shape else ()
        rank = np.zeros(indices.shape, np.int64)
        local = np.zeros(indices.shape, np.int64)
        for dimension, index in enumerate(coordinates):
            share, place, length = self._owners(dimension)
            rank += share[index]
            local = local * length[index] + place[index]
        return rank, local

    def _owners(self, dimension: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For every index along a dimension: its owner's share of the rank, its place, the shard's length."""
        size = self.shape[dimension]
        share, place, length = (np.zeros(size, np.int64) for _ in range(3))
        axes = [
            axis
            for axis, placement in enumerate(self.placements)
            if placement is not None and placement.dimension == dimension
        ]
        for part in np.ndindex(*(self.mesh[axis] for axis in axes)):
            own = np.arange(size, dtype=np.int64)
            rank = 0
            for axis, where in zip(axes, part, strict=True):
                placement = self.placements[axis]
                own = _part(own, placement.split if placement else 1, self.mesh[axis], where)
                rank += where * math.prod(self.mesh[axis + 1 :])
            share[own], place[own], length[own] = rank, np.arange(len(own)), len(own)
        return share, place, length


def _ceil4(number: int) -> int:
    return (number + 3) // 4 * 4


def _part(own: NDArray[np.int64], split: int, ways: int, which: int) -> NDArray[np.int64]:
    """One process's part of the indices that it shares with others, as torch.chunk cuts them."""
    parts = [_chunk(run, ways, which) for run in (_chunk(own, split, number) for number in range(split))]
    return np.concatenate(parts)


def _chunk(own: NDArray[np.int64], ways: int, which: int) -> NDArray[np.int64]:
    length = -(-len(own) // ways)
    return own[which * length : (which + 1) * length]
