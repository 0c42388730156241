"""Checkpoints compared, every pair of them, and every one as a merge of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from birthmark import __version__
from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import UsageError
from birthmark.evidence.maker import SameBase
from birthmark.lineage.merges import Merges, find_merges
from birthmark.lineage.origins import Origin, base_of, origins_of
from birthmark.lineage.pairing import pair
from birthmark.lineage.relation import Relation, relate
from birthmark.lineage.seed_wording import base_as_dict
from birthmark.lineage.tensors import Couple, couple
from birthmark.lineage.wording import closing, named
from birthmark.survivors.survey import survey
from birthmark.survivors.survivor import Survivors


@dataclass(frozen=True, slots=True)
class Related:
    """Two checkpoints, by their places in the list, and their relation.

    Attributes:
        first, second: which.
        prefixes: what was taken away in front of the names of either, so that they meet.
        alone: weights of either that have no counterpart.
        relation: how they are related.
    """

    first: int
    second: int
    prefixes: tuple[str, str]
    alone: tuple[int, int]
    relation: Relation


@dataclass(frozen=True, slots=True)
class Lineage:
    """All relations among some checkpoints.

    Attributes:
        sources: what the user named, in order.
        seeds: what readings found in each.
        related: every pair.
        merges: those found, and how many were tried.
        base: the base seed that most of three or more share, named by their places from 1 on; None without.
    """

    sources: tuple[str, ...]
    seeds: tuple[tuple[Origin, ...], ...]
    related: tuple[Related, ...]
    merges: Merges
    base: SameBase | None = None

    @property
    def found(self) -> bool:
        """Whether anything in common was seen."""
        merged = bool(self.merges.found or self.merges.stacks)
        return merged or any(each.relation.is_common for each in self.related)

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {
            "schema": "birthmark.lineage/2",
            "version": __version__,
            "sources": list(self.sources),
            "seeds": [[asdict(each) for each in origins] for origins in self.seeds],
            "related": [
                {
                    "first": each.first,
                    "second": each.second,
                    "prefixes": list(each.prefixes),
                    "alone": list(each.alone),
                    "relation": each.relation.as_dict(),
                }
                for each in self.related
            ],
            "merges": self.merges.as_dict(),
            "base": base_as_dict(self.base),
        }


def lineage(checkpoints: Sequence[Checkpoint], *, seeds: bool = True) -> Lineage:
    """Compare checkpoints.

    Args:
        checkpoints: two or more, open.
        seeds: whether each is also scanned for the seeds that people use.

    Raises:
        UsageError: fewer than two.
    """
    if len(checkpoints) < 2:
        raise UsageError(f"{len(checkpoints)} checkpoint: a lineage needs two or more.")
    surveys = [{each.tensor: each.survivors for each in survey(one)} for one in checkpoints]
    origins = tuple(origins_of(each) if seeds else () for each in checkpoints)
    couples = {
        (one, other): couple(checkpoints[one], checkpoints[other])
        for one, other in combinations(range(len(checkpoints)), 2)
    }
    trials = max(1, sum(len(each.tensors) for each in couples.values()))
    related = tuple(
        Related(
            one,
            other,
            both.prefixes,
            both.alone,
            _relation(both, (surveys[one], surveys[other]), (origins[one], origins[other]), trials),
        )
        for (one, other), both in couples.items()
    )
    merges = find_merges(checkpoints)
    base = base_of({str(place): each for place, each in enumerate(origins, 1)}) if len(origins) > 2 else None
    return Lineage(tuple(each.source for each in checkpoints), origins, through_others(related), merges, base)


def through_others(related: Sequence[Related]) -> tuple[Related, ...]:
    """The same, with births in common that a third checkpoint proves: each of the two shares its own with it.

    Names must meet as they are: a tensor of one that shares its birth with the third's, which shares it with
    the other's of that name.
    """
    shared = {frozenset((each.first, each.second)): each for each in related if each.relation.shared}
    return tuple(_through(each, shared) for each in related)


def _through(pair: Related, shared: dict[frozenset[int], Related]) -> Related:
    if pair.relation.kind not in ("one-start", "one-seed", "related", "unrelated"):
        return pair
    for third in sorted(set().union(*shared)):
        one, other = (shared.get(frozenset((each, third))) for each in (pair.first, pair.second))
        if one is None or other is None or any((*pair.prefixes, *one.prefixes, *other.prefixes)):
            continue
        common = [name for name in one.relation.shared if name in other.relation.shared]
        rarity = [each.relation.log10_p for each in (one, other) if each.relation.log10_p is not None]
        if common and len(rarity) == 2:
            reason = (
                f"Both share their birth with {third + 1}, in {named(common)}, and so with each other: "
                "the p is that of the weaker of these two."
            )
            kept = tuple(each for each in pair.relation.reasons if each not in closing(pair.relation.kind))
            relation = replace(
                pair.relation,
                kind="same-birth",
                log10_p=max(rarity),
                reasons=(*kept, reason, *closing("same-birth")),
                shared=tuple(common),
            )
            return replace(pair, relation=relation)
    return pair


def _relation(
    both: Couple,
    surveys: tuple[dict[str, Survivors | None], dict[str, Survivors | None]],
    origins: tuple[tuple[Origin, ...], tuple[Origin, ...]],
    trials: int,
) -> Relation:
    # Values that are no numbers are left out where they would count, one by one.
    with np.errstate(all="ignore"):
        pairings = [
            pair(both, each, (surveys[0].get(each.name), surveys[1].get(each.other)), trials)
            for each in both.tensors
        ]
    return relate(pairings, origins, trials=trials)
