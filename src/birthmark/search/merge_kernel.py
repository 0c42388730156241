"""Scores of very many seeds on elements anywhere in a draw, by cheap stand-ins for the normals.

The counterpart of `surrogate` for survivors, which lie where they lie: an element may be of any call, thread
and lane. The first round of the generator owes nothing to the seed and is done once. Sums are integers: the
same on every machine, in whatever order a processor takes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import KEY_STEP_0, KEY_STEP_1, MULTIPLIER_0, MULTIPLIER_1
from birthmark.hypothesis import Location
from birthmark.numerics.compiled import kernel
from birthmark.search.surrogate import NORMAL_STEPS as NORMAL_STEPS
from birthmark.search.surrogate import VALUE_STEPS as VALUE_STEPS
from birthmark.search.surrogate import stand_in
from birthmark.search.vectors import widest_vectors

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_STEP_0, _STEP_1 = np.uint64(KEY_STEP_0), np.uint64(KEY_STEP_1)
#: A quarter of a turn: the cosine of an angle is the sine of one that is so much larger.
_QUARTER = np.uint64(1 << 30)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where elements come from, as the kernel takes them: uint64, one entry an element.

    Attributes:
        first, second, third, fourth: the four numbers after the first round, but for the key.
        later: all ones for the second pair of a call's words, else 0.
        turn: what is added to the angle's word: a quarter turn for a cosine, else 0.
    """

    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    third: NDArray[np.uint64]
    fourth: NDArray[np.uint64]
    later: NDArray[np.uint64]
    turn: NDArray[np.uint64]


def places_of(place: Location) -> Places:
    """The first round of each element's block; threads lie below 2^32."""
    one = (place.counter & _LOW) * MULTIPLIER_0
    other = (place.thread & _LOW) * MULTIPLIER_1
    lane = place.lane.astype(np.uint64)
    return Places(
        (other >> _HALF) ^ (place.counter >> _HALF),
        other & _LOW,
        (one >> _HALF) ^ (place.thread >> _HALF),
        one & _LOW,
        np.where(lane >= 2, _LOW, np.uint64(0)),
        (lane & np.uint64(1)) * _QUARTER,
    )


@kernel()
def score_seeds(
    seeds: NDArray[np.uint64],
    first: NDArray[np.uint64],
    second: NDArray[np.uint64],
    third: NDArray[np.uint64],
    fourth: NDArray[np.uint64],
    later: NDArray[np.uint64],
    turn: NDArray[np.uint64],
    values: NDArray[np.int32],
    sums: NDArray[np.int64],
) -> None:
    """Add each seed's products of stored values and stand-ins to its sum.

    Args:
        seeds: 64-bit seeds.
        first: of `Places`.
        second: likewise.
        third: likewise.
        fourth: likewise.
        later: likewise.
        turn: likewise.
        values: the stored values, in steps.
        sums: one a seed.
    """
    widest_vectors()
    for s in range(seeds.size):
        key_0, key_1 = seeds[s] & _LOW, seeds[s] >> _HALF
        total = np.int64(0)
        for i in range(first.size):
            x0, x1, x2, x3 = first[i] ^ key_0, second[i], third[i] ^ key_1, fourth[i]
            k0, k1 = key_0, key_1
            for _ in range(9):
                k0 = k0 + _STEP_0
                k1 = k1 + _STEP_1
                product_0 = MULTIPLIER_0 * (x0 & _LOW)
                product_1 = MULTIPLIER_1 * (x2 & _LOW)
                x0 = (product_1 >> _HALF) ^ x1 ^ k0
                x1 = product_1
                x2 = (product_0 >> _HALF) ^ x3 ^ k1
                x3 = product_0
            radial = (x0 ^ ((x0 ^ x2) & later[i])) & _LOW
            angular = ((x1 ^ ((x1 ^ x3) & later[i])) + turn[i]) & _LOW
            total += np.int64(stand_in(radial, angular) * values[i])
        sums[s] += total
