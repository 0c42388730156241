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
def score_staged(
    seeds: NDArray[np.uint64],
    first: NDArray[np.uint64],
    second: NDArray[np.uint64],
    third: NDArray[np.uint64],
    fourth: NDArray[np.uint64],
    later: NDArray[np.uint64],
    turn: NDArray[np.uint64],
    values: NDArray[np.int32],
    ends: NDArray[np.int64],
    limits: NDArray[np.int64],
    sums: NDArray[np.int64],
    reached: NDArray[np.int64],
) -> None:
    """Score seeds stage by stage, each only as far as it keeps above a limit.

    Args:
        seeds: 64-bit seeds.
        first: of `Places`.
        second: likewise.
        third: likewise.
        fourth: likewise.
        later: likewise.
        turn: likewise.
        values: the stored values, in steps.
        ends: where each stage ends.
        limits: what the sum must exceed after each stage.
        sums: filled with each seed's sum as far as it went.
        reached: filled with the number of stages that a seed passed.
    """
    widest_vectors()
    for s in range(seeds.size):
        key_0, key_1 = seeds[s] & _LOW, seeds[s] >> _HALF
        total, begin, passed = np.int64(0), np.int64(0), 0
        for stage in range(ends.size):
            # Slices, because an index that might be negative keeps the loop from the vector units.
            a, b = first[begin : ends[stage]], second[begin : ends[stage]]
            c, d = third[begin : ends[stage]], fourth[begin : ends[stage]]
            mask, quarter = later[begin : ends[stage]], turn[begin : ends[stage]]
            stored = values[begin : ends[stage]]
            for i in range(a.size):
                x0, x1, x2, x3 = a[i] ^ key_0, b[i], c[i] ^ key_1, d[i]
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
                radial = (x0 ^ ((x0 ^ x2) & mask[i])) & _LOW
                angular = ((x1 ^ ((x1 ^ x3) & mask[i])) + quarter[i]) & _LOW
                total += np.int64(stand_in(radial, angular) * stored[i])
            if total <= limits[stage]:
                break
            begin = ends[stage]
            passed += 1
        sums[s] = total
        reached[s] = passed
