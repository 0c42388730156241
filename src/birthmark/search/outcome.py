"""What a search comes back with: its candidates, and exactly what was searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from birthmark.hypothesis import Hypothesis


@dataclass(frozen=True, slots=True)
class Rival:
    """The best layout that predicts the selection otherwise.

    Attributes:
        hypothesis: it.
        n: elements compared.
        r: their correlation.
    """

    hypothesis: Hypothesis
    n: int
    r: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A seed and hypothesis that predict the selection.

    Attributes:
        hypothesis: the one that predicts it best; its scale is the selection's estimate.
        seed: the seed of rank 0 as its generator saw it, 0 to 2^64 - 1.
        n: elements compared: the selection (of a large one 2^18 elements), or, where no known layout fits the
            rest, those that all layouts place alike.
        r: correlation of the stored and the predicted values.
        log10_p: log10 of the chance of such a correlation after all trials of the search.
        not_excluded: the G's that the selection leaves possible, ascending; empty where the layout is none
            of those that were compared.
        layout_known: whether `not_excluded` holds just one G.
        rival: the next-best layout that predicts otherwise; None where there is none.
    """

    hypothesis: Hypothesis
    seed: int
    n: int
    r: float
    log10_p: float
    not_excluded: tuple[int, ...]
    rival: Rival | None

    @property
    def layout_known(self) -> bool:
        """Whether the selection leaves one layout only."""
        return len(self.not_excluded) == 1


@dataclass(frozen=True, slots=True)
class StageReport:
    """One stage as far as it went.

    Attributes:
        name: dictionary, wide dictionary, layout-free, table or exhaustive.
        seeds: how many seeds it has.
        predictions: how many distinct predictions.
        threads: the G's that it covers, ascending.
        at_least: where it covers every G from some number up: that number.
        probes: distinct probe elements.
        miss_chance: the chance that it misses a true seed, the largest among its predictions.
        units: finished work units, and how many there are.
        complete: whether all are finished.
        trials: predictions that were evaluated or cut short: seeds times distinct predictions.
        hits: seeds that passed a probe's words.
    """

    name: str
    seeds: int
    predictions: int
    threads: tuple[int, ...]
    at_least: int | None
    probes: int
    miss_chance: float
    units: tuple[int, int]
    complete: bool
    trials: int
    hits: int


@dataclass(frozen=True, slots=True)
class Searched:
    """What was searched.

    Attributes:
        seeds: the range of the exhaustive stages: first, and one past the last.
        layouts: the G's that completed stages cover, ascending, for every sharding and over that range (or,
            where the range is empty, over the dictionary).
        at_least: where they cover every G from some number up, in the table or not: that number.
        at_least_miss: the chance that a true seed with such a G was missed; 1 where `at_least` is None.
        hypotheses: in words.
        candidates_tested: seeds that convinced the witnesses and were compared with the whole selection.
        complete: whether every planned stage is finished.
        trials: predictions evaluated or cut short, over all stages; at least 1.
        probes: the largest number of probes of a stage.
        miss_chance: the chance that a true seed with one of `layouts` was missed; 1 where there are none.
        stages: the stages in order.
        seconds: how long it took, earlier sittings not included.
    """

    seeds: tuple[int, int]
    layouts: tuple[int, ...]
    at_least: int | None
    at_least_miss: float
    hypotheses: tuple[str, ...]
    candidates_tested: int
    complete: bool
    trials: int
    probes: int
    miss_chance: float
    stages: tuple[StageReport, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a search.

    Attributes:
        candidates: those that stand out after all trials, best first.
        searched: what was searched.
        stopped: whether it was interrupted; its ledger lets it go on.
    """

    candidates: tuple[Candidate, ...]
    searched: Searched
    stopped: bool


def one_stage(
    name: str,
    hypothesis: str,
    layouts: Sequence[int],
    *,
    seeds: int,
    predictions: int,
    trials: int,
    kept: int,
    seconds: float,
) -> Searched:
    """The account of a search of one stage that tries single seeds rather than a range of them.

    Args:
        name: of the stage.
        hypothesis: what was tried, in words.
        layouts: the G's that were compared.
        seeds: how many were tried.
        predictions: of each.
        trials: of all.
        kept: seeds that passed the first look.
        seconds: that it took.
    """
    report = StageReport(
        name=name,
        seeds=seeds,
        predictions=predictions,
        threads=tuple(sorted(set(layouts))),
        at_least=None,
        probes=0,
        miss_chance=0.0,
        units=(1, 1),
        complete=True,
        trials=trials,
        hits=kept,
    )
    return Searched(
        seeds=(0, 0),
        layouts=(),
        at_least=None,
        at_least_miss=1.0,
        hypotheses=(hypothesis,),
        candidates_tested=kept,
        complete=True,
        trials=trials,
        probes=0,
        miss_chance=1.0,
        stages=(report,),
        seconds=seconds,
    )
