"""A search's account of itself: from what it says to the schema's keys, several searches together."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.reports.reading import SearchedModel
from birthmark.search.merges import STAGE as MERGES
from birthmark.search.outcome import Searched, StageReport
from birthmark.search.related import STAGE as RELATED
from birthmark.search.stepped import STAGE as STEPPED
from birthmark.search.supposed import STAGE as SUPPOSED

NOTHING_SEARCHED = SearchedModel(seeds=None, layouts=[], hypotheses=[], candidates_tested=0, complete=False)


def account(searches: Sequence[tuple[str, Searched]]) -> SearchedModel:
    """What all searches of a scan have searched together.

    Seeds, layouts and the chance of a miss are those of the searches that went through the most seeds: a
    quick look at other tensors, or at places that recipes suppose, takes nothing from them. Where several
    went as far, only what all covered counts. Trials and candidates are those of all searches; the stages say
    which tensor they are about.

    Args:
        searches: each with the name of its tensor.
    """
    if not searches:
        return NOTHING_SEARCHED
    each = [searched for _, searched in searches]
    widest = max(_span(one) for one in each)
    main = [one for one in each if _span(one) == widest]
    low, high = max(one.seeds[0] for one in main), min(one.seeds[1] for one in main)
    layouts = set(main[0].layouts).intersection(*(one.layouts for one in main))
    floors = [one.at_least for one in main if one.at_least is not None]
    everywhere = len(floors) == len(main)
    stages = [
        stage_text(stage) if len(searches) == 1 else f"{tensor}: {stage_text(stage)}"
        for tensor, one in searches
        for stage in one.stages
    ]
    return SearchedModel(
        seeds=(low, high - 1) if low < high and any(_ranged(one) for one in main) else None,
        layouts=sorted(layouts),
        hypotheses=list(dict.fromkeys(text for one in each for text in one.hypotheses)),
        candidates_tested=sum(one.candidates_tested for one in each),
        complete=all(one.complete for one in each),
        trials=sum(one.trials for one in each),
        miss_chance=max(one.miss_chance for one in main) if layouts else None,
        stages=stages,
        at_least=max(floors) if everywhere else None,
        at_least_miss=max(one.at_least_miss for one in main) if everywhere else None,
    )


def _ranged(searched: Searched) -> bool:
    """Whether the search came as far as the range of seeds, and did not end at the dictionary."""
    return any("dictionary" not in stage.name and stage.units[0] for stage in searched.stages)


def _span(searched: Searched) -> int:
    """How many seeds the exhaustive stages go through; -1 for a look that says nothing of what was searched.

    Such are recipes' places, merges, other steps of ranks, and the one seed of a finding that other tensors
    or layouts are held against.
    """
    span = searched.seeds[1] - searched.seeds[0]
    aside = searched.stages and all(
        stage.name in (SUPPOSED, MERGES, STEPPED, RELATED) for stage in searched.stages
    )
    return -1 if aside or span == 1 else span


def stage_text(stage: StageReport) -> str:
    """One stage in a line."""
    done, planned = stage.units
    progress = "complete" if stage.complete else f"{done:,} of {planned:,} work units"
    layouts = f"{len(stage.threads):,} layouts" if len(stage.threads) != 1 else "1 layout"
    if stage.at_least is not None:
        layouts = f"every layout of at least {stage.at_least:,} threads"
    return (
        f"{stage.name}: {stage.seeds:,} seed{'' if stage.seeds == 1 else 's'}, {layouts}, {stage.probes} "
        f"probe{'' if stage.probes == 1 else 's'}, {progress}"
    )
