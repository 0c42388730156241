"""One pass at one stream position, ready to run: masks of the seeded state, and what they must give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.kernel import FIRST, Seeding, agreeing, packed, scan, sift
from birthmark.search.cpu_positions.masks import state_masks, words_needed
from birthmark.search.cpu_positions.passes import Pass


@dataclass(frozen=True, slots=True, eq=False)
class Sieve:
    """The tests of one pass at one position.

    Attributes:
        index: the position, words before the draw.
        first: uint32[words, 4], masks of the first test, of as much of the state as they look at.
        second: uint32[words, 8], of the second.
        counted: uint32[words, n], of what is counted.
        wanted: uint8[12], the sums of the first two.
        wanted_counted: uint8[n], of the third.
        seeding: how states are made.
        least: how many of the third must agree.
    """

    index: int
    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    counted: NDArray[np.uint32]
    wanted: NDArray[np.uint8]
    wanted_counted: NDArray[np.uint8]
    seeding: Seeding
    least: int

    def passing(self, first: int, count: int) -> tuple[NDArray[np.uint32], int]:
        """The seeds among consecutive ones that pass everything, and how many passed all strict tests."""
        seeds = scan(first, count, self.first, packed(self.wanted[:FIRST]), self.seeding)
        seeds = sift(seeds, self.second, packed(self.wanted[FIRST:]), self.seeding)
        if self.least == 0:
            return seeds, len(seeds)
        counts = agreeing(seeds, self.counted, self.wanted_counted, self.seeding)
        return seeds[counts >= self.least], len(seeds)


def sieve_at(conditions: Conditions, chosen: Pass, index: int) -> Sieve:
    """The tests of a pass for a draw that starts at `index` >= 0."""

    def masks(numbers: NDArray[np.int64]) -> NDArray[np.uint32]:
        made = state_masks(conditions.position[numbers] + index, conditions.mask[numbers])
        if conditions.seeding == "array":  # whose last words reach back to the first
            return made
        return np.ascontiguousarray(made[: max(words_needed(made), 2)])

    return Sieve(
        index,
        masks(chosen.strict[:FIRST]),
        masks(chosen.strict[FIRST:]),
        masks(chosen.loose),
        conditions.parity[chosen.strict],
        conditions.parity[chosen.loose],
        conditions.seeding,
        chosen.least,
    )
