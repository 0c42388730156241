"""The sieve between a probe and the second test: whole vectors of seeds against one witness after another.

Nearly every seed that passes a probe is false, and the second test tells so, but one seed at a time. The
sieve asks the same question with windows and stairs of the words alone, many seeds in a row, and lets the
same sequential test decide: what is left after a dozen witnesses is hardly more than the true seed.

Only witnesses that all predictions in question place alike can be asked here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.search.elements import Elements
from birthmark.search.kernel import inside, on_stairs, shifted, words_whole
from birthmark.search.places import call_of, lane_of, rank_of, thread_of
from birthmark.search.sequential import LEAST_CHANCE, REJECT
from birthmark.search.vectors import widest_vectors
from birthmark.search.windows import STEPS, words_test
from birthmark.survivors.survivor import Distribution

#: Witnesses that pass more seeds than this are not worth asking.
BLUNT = 0.1
#: Witnesses that a sieve asks at the most, and the fewest that make one.
MOST, LEAST = 40, 16
#: Seeds that are sieved together, and witnesses between two clearings.
BATCH, CLEARING = 512, 4

_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Sieve:
    """The words of witnesses, in every lane.

    Attributes:
        pairs: int64[elements, lanes]: which two words of a call a lane is made from.
        windows: uint64[elements, lanes, 7], see `search.windows`.
        stairs: uint64[elements, steps, 2], see there; the last step repeated.
        gain: float64[elements], what a hit adds to the log-likelihood ratio; 0 where a witness is too blunt.
        loss: float64[elements], what a miss takes away.
    """

    pairs: NDArray[np.int64]
    windows: NDArray[np.uint64]
    stairs: NDArray[np.uint64]
    gain: NDArray[np.float64]
    loss: NDArray[np.float64]

    @property
    def sharp(self) -> NDArray[np.bool_]:
        """Which elements are worth asking."""
        return self.gain > 0.0


def sieve_of(elements: Elements, distribution: Distribution, *, double: bool) -> Sieve:
    """Prepare the words of elements in every lane that they can have."""
    n, lanes = len(elements), 2 if double else 4
    pairs = np.zeros((n, 4), np.int64)
    windows = np.zeros((n, 4, 7), np.uint64)
    stairs = np.zeros((n, STEPS, 2), np.uint64)
    gain, loss = np.zeros(n), np.zeros(n)
    for e in range(n):
        low, high = float(elements.low[e]), float(elements.high[e])
        first = words_test(distribution, low, high, 0, double=double)
        if first is None or first.fine > BLUNT:
            continue
        steps = len(first.stairs)
        stairs[e, :steps], stairs[e, steps:] = first.stairs, first.stairs[-1]
        for lane in range(lanes):
            # Lanes differ in words and direction, not in the stairs.
            test = words_test(distribution, low, high, lane, double=double, finer=False)
            assert test is not None
            pairs[e, lane] = test.pair
            windows[e, lane] = test.windows
            windows[e, lane, 5] = first.windows[5]
        share = max(first.fine, LEAST_CHANCE)
        held = elements.held
        gain[e], loss[e] = np.log(held / share), np.log((1 - held) / (1 - share))
    return Sieve(pairs, windows, stairs, gain, loss)


@kernel(inline=True)
def _weigh(
    seeds: NDArray[np.uint64],
    ratio: NDArray[np.float64],
    odd_pair: bool,
    rank: np.uint64,
    counter: np.uint64,
    thread: np.uint64,
    windows: NDArray[np.uint64],
    stairs: NDArray[np.uint64],
    gain: float,
    loss: float,
) -> None:
    widest_vectors()
    low_0, width_0, low_1, width_1 = shifted(windows)
    centre, shift = windows[4] << _HALF, windows[5] + _HALF
    evens, odds = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
    for i in range(seeds.shape[0]):
        evens[i], odds[i] = words_whole(seeds[i] + rank, odd_pair, counter, thread)
    for i in range(seeds.shape[0]):
        ratio[i] += loss
        if inside(evens[i], odds[i], low_0, width_0, low_1, width_1) and on_stairs(
            evens[i], odds[i], centre, shift, stairs
        ):
            ratio[i] += gain - loss


@kernel()
def _sift(
    seeds: NDArray[np.uint64],
    order: NDArray[np.int64],
    base: np.uint64,
    places: NDArray[np.uint64],
    pairs: NDArray[np.int64],
    windows: NDArray[np.uint64],
    stairs: NDArray[np.uint64],
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
            counter, thread, rank = base + call_of(place), thread_of(place), rank_of(place)
            now, test, steps = batch[:size], windows[e, lane], stairs[e]
            if pairs[e, lane]:
                _weigh(now, ratio, True, rank, counter, thread, test, steps, gain[e], loss[e])
            else:
                _weigh(now, ratio, False, rank, counter, thread, test, steps, gain[e], loss[e])
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
    kept = _sift(
        seeds,
        order,
        np.uint64(base),
        places,
        sieve.pairs,
        sieve.windows,
        sieve.stairs,
        sieve.gain,
        sieve.loss,
    )
    return seeds[:kept]
