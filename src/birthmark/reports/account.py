"""A search's account of itself: from what it says to the schema's keys, several searches together."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.reports.reading import SearchedModel
from birthmark.search.outcome import Searched, StageReport

NOTHING_SEARCHED = SearchedModel(seeds=None, layouts=[], hypotheses=[], candidates_tested=0, complete=False)


def account(searches: Sequence[tuple[str, Searched]]) -> SearchedModel:
    """What all searches of a scan have searched together.

    Args:
        searches: each with the name of its tensor. A layout counts as covered where every search covered it;
            the range of seeds is the one they share; the chance of a miss is the largest.
    """
    if not searches:
        return NOTHING_SEARCHED
    each = [searched for _, searched in searches]
    low, high = max(one.seeds[0] for one in each), min(one.seeds[1] for one in each)
    layouts = set(each[0].layouts).intersection(*(one.layouts for one in each))
    floors = [one.at_least for one in each if one.at_least is not None]
    everywhere = len(floors) == len(each)
    stages = [
        stage_text(stage) if len(searches) == 1 else f"{tensor}: {stage_text(stage)}"
        for tensor, one in searches
        for stage in one.stages
    ]
    return SearchedModel(
        seeds=(low, high - 1) if low < high else None,
        layouts=sorted(layouts),
        hypotheses=list(dict.fromkeys(text for one in each for text in one.hypotheses)),
        candidates_tested=sum(one.candidates_tested for one in each),
        complete=all(one.complete for one in each),
        trials=sum(one.trials for one in each),
        miss_chance=max(one.miss_chance for one in each) if layouts else None,
        stages=stages,
        at_least=max(floors) if everywhere else None,
        at_least_miss=max(one.at_least_miss for one in each) if everywhere else None,
    )


def stage_text(stage: StageReport) -> str:
    """One stage in a line."""
    done, planned = stage.units
    progress = "complete" if stage.complete else f"{done:,} of {planned:,} work units"
    layouts = f"{len(stage.threads):,} layouts" if len(stage.threads) != 1 else "1 layout"
    if stage.at_least is not None:
        layouts = f"every layout of at least {stage.at_least:,} threads"
    return (
        f"{stage.name}: {stage.seeds:,} seeds, {layouts}, {stage.probes} "
        f"probe{'' if stage.probes == 1 else 's'}, {progress}"
    )
