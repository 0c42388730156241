"""The sieve between a probe and the second test: whole vectors of seeds against one witness after another.

Nearly every seed that passes a probe is false, and the second test tells so, but one seed at a time. The
sieve asks the same question with the integer windows of the first words alone, many seeds in a row, and lets
the same sequential test decide: what is left after a dozen witnesses is hardly more than the true seed.

Only witnesses that all predictions in question place alike can be asked here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.search.elements import Elements
from birthmark.search.kernel import inside, shifted, words_whole
from birthmark.search.places import call_of, lane_of, rank_of, thread_of
from birthmark.search.sequential import HELD, REJECT
from birthmark.search.vectors import widest_vectors
from birthmark.search.windows import words_test
from birthmark.survivors.survivor import Distribution

#: Witnesses that pass more seeds than this are not worth asking.
BLUNT = 0.1
#: Witnesses that a sieve asks at the most, and the fewest that make one.
MOST, LEAST = 40, 16
#: Seeds that are sieved together, and witnesses between two clearings.
BATCH, CLEARING = 512, 4

_ZERO = np.uint64(0)


@dataclass(frozen=True, slots=True, eq=False)
class Sieve:
    """The windows of witnesses in every lane.

    Attributes:
        windows: uint64[elements, lanes, 5]: the pair, then low and width for each of its words.
        gain: float64[elements], what a hit adds to the log-likelihood ratio; 0 for a witness that is too
            blunt.
        loss: float64[elements], what a miss takes away.
    """

    windows: NDArray[np.uint64]
    gain: NDArray[np.float64]
    loss: NDArray[np.float64]

    @property
    def sharp(self) -> NDArray[np.bool_]:
        """Which elements are worth asking."""
        return self.gain > 0.0


def sieve_of(elements: Elements, distribution: Distribution, *, double: bool) -> Sieve:
    """Prepare the windows of elements in every lane that they can have."""
    lanes = 2 if double else 4
    windows = np.zeros((len(elements), 4, 5), np.uint64)
    gain, loss = np.zeros(len(elements)), np.zeros(len(elements))
    for e in range(len(elements)):
        low, high = float(elements.low[e]), float(elements.high[e])
        share = 1.0
        for lane in range(lanes):
            test = words_test(distribution, low, high, lane, double=double, finer=False)
            if test is None:
                break
            windows[e, lane, 0] = test.pair
            windows[e, lane, 1:] = test.windows[:4]
            share = test.share
        if share <= BLUNT:
            share = max(share, 1e-3)
            gain[e], loss[e] = np.log(HELD / share), np.log((1 - HELD) / (1 - share))
    return Sieve(windows, gain, loss)


@kernel(inline=True)
def _weigh(
    seeds: NDArray[np.uint64],
    ratio: NDArray[np.float64],
    odd_pair: bool,
    rank: np.uint64,
    counter: np.uint64,
    thread: np.uint64,
    windows: NDArray[np.uint64],
    gain: float,
    loss: float,
) -> None:
    widest_vectors()
    low_0, width_0, low_1, width_1 = shifted(windows)
    for i in range(seeds.shape[0]):
        even, odd = words_whole(seeds[i] + rank, odd_pair, counter, thread)
        ratio[i] += gain if inside(even, odd, low_0, width_0, low_1, width_1) else loss


@kernel()
def _sift(
    seeds: NDArray[np.uint64],
    order: NDArray[np.int64],
    base: np.uint64,
    places: NDArray[np.uint64],
    windows: NDArray[np.uint64],
    gain: NDArray[np.float64],
    loss: NDArray[np.float64],
) -> int:
    ratio = np.empty(BATCH, np.float64)
    kept = 0
    for start in range(0, seeds.shape[0], BATCH):
        batch = seeds[start : start + BATCH]
        size = batch.shape[0]
        ratio[:size] = 0.0
        for turn in range(order.shape[0]):
            e = order[turn]
            place = places[e]
            lane = lane_of(place)
            test = windows[e, lane]
            counter, thread, rank = base + call_of(place), thread_of(place), rank_of(place)
            if test[0] > _ZERO:
                _weigh(batch[:size], ratio, True, rank, counter, thread, test[1:], gain[e], loss[e])
            else:
                _weigh(batch[:size], ratio, False, rank, counter, thread, test[1:], gain[e], loss[e])
            if turn % CLEARING == CLEARING - 1 or turn == order.shape[0] - 1:
                alive = 0
                for i in range(size):
                    batch[alive] = batch[i]
                    ratio[alive] = ratio[i]
                    alive += ratio[i] >= REJECT
                size = alive
                if size == 0:
                    break
        for i in range(size):
            seeds[kept] = batch[i]
            kept += 1
    return kept


def sift(
    seeds: NDArray[np.uint64], order: NDArray[np.int64], base: int, places: NDArray[np.uint64], sieve: Sieve
) -> NDArray[np.uint64]:
    """The seeds that the sieve keeps.

    Args:
        seeds: seeds of rank 0; overwritten.
        order: columns of the witnesses in the order in which they are asked.
        base: the generator's offset at the draw's start, in calls.
        places: the packed place of every element.
        sieve: their windows.

    Returns:
        A view of `seeds`, in their order.
    """
    kept = _sift(seeds, order, np.uint64(base), places, sieve.windows, sieve.gain, sieve.loss)
    return seeds[:kept]
