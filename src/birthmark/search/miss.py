"""The chance that a true seed passes none of its probes.

A probe fails where its unit is no survivor, and, in a true survivor, where somebody altered the element.
Units are taken as independent, with the probabilities that the survey gave them. A share of ALTERED of a
survivor's
elements counts as altered, by noise as wide as the values themselves: altered normals are then wider by the
square root of 2, and the larger a value, the likelier it is one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.survivor import Distribution

#: Share of a survivor's elements that may have been altered.
ALTERED = 0.03
#: What a plan aims at: for a scan of all seeds, and for the dictionary with the layouts of the table and with
#: all others.
MOST, MOST_DICTIONARY, MOST_WIDE = 1e-3, 1e-2, 5e-2
#: With no more than this a pass counts as done for the predictions that it serves.
COVERED = 0.02


def element_fails(
    distribution: Distribution, size: NDArray[np.float64], altered: float = ALTERED
) -> NDArray[np.float64]:
    """The chance that an element of a true survivor was altered, given its size in units of the scale.

    By Bayes: the densities of the normal distributions of variance 2 and 1 stand as exp(z^2 / 4) to the
    square root of 2. Small uniform values are no likelier to be altered than others.
    """
    if distribution == "uniform":
        return np.full(len(size), altered)
    odds = altered / (1 - altered) * np.exp(np.minimum(size, 12.0) ** 2 / 4) / math.sqrt(2)
    return odds / (1 + odds)


def unit_fails(probability: float, fails: float) -> float:
    """The chance that a unit's probes fail, given that of all its probes being altered; 1 for no probe."""
    return 1.0 - probability * (1.0 - fails)


def chance_of_miss(units: Mapping[int, tuple[float, float]]) -> float:
    """The chance that every probe fails, from each unit's probability and the chance that its probes do."""
    return math.prod(unit_fails(probability, fails) for probability, fails in units.values())
