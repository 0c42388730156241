"""How a tensor is cut into shards that different processes draw, and which seed each of them uses.

Every shard is a launch of its own over its local tensor: threads start at 0 again. Under Megatron's rule each
process draws at the same offset of a stream of its own, as under rules with another step; the processes of a
distributed tensor share one seed, and each starts as many elements on as the shards before its own hold (see
`birthmark.recipes.dtensor`). So a
sharded tensor is its shards' predictions, one after another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError

Rule = Literal["single", "megatron", "stepped", "dtensor"]

#: Seeds live in 64 bits; every rule wraps there.
SEED_SPACE = 1 << 64


@dataclass(frozen=True, slots=True)
class Sharding:
    """A cut along the first dimension into equal runs of rows, and the rule that seeds them.

    The last run may be cut short: vocabularies are padded until they divide, and published without that.

    Attributes:
        ways: how many processes share the tensor; 1 for a whole tensor.
        rule: "single": one process draws it all. "megatron": vocabulary-parallel shards, rank r draws rows
            r * R to (r + 1) * R with the seed of rank 0 plus r. "stepped": the same with `step` a rank, of
            either sign, or 0 where all processes have one seed. "dtensor": a distributed tensor (FSDP2),
            the same rows under one seed, rank r starting where r shards before it would end.
        step: what each rank's seed is above that of the rank before, where the rule is "stepped"; else 1.
        rows: the rows of every shard where the published table lacks some of the last one's; 0 where the rows
            divide evenly.
    """

    ways: int = 1
    rule: Rule = "single"
    step: int = 1
    rows: int = 0

    def __post_init__(self) -> None:
        if self.ways < 1:
            raise UsageError(f"a sharding of {self.ways} ways: expected 1 or more.")
        if self.rule not in ("single", "megatron", "stepped", "dtensor"):
            raise UsageError(
                f"unknown sharding rule {self.rule!r}: expected 'single', 'megatron', 'stepped' or 'dtensor'."
            )
        if self.step != 1 and self.rule != "stepped":
            raise UsageError(f"a step of {self.step} under the rule {self.rule!r}: only 'stepped' has one.")
        if self.rows < 0 or (self.rows and not self.own_draws):
            raise UsageError(f"shards of {self.rows} rows under the rule {self.rule!r}: expected 0 there.")
        if self.rule == "single" and self.ways != 1:
            raise UsageError(
                f"{self.ways} shards need a seed rule such as 'megatron'; 'single' is one process."
            )

    @property
    def seed_step(self) -> int:
        """What each rank's seed is above that of the rank before."""
        return self.step if self.own_draws else 0

    @property
    def own_draws(self) -> bool:
        """Whether each rank draws by itself from the same offset, so that its seed is a matter of its own."""
        return self.rule in ("megatron", "stepped")

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
        """Whether a tensor of this shape can be cut so: its rows divide evenly, or but for the padding."""
        if self.rows:
            return len(shape) > 0 and (self.ways - 1) * self.rows < shape[0] <= self.ways * self.rows
        return self.ways == 1 or (len(shape) > 0 and shape[0] % self.ways == 0)

    def local_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of every shard.

        Raises:
            UsageError: the rows do not divide evenly.
        """
        if self.ways == 1 and not self.rows:
            return shape
        if not self.fits(shape):
            what = f"runs of {self.rows} rows" if self.rows else "equal runs of rows"
            raise UsageError(f"a tensor of shape {shape} does not divide into {self.ways} {what}.")
        return (self.rows or shape[0] // self.ways, *shape[1:])

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
