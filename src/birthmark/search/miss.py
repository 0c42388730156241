"""The chance that a true seed passes none of its probes.

A probe fails where its unit is no survivor, and, in a true survivor, where somebody altered the element.
Units are taken as independent, with the probabilities that the survey gave them; of the elements a share of
ALTERED is given up as lost, far more than most checkpoints lose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: Share of a survivor's elements that may have been altered.
ALTERED = 0.05
#: What a plan aims at, for a scan of all seeds and for the dictionary, which later stages repeat.
MOST, MOST_DICTIONARY = 1e-3, 1e-2
#: With no more than this a pass counts as done for the predictions that it serves.
COVERED = 0.02


def unit_fails(probability: float, probes: int) -> float:
    """The chance that all `probes` elements of one unit fail; 1 for no probe."""
    return 1.0 - probability * (1.0 - ALTERED**probes)


def chance_of_miss(units: Mapping[int, tuple[float, int]]) -> float:
    """The chance that every probe fails, from each unit's probability and number of probes; 1 for none."""
    return math.prod(unit_fails(probability, probes) for probability, probes in units.values())
