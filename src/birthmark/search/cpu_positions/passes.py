"""Which conditions a search tests, and how sure they are: one pass through the seeds after the other.

A pass first asks for conditions that must all hold. They rest on as few values as possible, of one unit where
that can be, so that a seed is lost only if those were touched. Then it counts how many of many more
conditions hold, and a few that fail do no harm. Further passes rest on other values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import NothingToSearch
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.fields import NONE
from birthmark.search.cpu_positions.kernel import FIRST, STEP
from birthmark.search.miss import chance_of_miss, element_fails

#: Conditions that must all hold, and the most of those that are counted.
STRICT: Final = FIRST + STEP
MOST_LOOSE: Final = 96
#: A wrong seed should pass the count with a chance of 2^-TIGHT; of 2^-SLACK, if a touched unit asks for it.
TIGHT, SLACK = 20, 8
#: Passes are added until the chance of a miss is this small, or there are so many, or the next one would not
#: make it smaller by this factor: where all values are of one unit it cannot.
ENOUGH: Final = 0.02
MOST_PASSES: Final = 4
WORTH: Final = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """The conditions of one pass, by their numbers.

    Attributes:
        strict: int64[12], those that must all hold; the first four are tested first.
        loose: int64[n], those that are counted.
        least: how many of these must hold.
        values: how many values the strict ones rest on.
    """

    strict: NDArray[np.int64]
    loose: NDArray[np.int64]
    least: int
    values: int


@dataclass(frozen=True, slots=True)
class Passes:
    """All passes, in order.

    Attributes:
        passes: them.
        miss: the chance that a true seed is lost in the first pass, in the first two, and so on.
    """

    passes: tuple[Pass, ...]
    miss: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Sources:
    """Values, or pairs of them, that conditions rest on.

    Attributes:
        members: for each, the numbers of its conditions.
        group: int64[n], the same number for sources of the same units.
        trust: float64[n], the probability that their units are right.
        fails: float64[n], the chance that a value was altered although its unit is right.
        values: int64[n], one or two.
    """

    members: tuple[NDArray[np.int64], ...]
    group: NDArray[np.int64]
    trust: NDArray[np.float64]
    fails: NDArray[np.float64]
    values: NDArray[np.int64]

    def best(self, among: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """As few of these as give enough strict conditions, the unlikeliest to fail; None if none do."""
        bits = np.array([min(len(self.members[i]), STRICT) for i in among], np.int64)
        order = among[np.lexsort((self.fails[among], -bits))]
        total = np.cumsum([len(self.members[i]) for i in order])
        if len(total) == 0 or total[-1] < STRICT:
            return None
        return order[: int(np.searchsorted(total, STRICT)) + 1]


def plan_passes(conditions: Conditions, most: int | None = None) -> Passes:
    """Choose the passes of a search.

    Args:
        conditions: what the values say.
        most: how many passes at most, 1 or more; None for as many as a small chance of a miss takes.

    Raises:
        NothingToSearch: fewer conditions than a first test takes.
    """
    if len(conditions) < STRICT:
        raise NothingToSearch(f"{len(conditions)} known bits of words; a search takes {STRICT} at the least.")
    sources = _sources(conditions)
    free = np.ones(len(sources.members), np.bool_)
    units: dict[int, tuple[float, float]] = {}
    passes: list[Pass] = []
    misses: list[float] = []
    while len(passes) < (most or MOST_PASSES):
        if most is None and misses and misses[-1] <= ENOUGH:
            break
        found = _cheapest(sources, free, units)
        if found is None:
            break
        chosen, key, trust, fails = found
        free[chosen] = False
        units[key] = trust, fails * units.get(key, (trust, 1.0))[1]
        made, lost = _made(conditions, sources, chosen)
        units[key] = units[key][0], min(1.0, units[key][1] + lost)
        miss = chance_of_miss(units)
        if most is None and misses and miss > WORTH * misses[-1]:
            break
        passes.append(made)
        misses.append(miss)
    return Passes(tuple(passes), tuple(misses))


def _sources(conditions: Conditions) -> _Sources:
    both = np.stack([conditions.first, conditions.second], axis=1)
    pairs, member = np.unique(both, axis=0, return_inverse=True)
    member = member.reshape(-1)
    seen = conditions.seen
    size = np.abs(seen.values) / (0.5 * (seen.scale[0] + seen.scale[1]))
    holds = 1.0 - element_fails(seen.distribution, size)
    first, second = pairs[:, 0], np.where(pairs[:, 1] == NONE, pairs[:, 0], pairs[:, 1])
    alone = pairs[:, 1] == NONE
    units = np.sort(np.stack([seen.unit[first], seen.unit[second]], axis=1), axis=1)
    _, group = np.unique(units, axis=0, return_inverse=True)
    apart = units[:, 0] != units[:, 1]
    return _Sources(
        tuple(np.flatnonzero(member == i) for i in range(len(pairs))),
        group.reshape(-1),
        seen.trust[first] * np.where(apart, seen.trust[second], 1.0),
        1.0 - holds[first] * np.where(alone, 1.0, holds[second]),
        np.where(alone, 1, 2),
    )


def _cheapest(
    sources: _Sources, free: NDArray[np.bool_], units: dict[int, tuple[float, float]]
) -> tuple[NDArray[np.int64], int, float, float] | None:
    """(sources of the next pass, their group, its trust, the chance that they fail in it); None if none."""
    options = []
    for group in np.unique(sources.group[free]).tolist():
        chosen = sources.best(np.flatnonzero(free & (sources.group == group)))
        if chosen is not None:
            trust, fails = float(sources.trust[chosen[0]]), _any_fails(sources, chosen)
            after = dict(units)
            after[group] = trust, fails * units.get(group, (trust, 1.0))[1]
            options.append((chance_of_miss(after), group, chosen, trust, fails))
    if options:
        _, group, chosen, trust, fails = min(options, key=lambda one: one[:2])
        return chosen, group, trust, fails
    # No unit has enough by itself: several have to be right together.
    chosen = sources.best(np.flatnonzero(free))
    if chosen is None:
        return None
    groups, one = np.unique(sources.group[chosen], return_index=True)
    trust = math.prod(float(each) for each in sources.trust[chosen[one]])
    return chosen, -1 - int(groups[0]) - len(units), trust, _any_fails(sources, chosen)


def _any_fails(sources: _Sources, chosen: NDArray[np.int64]) -> float:
    return 1.0 - math.prod(1.0 - float(each) for each in sources.fails[chosen])


def _made(conditions: Conditions, sources: _Sources, chosen: NDArray[np.int64]) -> tuple[Pass, float]:
    """The pass that rests on these sources, and the chance that the count loses a true seed."""
    own = np.concatenate([sources.members[i] for i in chosen])
    strict, rest = own[:STRICT], own[STRICT:]
    others = np.setdiff1d(np.arange(len(sources.members)), chosen)
    near = np.isin(sources.group[others], sources.group[chosen])
    others = others[np.lexsort((-sources.trust[others], ~near))]
    loose = rest
    for i in others:
        if len(loose) >= MOST_LOOSE:
            break
        loose = np.concatenate([loose, sources.members[i]])
    loose = loose[:MOST_LOOSE]
    least, lost = _least(conditions, sources, loose, chosen)
    return Pass(strict, loose, least, int(sources.values[chosen].sum())), lost


def _least(
    conditions: Conditions, sources: _Sources, loose: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[int, float]:
    """How many counted conditions must hold, and the chance that those of a true seed do not."""
    count = len(loose)
    if count == 0:
        return 0, 0.0
    trust = conditions.trust[loose]
    mine = conditions.seen.unit[np.concatenate([conditions.first[sources.members[i]] for i in chosen])]
    trust = np.where(np.isin(conditions.seen.unit[conditions.first[loose]], mine), 1.0, trust)
    # A unit that was touched satisfies half of its conditions; units are right or wrong as a whole.
    holds = 0.97 * trust
    mean = float(np.sum(0.5 + 0.5 * holds))
    units, number = np.unique(conditions.seen.unit[conditions.first[loose]], return_inverse=True)
    share = np.bincount(number, minlength=len(units))
    doubt = np.bincount(number, weights=1.0 - trust, minlength=len(units)) / share
    variance = float(np.sum((0.5 * share) ** 2 * doubt * (1.0 - doubt)) + np.sum(0.25 * (1.0 - holds**2)))
    tight, slack = _quantile(count, TIGHT), _quantile(count, SLACK)
    least = min(tight, max(slack, math.floor(mean - 4.0 * math.sqrt(variance))))
    if variance == 0.0:
        return least, 0.0
    lost = 0.5 * math.erfc((mean + 0.5 - least) / math.sqrt(2.0 * variance))
    return least, lost


def _quantile(count: int, bits: int) -> int:
    """The least k that k of `count` fair coins reach with a chance of at most 2^-bits; `count` if none."""
    tail, limit = 0, 2 ** max(count - bits, 0)
    for k in range(count, -1, -1):
        tail += math.comb(count, k)
        if tail > limit:
            return min(k + 1, count)
    return 0
