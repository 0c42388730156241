"""From finished work units to what a search may claim to have searched."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from birthmark.recipes.sharding import Sharding
from birthmark.search.coverage import Identity, identity
from birthmark.search.families import Family
from birthmark.search.outcome import Searched, StageReport
from birthmark.search.plan import Plan
from birthmark.search.runner import Done
from birthmark.search.stage import ENDLESS, Stage
from birthmark.survivors.split import Selection

#: Stages that go through the whole range of seeds.
RANGE_STAGES = ("layout-free", "table", "exhaustive")


@dataclass(slots=True)
class StageTally:
    """A stage's finished units, counted.

    Attributes:
        stage: the stage.
        began: when this sitting began with it, by the monotonic clock.
        units: finished units.
        work: seeds times blocks of the finished units.
        hits: seeds that passed a probe's words.
        seeds: for each pass, how many seeds its finished units hold.
    """

    stage: Stage
    began: float = field(default_factory=time.monotonic)
    units: int = 0
    work: int = 0
    fresh_work: int = 0
    hits: int = 0
    seeds: dict[int, int] = field(default_factory=dict)

    def add(self, done: Done, *, fresh: bool = True) -> None:
        """Count one finished unit; `fresh` if it was done in this sitting."""
        unit = done.unit
        size = unit.stop - unit.start
        work = size * len(self.stage.passes[unit.number].blocks)
        self.units += 1
        self.work += work
        self.fresh_work += work if fresh else 0
        self.hits += done.hits
        self.seeds[unit.number] = self.seeds.get(unit.number, 0) + size

    @property
    def share(self) -> float:
        """The finished share of the work."""
        return self.work / self.stage.work if self.stage.work else 1.0

    @property
    def current(self) -> int:
        """The first pass that is not finished, or the last one."""
        for number in range(len(self.stage.passes)):
            if self.seeds.get(number, 0) < self.stage.seeds.size:
                return number
        return max(len(self.stage.passes) - 1, 0)

    @property
    def complete(self) -> bool:
        """Whether every pass went through every seed."""
        return all(
            self.seeds.get(number, 0) == self.stage.seeds.size for number in range(len(self.stage.passes))
        )

    @property
    def size(self) -> int:
        """Trials of the whole stage: seeds times distinct predictions times the cut-offs they stand for."""
        return self.stage.seeds.size * self._each_seed

    @property
    def trials(self) -> int:
        """Trials so far: the seeds of the pass that went farthest, times the stage's distinct predictions."""
        return max(self.seeds.values(), default=0) * self._each_seed

    @property
    def _each_seed(self) -> int:
        return len(self.stage.predictions) * len(self.stage.plan.family.sigmas)

    def report(self) -> StageReport:
        """The stage as far as it went."""
        stage = self.stage
        return StageReport(
            name=stage.title,
            seeds=stage.seeds.size,
            predictions=len(stage.predictions),
            threads=stage.threads,
            at_least=stage.at_least,
            probes=stage.probes,
            miss_chance=max(stage.miss, default=1.0),
            units=(self.units, sum(-(-stage.seeds.size // each.unit) for each in stage.passes)),
            complete=self.complete,
            trials=self.trials,
            hits=self.hits,
        )


def searched(
    plan: Plan, tallies: Sequence[StageTally], tested: int, finished: bool, seconds: float
) -> Searched:
    """Sum up a search.

    Seeds, layouts and the chance of a miss are those of its plan; the hypotheses say what was done for the
    families that may hide behind it.

    Args:
        plan: its plan, for what the values were taken for.
        tallies: its stages as far as they went.
        tested: how many seeds were compared with the whole selection.
        finished: whether it came to its planned end.
        seconds: how long it took.
    """
    reports = tuple(tally.report() for tally in tallies)
    own = [tally for tally in tallies if tally.stage.plan is plan]
    missed = _missed(plan, own)
    layouts, beyond = _covered(plan, missed)
    floors = [tally.stage.at_least for tally in own if tally.complete and tally.stage.at_least is not None]
    return Searched(
        seeds=plan.options.seeds,
        layouts=tuple(sorted(layouts)),
        at_least=max(floors) if floors and beyond < 1.0 else None,
        at_least_miss=beyond if floors else 1.0,
        hypotheses=hypotheses(plan, tallies),
        candidates_tested=tested,
        complete=finished and all(each.complete for each in reports),
        trials=max(1, sum(each.trials for each in reports)),
        probes=max((each.probes for each in reports), default=0),
        miss_chance=max(layouts.values(), default=1.0),
        stages=reports,
        seconds=seconds,
    )


def _missed(plan: Plan, tallies: Sequence[StageTally]) -> dict[Identity, float]:
    """For each prediction that a complete stage served over the range: the chance of a miss."""
    whole = (
        ("dictionary", "wide dictionary") if plan.options.seeds[0] == plan.options.seeds[1] else RANGE_STAGES
    )
    missed: dict[Identity, float] = {}
    for tally in tallies:
        if not tally.complete or tally.stage.name not in whole:
            continue
        for prediction, miss in zip(tally.stage.predictions, tally.stage.miss, strict=True):
            for threads in prediction.threads:
                name = (*identity(prediction)[:2], threads)
                missed[name] = min(miss, missed.get(name, 1.0))
    return missed


def _covered(plan: Plan, missed: dict[Identity, float]) -> tuple[dict[int, float], float]:
    """The G's served under every sharding, each with the chance of a miss; and that chance beyond all G's."""
    cuts = {identity(prediction)[:2] for prediction in plan.table}
    layouts: dict[int, float] = {}
    for threads in {name[2] for name in missed}:
        # A sharding under which no prediction of this G differs from an earlier one has none of its own.
        needed = [cut for cut in cuts if (*cut, threads) in missed or _has(plan, cut, threads)]
        layouts[threads] = max((missed.get((*cut, threads), 1.0) for cut in needed), default=1.0)
    beyond = layouts.pop(ENDLESS, 1.0)
    return {threads: miss for threads, miss in layouts.items() if miss < 1.0}, beyond


def _has(plan: Plan, cut: tuple[int, str], threads: int) -> bool:
    if threads == ENDLESS:
        return True
    return any(identity(prediction)[:2] == cut and threads in prediction.threads for prediction in plan.table)


def hypotheses(plan: Plan, tallies: Sequence[StageTally]) -> tuple[str, ...]:
    """What was tried, in words: a sentence for each sharding, and one for each hidden family tried."""
    offset = f"offset {plan.options.offset}"
    found = [hypothesis_text(plan.selection, cut, offset) for cut in plan.cuts]
    for family in dict.fromkeys(tally.stage.plan.family for tally in tallies):
        if family == plan.family:
            continue
        done = {tally.stage.name for tally in tallies if tally.stage.plan.family == family and tally.complete}
        seeds = "the dictionary's seeds only" if "dictionary" in done else "in part"
        if done.intersection(RANGE_STAGES):
            seeds = "every seed"
        found.append(f"{hidden_text(family, offset)}, the same shardings: {seeds}")
    return tuple(found)


def hypothesis_text(selection: Selection, cut: Sharding, offset: str) -> str:
    """One hypothesis in words."""
    shards = "whole tensor" if cut.ways == 1 else f"{cut.ways} vocabulary shards, seed plus rank"
    return (
        f"one {selection.distribution} draw (PyTorch on CUDA or ROCm, Philox) at {offset}, {shards}, "
        "scale estimated"
    )


def hidden_text(family: Family, offset: str) -> str:
    """A family that may hide behind what the values were taken for, in words."""
    if family.scale is not None:
        return (
            f"one normal draw (PyTorch on CUDA or ROCm, Philox) at {offset} of scale "
            f"{family.scale:.4g}, many of its elements altered"
        )
    near = " or ".join(f"{sigmas:g}" for sigmas in family.sigmas if not math.isinf(sigmas))
    far = ", or by far bounds" if math.inf in family.sigmas else ""
    return f"one {family.name} draw (PyTorch {family.versions}) at {offset}, cut off at {near} sigma{far}"
