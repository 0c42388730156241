"""What values that NumPy or Python drew say about the words of an MT19937 stream.

NumPy's `RandomState`, the functions of `numpy.random`, and Python's `random` make a double in [0, 1) of two
words, 27 bits of the first and 26 of the second (numpy `numpy/random/src/mt19937/mt19937.h`; CPython
`Modules/_randommodule.c`). A uniform value thus has the two words at twice its number. Two neighbouring
normals of NumPy are made of four words by the polar method (see `samplers.numpy_polar`), and of four more
whenever a point lies outside the unit circle. So only the first pairs have known places, and those only if
nothing was rejected before them: a chance of pi/4 each. The first pair's own rejections are stream positions
to try, 4 words apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.dtypes import interval
from birthmark.search.cpu_positions.conditions import Conditions, of_fields, surest
from birthmark.search.cpu_positions.fields import NONE, Fields, joined, parts
from birthmark.search.solve.readings import Observation, observation

#: Pairs of normals that are looked at, and the chance that a point is not rejected.
PAIRS: Final = 3
ACCEPTED: Final = math.pi / 4.0
#: Bits of the two words that make a double, and where they lie within them.
HIGH_BITS, LOW_BITS = 27, 26
HIGH_SHIFT, LOW_SHIFT = 5, 6
#: How far the rounded arithmetic can be off, in units of 2^-53.
_MARGIN: Final = 16.0


def numpy_conditions_of(
    values: NDArray[np.floating],
    indices: NDArray[np.int64],
    shape: Sequence[int],
    distribution: Literal["normal", "uniform"],
    scale: tuple[float, float],
    *,
    library: Literal["numpy", "python"] = "numpy",
    dtype: str = "float32",
    unit: NDArray[np.int64] | None = None,
    trust: NDArray[np.float64] | None = None,
) -> Conditions:
    """Conditions from values of one call of NumPy's RandomState, or of Python's random.

    Args:
        values: float[n], as stored.
        indices: int64[n], their C-order flat indices in the tensor, unique.
        shape: the tensor's extents.
        distribution: "uniform" (symmetric around 0) or, of NumPy, "normal" (mean 0).
        scale: the least and the most that the bound or standard deviation can be; equal where it is known.
        library: "numpy", seeded by an integer, or "python", seeded by one of at most 32 bits.
        dtype: the stored dtype.
        unit: int64[n], the row or column of each value; each its own if left out.
        trust: float64[n], the probability that the unit still holds what was drawn; 1 if left out.

    Raises:
        NothingToSearch: the values say nothing.
        UsageError: normals of Python, which take words by chance, arrays of different lengths, bad indices, a
            scale that is no interval of positive numbers.
        UnknownName: an unknown dtype.
    """
    if library == "python" and distribution != "uniform":
        raise UsageError("normals of Python's random; expected uniforms, whose words have known places.")
    stored = np.asarray(values, np.float64)
    seen = observation(stored, indices, shape, distribution, scale, dtype, unit, trust)
    if distribution == "uniform":
        seen = surest(seen)
        return of_fields(seen, _uniforms(seen), library)
    seen, fields = _first_pairs(seen)
    return of_fields(seen, fields, library)


def first_positions(rejections: int = 5) -> tuple[int, ...]:
    """Stream positions of the first pair of normals of a fresh stream, after so many rejections at the most.

    Five leave a chance of 10^-4 that there were more.
    """
    return tuple(4 * number for number in range(rejections + 1))


def _uniforms(seen: Observation) -> Fields:
    lo, hi = interval(seen.values, seen.dtype)
    low = np.minimum(lo / seen.scale[0], lo / seen.scale[1])
    high = np.maximum(hi / seen.scale[0], hi / seen.scale[1])
    numbers = np.arange(len(seen.values))
    return _doubles(2 * seen.indices, low, high, numbers, np.full(len(numbers), NONE))


def _first_pairs(seen: Observation) -> tuple[Observation, Fields]:
    """The values, each of the first pairs a unit of its own, and what these say."""
    here = {int(index): number for number, index in enumerate(seen.indices)}
    found = [pair for pair in range(PAIRS) if 2 * pair in here and 2 * pair + 1 in here]
    pairs = np.array(found, np.int64)
    first = np.array([here[2 * pair] for pair in found], np.int64)
    second = np.array([here[2 * pair + 1] for pair in found], np.int64)
    # Numbers of units that no row has.
    unit, trust = seen.unit.copy(), seen.trust.copy()
    both = seen.trust[first] * np.where(unit[first] == unit[second], 1.0, seen.trust[second])
    for side in (first, second):
        unit[side] = int(seen.unit.max(initial=0)) + 1 + pairs
        trust[side] = both * ACCEPTED**pairs
    lo, hi = interval(seen.values, seen.dtype)
    bounds = np.stack([lo, hi])
    least = sum(
        np.where(bounds[0, side] * bounds[1, side] <= 0.0, 0.0, np.abs(bounds[:, side]).min(axis=0)) ** 2
        for side in (first, second)
    )
    most = sum(np.abs(bounds[:, side]).max(axis=0) ** 2 for side in (first, second))

    def coordinate(side: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where the point lies: the value times r / (its length), r^2 = exp(-length^2 / 2 std^2)."""
        corners = [
            value * np.sqrt(np.exp(-square / (2.0 * std**2)) / np.maximum(square, 1e-300))
            for value in bounds[:, side]
            for square in (least, most)
            for std in seen.scale
        ]
        return np.clip(np.min(corners, axis=0), -1.0, 1.0), np.clip(np.max(corners, axis=0), -1.0, 1.0)

    # The first of a pair that leaves is made of the second of its doubles.
    fields = [
        _doubles(4 * pairs + place, *coordinate(side), first, second)
        for place, side in ((2, first), (0, second))
    ]
    return replace(seen, unit=unit, trust=trust), joined(*fields)


def _doubles(
    position: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> Fields:
    """The words of doubles u with 2 u - 1 between bounds: the first, and where that is known the second."""
    unit = 2.0**53
    least = np.clip(np.floor((low + 1.0) * 0.5 * unit) - _MARGIN, 0.0, unit - 1.0).astype(np.int64)
    most = np.clip(np.ceil((high + 1.0) * 0.5 * unit) + _MARGIN, 0.0, unit - 1.0).astype(np.int64)
    above = least >> LOW_BITS, most >> LOW_BITS
    heads = parts(
        position, HIGH_SHIFT, HIGH_BITS, above[0].astype(np.uint32), above[1].astype(np.uint32), first, second
    )
    known = above[0] == above[1]
    below = [(end[known] & ((1 << LOW_BITS) - 1)).astype(np.uint32) for end in (least, most)]
    tails = parts(position[known] + 1, LOW_SHIFT, LOW_BITS, below[0], below[1], first[known], second[known])
    return joined(heads, tails)
