"""Which elements to probe, and how many of them: the cheapest set that hardly ever misses a true seed.

A seed passes when any of its probes passes. Every probe costs one scan of a Philox block for each place that
the predictions give it, so an element on which layouts agree costs little. Probes are chosen one at a time,
by how much each lowers the chance of a miss for what it costs, until that is small and three units speak.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.search.elements import Elements
from birthmark.search.miss import chance_of_miss, unit_fails

#: Units that a set of probes comes from, where there are so many, and the most probes of a set.
LEAST_UNITS, MOST_PROBES = 3, 12
#: What a hit costs, in scanned seeds, and what each prediction costs through which it must be followed.
HIT_COST, FOLLOWED_COST = 15.0, 60.0
#: A further probe must lower the chance of a miss by this factor at least: e^0.02.
LEAST_GAIN = 0.02


@dataclass(frozen=True, slots=True)
class Choice:
    """The probes chosen for one sharding.

    Attributes:
        fresh: columns of the candidates, in the order of choice, without those that were scanned before.
        miss: the chance that all of them, and those scanned before, fail.
    """

    fresh: tuple[int, ...]
    miss: float


def choose(
    candidates: Elements,
    share: NDArray[np.float64],
    packed: NDArray[np.uint64],
    allowed: NDArray[np.bool_],
    *,
    most_miss: float,
    chosen: Sequence[int] = (),
    paid: Mapping[int, set[int]] | None = None,
    undecided: bool = False,
    count: int | None = None,
) -> Choice:
    """Choose probes that serve every given prediction.

    Args:
        candidates: the elements to choose from.
        share: float64[n], the share of seeds that pass an element's test; above 1 where it has none.
        packed: uint64[predictions, n], the places of the elements under the predictions to be served.
        allowed: bool[n], which elements may be chosen.
        most_miss: the chance of a miss to aim at.
        chosen: elements whose probes serve these predictions already.
        paid: for each element the places that are scanned anyway.
        undecided: whether a hit must be followed through every prediction, for want of common witnesses.
        count: choose so many probes instead, the earlier ones included.
    """
    used: list[int] = list(chosen)
    costs = np.full(len(candidates), np.inf)
    through = len(packed) if undecided else 0
    for e in np.flatnonzero(allowed & (share <= 1.0)).tolist():
        places = set(packed[:, e].tolist()) - (paid or {}).get(e, set())
        costs[e] = len(places) * (1 + HIT_COST * share[e]) + FOLLOWED_COST * share[e] * through + 1e-3
    # Among equals the earliest: the first rows are in the first shard of every sharding.
    order = np.lexsort((candidates.indices, costs))
    order = order[np.isfinite(costs[order])]
    units = len(np.unique(candidates.unit[order])) if len(order) else 0
    while not _enough(candidates, used, most_miss, units, count):
        best = _next(candidates, used, costs, order)
        if best is None:
            break
        used.append(best)
    return Choice(tuple(used[len(chosen) :]), chance_of_miss(probed_units(candidates, used)))


def probed_units(candidates: Elements, elements: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Each unit's probability, and the chance that all its probes were altered."""
    found: dict[int, tuple[float, float]] = {}
    for e in elements:
        unit = int(candidates.unit[e])
        before = found.get(unit, (0.0, 1.0))[1]
        found[unit] = (float(candidates.probability[e]), before * float(candidates.fails[e]))
    return found


def _enough(
    candidates: Elements, used: list[int], most_miss: float, available: int, count: int | None
) -> bool:
    if count is not None:
        return len(used) >= count
    if len(used) >= MOST_PROBES:
        return True
    units = probed_units(candidates, used)
    return len(units) >= min(LEAST_UNITS, available) and chance_of_miss(units) <= most_miss


def _next(
    candidates: Elements, used: list[int], costs: NDArray[np.float64], order: NDArray[np.int64]
) -> int | None:
    """The element that lowers the chance of a miss most for its cost."""
    units = probed_units(candidates, used)
    taken = set(used)
    fresh_needed = len(units) < LEAST_UNITS
    best: tuple[bool, float, int] | None = None
    for e in order.tolist():
        if e in taken:
            continue
        unit, own = int(candidates.unit[e]), float(candidates.fails[e])
        probability, fails = units.get(unit, (float(candidates.probability[e]), 1.0))
        before, after = unit_fails(probability, fails), unit_fails(probability, fails * own)
        gain = math.log(before / after)
        # While units are missing a new one goes before any second probe of an old one.
        rated = (fresh_needed and unit not in units, gain / costs[e], e)
        if gain > LEAST_GAIN and (best is None or rated[:2] > best[:2]):
            best = rated
    return best[2] if best else None
