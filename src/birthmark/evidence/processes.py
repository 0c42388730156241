"""Several processes, each with a seed of its own: do their seeds follow one rule, and do they share a layout?

Every scheme in which frameworks make seeds of ranks is fitted, and the best one is tested as one hypothesis:
how likely is it that so many seeds fall where it says, if each had been chosen by itself? Processes of one
rank count once. The chance of a single seed is not taken to be as small as one in all seeds that were
searched where people are likelier to choose it, as they are to choose small numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from birthmark.errors import UsageError
from birthmark.evidence.process_schemes import Process as Process
from birthmark.evidence.process_schemes import Scheme, schemes
from birthmark.evidence.significance import SIGNIFICANT, after_trials
from birthmark.recipes.seed_rules import SeedRule
from birthmark.recipes.seeds import name_of
from birthmark.recipes.sharding import SEED_SPACE

#: People's own seeds: any below this number alike; above, each power of e up to e^12 (some 160,000) alike.
SMALL, SPREAD = 100, 12
#: Of so many processes at least, one in so many may deviate from a rule.
LEAST_WITH_DEVIATION, DEVIATING_SHARE = 4, 4


@dataclass(frozen=True, slots=True)
class Fit:
    """A rule's fit to the seeds of several processes.

    Attributes:
        scheme: how seeds follow from ranks.
        first: the seed of rank 0.
        fitted: processes whose seeds are as it says.
        deviating: those whose seeds are not.
        ranks: separately seeded ranks among the fitted.
        trials: schemes that were tried.
        log10_p: log10 of the probability that any of them fits so well by chance.
    """

    scheme: Scheme
    first: int
    fitted: tuple[Process, ...]
    deviating: tuple[Process, ...]
    ranks: int
    trials: int
    log10_p: float

    @property
    def significant(self) -> bool:
        """Whether chance is excluded."""
        return self.log10_p <= SIGNIFICANT

    @property
    def readings(self) -> tuple[tuple[SeedRule, int], ...]:
        """The rules that have this step, each with its base seed; those with a known base seed first.

        Rules that need more to be known than the seeds tell (a factor) are left out where they do not fit.
        """
        found = []
        for rule in self.scheme.rules:
            base = rule.base(self.first)
            if base is not None and 0 <= base < SEED_SPACE >> 1:
                found.append((rule, base))
        return tuple(sorted(found, key=lambda one: name_of(one[1]) is None))


def chance(process: Process) -> float:
    """log10 of the chance that a process chosen by itself has its seed; see the module's text.

    The seed is taken to be uniform among those that were searched, or chosen by somebody who likes small
    numbers, whichever makes it likelier: of 100 the one, below that, and as 1 / x above. One that a rule
    predicted has the chance of its score instead.
    """
    if process.searched <= 1:
        return min(0.0, process.log10_p)
    liked = 1.0 / (SMALL if process.seed < SMALL else SPREAD * (process.seed + 1))
    return math.log10(max(1.0 / process.searched, liked))


def fit_rule(processes: Sequence[Process]) -> Fit | None:
    """The rule that explains the seeds best.

    Args:
        processes: of one kind, at least two, each index (and part) once.

    Returns:
        The scheme with the least probability under chance, or None where none fits enough of the processes:
        all, or of four and more all but a quarter.

    Raises:
        UsageError: processes of several kinds, or one twice.
    """
    if len(processes) < 2:
        return None
    if len({(one.kind, one.of) for one in processes}) > 1:
        raise UsageError("processes of several kinds or counts: fit one kind at a time.")
    if len({(one.index, one.part) for one in processes}) < len(processes):
        raise UsageError("a process is given twice: give each shard, expert or layer once.")
    ordered = sorted(processes, key=lambda one: (one.index, one.part))
    tried = schemes(ordered)
    fits = [fit for scheme in tried if (fit := _fit(ordered, scheme, len(tried))) is not None]
    return min(fits, key=lambda fit: (fit.log10_p, fit.scheme.free), default=None)


def _fit(ordered: Sequence[Process], scheme: Scheme, trials: int) -> Fit | None:
    pairs = list(zip(ordered, scheme.steps, strict=True))
    bases = Counter((one.seed - step) % SEED_SPACE for one, step in pairs)
    first = bases.most_common(1)[0][0]
    fitted = [(one, step) for one, step in pairs if (one.seed - step) % SEED_SPACE == first]
    deviating = tuple(one for one, step in pairs if (one.seed - step) % SEED_SPACE != first)
    allowed = len(ordered) // DEVIATING_SHARE if len(ordered) >= LEAST_WITH_DEVIATION else 0
    if len(deviating) > allowed:
        return None
    searched: dict[int, float] = {}
    tested: dict[int, float] = {}
    for one, step in fitted:
        kind = searched if one.searched > 1 else tested
        kind[step] = max(kind.get(step, -math.inf), chance(one))
    for step in searched.keys() & tested.keys():  # one rank is one seed, found or tested
        del searched[step]
    # The base is fitted: the found seeds that say most are given for it, and tested ones where none is left.
    telling = [*sorted(searched.values()), *sorted(tested.values())][scheme.free :]
    choices = math.log10(math.comb(len(ordered), len(deviating)))
    local = min(0.0, sum(telling) + choices) if telling else 0.0
    return Fit(
        scheme,
        first,
        tuple(one for one, _ in fitted),
        deviating,
        len(searched | tested),
        trials,
        after_trials(local, trials),
    )


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Separately seeded processes with one layout.

    Attributes:
        threads: the G that all of them have.
        processes: at least so many separately seeded ones have it: their distinct seeds.
        others: seeds whose values do not separate their layout, or have another.
    """

    threads: int
    processes: int
    others: int


