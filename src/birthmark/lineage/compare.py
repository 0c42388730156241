"""Checkpoints compared, every pair of them, and every one as a merge of two others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from birthmark import __version__
from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.errors import UsageError
from birthmark.lineage.merging import Merge, Triple, merged
from birthmark.lineage.pairing import MOST_VALUES, pair
from birthmark.lineage.relation import Origin, Relation, relate
from birthmark.scan import ScanOptions, scan
from birthmark.search.options import Options
from birthmark.survivors.survey import survey
from birthmark.survivors.survivor import Survivors

#: What optimisers keep beside the weights says nothing about a birth.
_OPTIMIZER = re.compile(r"(^|\.)(optimizer|exp_avg|exp_avg_sq|momentum_buffer)(\.|$)")
#: Tensors with fewer values say nothing about a relation.
LEAST_VALUES: Final = 256


@dataclass(frozen=True, slots=True)
class Related:
    """Two checkpoints, by their places in the list, and their relation."""

    first: int
    second: int
    relation: Relation


@dataclass(frozen=True, slots=True)
class MergeFound:
    """A checkpoint that follows from two others, all by their places in the list."""

    child: int
    first: int
    second: int
    merge: Merge


@dataclass(frozen=True, slots=True)
class Lineage:
    """All relations among some checkpoints.

    Attributes:
        sources: what the user named, in order.
        seeds: what readings found in each.
        related: every pair.
        merges: those found.
    """

    sources: tuple[str, ...]
    seeds: tuple[tuple[Origin, ...], ...]
    related: tuple[Related, ...]
    merges: tuple[MergeFound, ...]

    @property
    def found(self) -> bool:
        """Whether anything in common was seen."""
        silent = ("unrelated", "not-compared")
        return bool(self.merges) or any(each.relation.kind not in silent for each in self.related)

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {"schema": "birthmark.lineage/1", "version": __version__, **asdict(self)}


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
    origins = tuple(_origins(each) if seeds else () for each in checkpoints)
    related = tuple(
        Related(
            one,
            other,
            _relation(
                checkpoints[one],
                checkpoints[other],
                (surveys[one], surveys[other]),
                (origins[one], origins[other]),
            ),
        )
        for one, other in combinations(range(len(checkpoints)), 2)
    )
    return Lineage(tuple(each.source for each in checkpoints), origins, related, tuple(_merges(checkpoints)))


def common(*checkpoints: Checkpoint) -> list[TensorInfo]:
    """The weights that all of them have under one name and in one shape, in the first one's order."""
    first, *others = checkpoints
    return [
        info
        for name, info in first.tensors.items()
        if info.is_float
        and info.size >= LEAST_VALUES
        and not _OPTIMIZER.search(name)
        and all(
            name in other.tensors and other.tensors[name].is_float and other.tensors[name].shape == info.shape
            for other in others
        )
    ]


def _relation(
    first: Checkpoint,
    second: Checkpoint,
    surveys: tuple[dict[str, Survivors | None], dict[str, Survivors | None]],
    origins: tuple[tuple[Origin, ...], tuple[Origin, ...]],
) -> Relation:
    shared = common(first, second)
    pairings = [
        pair(first, second, info, (surveys[0].get(info.name), surveys[1].get(info.name)), len(shared))
        for info in shared
    ]
    return relate(pairings, origins)


def _origins(checkpoint: Checkpoint) -> tuple[Origin, ...]:
    """The seeds that a quick scan finds."""
    options = ScanOptions(search=Options(seeds=(0, 0)))
    reading = scan(checkpoint, options, command="birthmark lineage").reading
    return tuple(
        Origin(
            found.tensor,
            found.generator,
            found.seed,
            found.layout.threads if found.layout else None,
            found.holdout.log10_p_global,
        )
        for found in reading.findings
        if found.seed is not None
    )


def _merges(checkpoints: Sequence[Checkpoint]) -> Iterator[MergeFound]:
    for child in range(len(checkpoints)):
        for first, second in combinations([each for each in range(len(checkpoints)) if each != child], 2):
            three = checkpoints[first], checkpoints[second], checkpoints[child]
            found = merged(_triples(*three))
            if found is not None:
                yield MergeFound(child, first, second, found)


def _triples(first: Checkpoint, second: Checkpoint, child: Checkpoint) -> Iterator[Triple]:
    for info in common(first, second, child):
        rows, columns = info.matrix_shape
        room = max(1, MOST_VALUES // max(1, columns))
        chosen = np.arange(min(rows, room)) * rows // min(rows, room)
        x, y, z = (each.take(info.name, chosen).astype(np.float64) for each in (first, second, child))
        yield x, y, z, child.tensors[info.name].dtype
