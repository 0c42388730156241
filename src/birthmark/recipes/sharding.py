"""How a tensor is cut into shards that different processes draw, and which seed each of them uses.

Every shard is a launch of its own over its local tensor: threads start at 0 again. Under Megatron's rule each
process draws at the same offset of a stream of its own; the processes of a distributed tensor share one seed,
and each starts as many elements on as the shards before its own hold (see `birthmark.recipes.dtensor`). So a
sharded tensor is its shards' predictions, one after another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError

Rule = Literal["single", "megatron", "dtensor"]

#: Seeds live in 64 bits; every rule wraps there.
SEED_SPACE = 1 << 64


@dataclass(frozen=True, slots=True)
class Sharding:
    """A cut along the first dimension into equal runs of rows, and the rule that seeds them.

    Attributes:
        ways: how many processes share the tensor; 1 for a whole tensor.
        rule: "single": one process draws it all. "megatron": vocabulary-parallel shards, rank r draws rows
            r * R to (r + 1) * R with the seed of rank 0 plus r. "dtensor": a distributed tensor (FSDP2), the
            same rows under one seed, rank r starting where r shards before it would end.
    """

    ways: int = 1
    rule: Rule = "single"

    def __post_init__(self) -> None:
        if self.ways < 1:
            raise UsageError(f"a sharding of {self.ways} ways: expected 1 or more.")
        if self.rule not in ("single", "megatron", "dtensor"):
            raise UsageError(
                f"unknown sharding rule {self.rule!r}: expected 'single', 'megatron' or 'dtensor'."
            )
        if self.rule == "single" and self.ways != 1:
            raise UsageError(
                f"{self.ways} shards need a seed rule such as 'megatron'; 'single' is one process."
            )

    @property
    def seed_step(self) -> int:
        """What each rank's seed is above that of the rank before."""
        return 1 if self.rule == "megatron" else 0

    def seed_of(self, seed: int, rank: int) -> int:
        """The seed of a rank, given that of rank 0, in 64 bits."""
        return (seed + rank * self.seed_step) % SEED_SPACE

    def shift(self, shape: tuple[int, ...], rank: int) -> int:
        """How far behind the draw's offset a rank starts; a multiple of 4."""
        return _ceil4(rank * math.prod(self.local_shape(shape))) if self.rule == "dtensor" else 0

    def advance(self, shape: tuple[int, ...]) -> int | None:
        """How far the draw moves the offset of every rank; None where that is what its own launches take."""
        return _ceil4(math.prod(shape)) if self.rule == "dtensor" else None

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this shape can be cut so: its rows divide evenly."""
        return self.ways == 1 or (len(shape) > 0 and shape[0] % self.ways == 0)

    def local_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of every shard.

        Raises:
            UsageError: the rows do not divide evenly.
        """
        if self.ways == 1:
            return shape
        if not self.fits(shape):
            raise UsageError(
                f"a tensor of shape {shape} does not divide into {self.ways} equal runs of rows."
            )
        return (shape[0] // self.ways, *shape[1:])

    def locate(
        self, shape: tuple[int, ...], indices: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, ...]]:
        """Which rank drew each element, and where it lies in that rank's own tensor.

        Args:
            shape: extents of the whole tensor.
            indices: C-order flat indices into it, int64, any shape.

        Returns:
            (rank, flat index in the shard), int64 in the shape of `indices`, and the shape of a shard.

        Raises:
            UsageError: the rows do not divide evenly.
        """
        local = self.local_shape(shape)
        if self.ways == 1:
            return np.zeros_like(indices), indices, local
        size = int(np.prod(local, dtype=np.int64))
        rank = indices // max(size, 1)
        return rank, indices - rank * size, local


def _ceil4(elements: int) -> int:
    return -(-elements // 4) * 4


#: One process draws the whole tensor.
WHOLE = Sharding()
