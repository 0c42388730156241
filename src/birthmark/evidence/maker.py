"""Seeds across releases: whether one maker's models come from one base seed under one rule.

Frameworks' defaults, dates and the like, and what rules make of them, are chosen by many who have nothing to
do with each other: such a seed says next to nothing, in however many releases, and its chance is taken
accordingly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from birthmark.evidence.processes import Process, chance
from birthmark.evidence.significance import SIGNIFICANT, after_trials
from birthmark.recipes.seed_rules import RULES, SeedRule
from birthmark.recipes.seeds import describe, name_of

#: The chance that a maker by itself chose a seed with a known meaning.
KNOWN: Final = 0.05


@dataclass(frozen=True, slots=True)
class SameBase:
    """Releases whose seeds come from one base seed.

    Attributes:
        base: the seed on the command line; under a rule of several that fit, by the likeliest.
        rules: for each release that agrees, the rule that makes its seed of the base; the same for all where
            that is possible.
        others: releases that do not.
        trials: combinations of rules that were tried.
        log10_p: log10 of the probability that so many agree by chance.
    """

    base: int
    rules: Mapping[str, SeedRule]
    others: tuple[str, ...]
    trials: int
    log10_p: float

    @property
    def same_rule(self) -> bool:
        """Whether one rule serves all releases that agree."""
        return len({rule.name for rule in self.rules.values()}) == 1

    @property
    def significant(self) -> bool:
        """Whether chance is excluded."""
        return self.log10_p <= SIGNIFICANT


def same_base(releases: Mapping[str, Process]) -> SameBase | None:
    """The base seed that most releases share.

    Args:
        releases: for each release the process of rank 0 (of whatever kind of stream) that its first
            finding shows.

    Returns:
        The best agreement of two releases and more, one rule before several; None where there is none.
    """
    found = [*_with_one_rule(releases), *_with_several(releases)]
    return max(found, key=lambda one: (len(one.rules), one.same_rule, -one.log10_p), default=None)


def _with_one_rule(releases: Mapping[str, Process]) -> list[SameBase]:
    """Equal seeds: one rule and one base, whatever the rule is."""
    by_seed: dict[int, list[str]] = {}
    for name, process in releases.items():
        by_seed.setdefault(process.seed, []).append(name)
    found = []
    for seed, names in by_seed.items():
        if len(names) > 1:
            rule, base = next((rule, base) for rule in _likely(seed) if (base := rule.base(seed)) is not None)
            found.append(_agreement(releases, base, dict.fromkeys(names, rule), 1))
    return found


def _chance(process: Process) -> float:
    return max(chance(process), math.log10(KNOWN) if describe(process.seed) else -math.inf)


def _likely(seed: int) -> tuple[SeedRule, ...]:
    """Rules, those first that lead to a base seed that is known as such."""
    return tuple(sorted(RULES, key=lambda rule: name_of(rule.base(seed) or -1) is None))


def _with_several(releases: Mapping[str, Process]) -> list[SameBase]:
    """One base under a rule of each release's own."""
    bases: dict[int, dict[str, SeedRule]] = {}
    for name, process in releases.items():
        for rule in RULES:
            base = rule.base(process.seed)
            if base is not None and 0 < base < 1 << 63:
                bases.setdefault(base, {}).setdefault(name, rule)
    trials = len(RULES) ** 2
    return [_agreement(releases, base, rules, trials) for base, rules in bases.items() if len(rules) > 1]


def _agreement(
    releases: Mapping[str, Process], base: int, rules: dict[str, SeedRule], trials: int
) -> SameBase:
    # The first seed gives the base; of the others each must have hit it. The one that says most is given.
    telling = sorted(_chance(releases[name]) for name in rules)[1:]
    # Who leaves a default leaves it every time: that is one choice, however many releases show it.
    if any(describe(releases[name].seed) for name in rules):
        telling = telling[:1]
    others = tuple(name for name in releases if name not in rules)
    tried = trials ** (len(rules) - 1)
    return SameBase(base, rules, others, tried, after_trials(sum(telling), tried))