def shared_layout(processes: Sequence[Process]) -> SharedLayout | None:
    """At least how many separately seeded processes share the commonest layout; None below two."""
    seeds = {(one.seed, one.threads) for one in processes}
    counts = Counter(threads for _, threads in seeds if threads is not None)
    if not counts:
        return None
    threads, count = counts.most_common(1)[0]
    if count < 2:
        return None
    return SharedLayout(threads, count, len({seed for seed, _ in seeds}) - count)


@dataclass(frozen=True, slots=True)
class SharedBase:
    """One base seed behind two kinds of stream of one framework.

    Attributes:
        base: the seed on the command line.
        framework: whose rules.
        stages: what the pipeline stages of both kinds are taken to be apart.
        trials: combinations that were tried.
        log10_p: log10 of the probability that any of them agrees by chance.
    """

    base: int
    framework: str
    stages: int
    trials: int
    log10_p: float


#: Stages apart that two kinds of stream are tried with: an output layer or experts lie on later ones.
STAGES_APART: Final = 32


def shared_base(one: Fit, other: Fit) -> SharedBase | None:
    """Whether two fits (the shards' and the experts', say) come from one base seed under one framework.

    The chance is that of the other fit's own first seed; stages and pairs of rules are counted as trials.
    """
    pairs = [(a, b) for a in one.scheme.rules for b in other.scheme.rules if a.framework == b.framework]
    trials = max(1, len(pairs) * (2 * STAGES_APART - 1))
    least = max(chance(process) for process in other.fitted)
    for rule, second in pairs:
        base = rule.base(one.first)
        if base is None:
            continue
        step = next((each.size for each in rule.steps if each.axis == "pp"), 0)
        for apart in sorted(range(-STAGES_APART + 1, STAGES_APART), key=abs) if step else (0,):
            if second.base(other.first) == (base + step * apart) % SEED_SPACE:
                lower = base if apart >= 0 else second.base(other.first)
                return SharedBase(lower or 0, rule.framework, abs(apart), trials, after_trials(least, trials))
    return None
