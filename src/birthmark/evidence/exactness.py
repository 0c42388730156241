"""Bit for bit: how many stored values equal their prediction, how many nearly, and what rounding can explain.

A correlation alone proves no sampler: a truncated normal correlates with the plain one at 0.98 and more. So
each element is asked whether its residual is one that the arithmetic leaves behind, and each unit (row or
column) whether nearly all of its elements say yes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Distances in units in the last place that a reading counts.
COUNTED_ULPS = (1, 2, 3)
#: One unit in the last place: a scale known to within its interval moves a value no further.
ROUNDING_ULPS = 1
#: How far another sine or logarithm unit moves a standard value, as a share of sigma: numerics of the fast
#: sine stay within 2^-20.4 of a turn's sine (CUDA programming guide), AMD's within about 2^-21.
ARITHMETIC_TOLERANCE = 3e-6
#: How far a decay that was rounded to float32 after each of some thousand steps moves a value, relative to
#: it.
DECAY_TOLERANCE = 5e-6
#: A unit counts as predicted when this share of its elements is explained, beyond what chance explains.
PREDICTED_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Exactness:
    """How closely stored values equal predicted ones.

    Attributes:
        equal: elements whose stored bits equal the predicted ones.
        of: elements compared.
        within_ulp: for 1, 2 and 3: elements at most so many units in the last place away (equal ones
            included).
    """

    equal: int
    of: int
    within_ulp: dict[int, int]


def count(equal: NDArray[np.bool_], distance: NDArray[np.int64]) -> Exactness:
    """Count elements by their distance.

    Args:
        equal: whether an element's bits are the predicted ones.
        distance: units in the last place between stored and predicted value.
    """
    return Exactness(
        equal=int(np.count_nonzero(equal)),
        of=int(equal.size),
        within_ulp={k: int(np.count_nonzero(distance <= k)) for k in COUNTED_ULPS},
    )


def same_bits(stored: NDArray[np.floating], predicted: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Where the bits of two arrays, finite values of one dtype, are equal; the zeros of both signs differ."""
    equal: NDArray[np.bool_] = (stored == predicted) & (np.signbit(stored) == np.signbit(predicted))
    return equal


def explained(
    stored: NDArray[np.floating],
    predicted: NDArray[np.floating],
    distance: NDArray[np.int64],
    scale: float,
    *,
    decayed: bool = False,
) -> NDArray[np.bool_]:
    """Which residuals are no larger than rounding and the arithmetic's last bits can make them.

    Args:
        stored: values as the checkpoint holds them.
        predicted: predictions, rounded to the stored dtype.
        distance: units in the last place between the two.
        scale: standard deviation or bound of the stored values.
        decayed: whether a common factor was applied after the draw, perhaps in many rounded steps.
    """
    residual = np.abs(np.asarray(stored, np.float64) - predicted)
    allowed = ARITHMETIC_TOLERANCE * abs(scale) + (DECAY_TOLERANCE * np.abs(predicted) if decayed else 0.0)
    near: NDArray[np.bool_] = (distance <= ROUNDING_ULPS) | (residual <= allowed)
    return near


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """How each unit fares under a prediction.

    Attributes:
        ids: int64, ascending: the rows or columns that have elements here.
        elements: int64, how many elements each has.
        explained: int64, how many of them the prediction explains.
        chance: the share that a wrong seed explains.
    """

    ids: NDArray[np.int64]
    elements: NDArray[np.int64]
    explained: NDArray[np.int64]
    chance: float

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """Which units are predicted: all of their elements but a few."""
        needed = self.chance + PREDICTED_SHARE * (1.0 - self.chance)
        result: NDArray[np.bool_] = self.explained >= needed * self.elements
        return result

    @property
    def altered(self) -> NDArray[np.bool_]:
        """Which predicted units have elements that the prediction does not explain."""
        result: NDArray[np.bool_] = self.predicted & (self.explained < self.elements)
        return result

    @property
    def altered_elements(self) -> int:
        """How many elements of predicted units the prediction does not explain."""
        return int((self.elements - self.explained)[self.predicted].sum())


def tally(unit: NDArray[np.int64], near: NDArray[np.bool_], chance: float) -> Units:
    """Count explained elements unit by unit.

    Args:
        unit: int64[n], the unit of each element.
        near: bool[n], whether the element is explained.
        chance: the share that a wrong seed explains, 0 to 1.
    """
    ids, inverse, elements = np.unique(unit, return_inverse=True, return_counts=True)
    return Units(
        ids=ids.astype(np.int64),
        elements=elements.astype(np.int64),
        explained=np.bincount(inverse[near], minlength=ids.size).astype(np.int64),
        chance=chance,
    )
