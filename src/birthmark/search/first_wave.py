"""Scoring seeds on the first wave: a sequence of stages that drops most of them early.

All layouts agree on the elements below the smallest G among them: there a seed needs to be scored once only.
After each stage a seed goes on if its score is above what a trace of `LEAST_R` falls below in one case of
400.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.errors import NothingToSearch
from birthmark.search.surrogate import NORMAL_STEPS, UNIFORM_STD, VALUE_STEPS, products, staged
from birthmark.survivors.split import Selection
from birthmark.survivors.survivor import Distribution

#: The correlation that must not be missed.
LEAST_R = 0.08
#: By so many sigmas a true trace may fall below its expectation before it is dropped.
SLACK = 2.85
#: Values that the stages end at; the last one takes all there are, up to `MOST`.
ENDS = (1024, 2048, 3072, 5120)
MOST = 1 << 16
#: With fewer values a trace of `LEAST_R` would have to be let through with most of the seeds.
LEAST = 1024
#: What the last stage asks for at most, in sigma: weaker traces than `LEAST_R` may still be there.
LAST_LIMIT = 4.5
#: Seeds that one thread scores at a time.
UNIT = 2048

DISTRIBUTIONS: tuple[Distribution, ...] = ("normal", "uniform")


@dataclass(frozen=True, slots=True)
class Scored:
    """A seed that passed all stages.

    Attributes:
        sigma: its score on the first wave.
        seed: the seed of rank 0.
        distribution: of the draw.
    """

    sigma: float
    seed: int
    distribution: Distribution


@dataclass(frozen=True, slots=True, eq=False)
class FirstWave:
    """Values of the first wave, in the order in which the stages take them.

    Attributes:
        products: uint64, what the first round of the generator owes to their threads.
        values: int32, levelled, in steps.
        ends: int64, where each stage ends.
        lengths: float64, root of the sum of squares of the values up to each end, in steps.
        limits: float64, the sigma that each stage asks for.
    """

    products: NDArray[np.uint64]
    values: NDArray[np.int32]
    ends: NDArray[np.int64]
    lengths: NDArray[np.float64]
    limits: NDArray[np.float64]

    @property
    def miss_chance(self) -> float:
        """No more than this is the chance that a trace of `LEAST_R` is dropped."""
        return float(min(1.0, ndtr(self.limits - LEAST_R * np.sqrt(self.ends)).sum()))

    def score(
        self, seeds: NDArray[np.uint64], counter: int, workers: int
    ) -> Iterator[tuple[int, list[Scored]]]:
        """Score seeds, a unit at a time: how many were done, and those of them that passed all stages.

        Args:
            seeds: 64-bit seeds.
            counter: offset / 4 of the draw.
            workers: threads.
        """
        units = [seeds[start : start + UNIT] for start in range(0, len(seeds), UNIT)]
        with ThreadPoolExecutor(workers, thread_name_prefix="birthmark-weak") as pool:
            try:
                for unit, found in zip(
                    units, pool.map(lambda unit: self._unit(unit, counter), units), strict=True
                ):
                    yield len(unit), found
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _unit(self, seeds: NDArray[np.uint64], counter: int) -> list[Scored]:
        spread = np.array([NORMAL_STEPS, UNIFORM_STD])
        limits = np.ceil(self.limits[:, None] * self.lengths[:, None] * spread).astype(np.int64)
        sums, reached = np.zeros((len(seeds), 2), np.int64), np.zeros(len(seeds), np.int64)
        staged(
            np.ascontiguousarray(seeds),
            np.uint64(counter),
            self.products,
            self.values,
            self.ends,
            limits,
            sums,
            reached,
        )
        sigma = sums / (self.lengths[-1] * spread)
        passed = (reached == len(self.ends))[:, None] & (sigma > self.limits[-1])
        return [
            Scored(float(sigma[row, column]), int(seeds[row]), DISTRIBUTIONS[column])
            for row, column in np.argwhere(passed).tolist()
        ]


def first_wave(selection: Selection, smallest: int) -> FirstWave:
    """The values of a levelled selection that all layouts draw in their first wave, in a fixed random order.

    Args:
        selection: with levelled values.
        smallest: the smallest G.

    Raises:
        NothingToSearch: there are too few.
    """
    inside = np.flatnonzero((selection.indices < smallest) & (selection.values != 0.0))
    if len(inside) < LEAST:
        raise NothingToSearch(
            f"{len(inside):,} trained values of {selection.tensor} lie in the first wave of every layout: "
            f"{LEAST:,} are needed to see a weak trace."
        )
    order = np.random.default_rng(0).permutation(inside)[:MOST]
    values = np.rint(selection.values[order] * VALUE_STEPS).astype(np.int32)
    ends = np.array([*(end for end in ENDS if end < len(order)), len(order)], np.int64)
    lengths = np.sqrt(np.cumsum(values.astype(np.float64) ** 2)[ends - 1])
    limits = LEAST_R * np.sqrt(ends) - SLACK
    limits[-1] = min(float(limits[-1]), LAST_LIMIT)
    return FirstWave(products(selection.indices[order]), values, ends, lengths, limits)
