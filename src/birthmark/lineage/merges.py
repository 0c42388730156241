"""Merges of whole checkpoints: every one as a child of two others, or of three; and stacks of layers.

Each tensor is asked by itself, because merges differ by tensor (spherical interpolation has weights of its
own for each, layers are taken from one parent or the other). A checkpoint is a merge when
nearly all tensors that can tell follow, and two parents have a part in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.lineage.merging import LEAST_SHARE, RARE, TensorMerge, merge_of
from birthmark.lineage.stacking import Stack, stacked
from birthmark.lineage.telling import untelling
from birthmark.lineage.tensors import in_all

#: Values of a tensor that are looked at, at the most.
MOST_VALUES: Final = 1 << 18
#: Share of the tensors that tell which must follow.
FOLLOW: Final = 0.9
#: Weights of tensors of one merge agree to this, or to so many times what their rounding lets them.
ONE_WEIGHT: Final = 2e-3

Way = Literal["linear", "linear-by-tensor", "rows", "tensors", "mixed"]


@dataclass(frozen=True, slots=True)
class Merge:
    """A checkpoint that follows from others, all by their places in the list.

    Attributes:
        child: which.
        parents: two or three.
        way: "linear": one weighted sum in every tensor; "linear-by-tensor": a sum with weights of its own in
            each; "rows": rows from either; "tensors": whole tensors from either; "mixed": several of these.
        weights: medians over the tensors that are sums, or the parents' shares of rows or tensors.
        low, high: the smallest and largest weight of each parent among the tensors.
        tensors: those that follow.
        telling: those that could tell.
        silent: those in which the parents are too much alike.
        trials: tensors of all merges that were tried.
        rate: how often a wrong sum comes as near, at the most.
        log10_p: of the tensor that says most, after trials.
        parts: what each tensor said.
    """

    child: int
    parents: tuple[int, ...]
    way: Way
    weights: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    tensors: int
    telling: int
    silent: int
    trials: int
    rate: float
    log10_p: float
    parts: tuple[TensorMerge, ...]


@dataclass(frozen=True, slots=True)
class Merges:
    """All merges among some checkpoints, and what was tried.

    Attributes:
        found: merges.
        stacks: checkpoints whose tensors are those of others under other names.
        tried: families of a child and its parents that were tried.
        trials: tensors in all of them.
    """

    found: tuple[Merge, ...] = ()
    stacks: tuple[Stack, ...] = ()
    tried: int = 0
    trials: int = 0

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return asdict(self)


def find_merges(checkpoints: Sequence[Checkpoint]) -> Merges:
    """Every checkpoint as a merge of two others; of three where it is none of two.

    Args:
        checkpoints: open, in the user's order.
    """
    places = range(len(checkpoints))
    families = {
        (child, parents)
        for child in places
        for count in (2, 3)
        for parents in combinations([each for each in places if each != child], count)
    }
    parts: dict[tuple[int, tuple[int, ...]], list[TensorMerge]] = {}
    explained: set[int] = set()
    for child, parents in sorted(families, key=lambda one: (len(one[1]), one)):
        if len(parents) == 3 and child in explained:
            continue
        found = list(_parts([checkpoints[each] for each in parents], checkpoints[child]))
        parts[child, parents] = found
        if _judge(child, parents, found, 1) is not None:
            explained.add(child)
    trials = max(1, sum(len(found) for found in parts.values()))
    merges = _simplest(
        merge
        for (child, parents), found in parts.items()
        if (merge := _judge(child, parents, found, trials)) is not None
    )
    stacks = tuple(
        stack
        for child in places
        if child not in explained and (stack := stacked(checkpoints, child)) is not None
    )
    return Merges(merges, stacks, len(parts), trials)


def _simplest(merges: Iterable[Merge]) -> tuple[Merge, ...]:
    """Of four checkpoints of which each follows from the other three, the one with the smallest weights."""
    best: dict[frozenset[int], Merge] = {}
    for merge in merges:
        family = frozenset((merge.child, *merge.parents))
        if family not in best or _size(merge) < _size(best[family]):
            best[family] = merge
    return tuple(best.values())


def _size(merge: Merge) -> float:
    return sum(map(abs, merge.weights))


def _parts(parents: Sequence[Checkpoint], child: Checkpoint) -> Iterator[TensorMerge]:
    for name, *names in in_all(child, *parents):
        if untelling(child, name) is not None:
            continue
        info = child.tensors[name]
        rows, columns = info.matrix_shape
        room = max(1, MOST_VALUES // max(1, columns))
        chosen = np.arange(min(rows, room), dtype=np.int64) * rows // min(rows, room)
        values = [
            each.take(other, chosen).astype(np.float64) for each, other in zip(parents, names, strict=True)
        ]
        yield merge_of(name, values, child.take(name, chosen).astype(np.float64), info.dtype)


def _judge(child: int, parents: tuple[int, ...], parts: Sequence[TensorMerge], trials: int) -> Merge | None:
    """The merge that the tensors amount to; None where they do not."""
    telling = [each for each in parts if each.way != "silent"]
    follow = [each for each in telling if each.way != "none"]
    if not follow or len(follow) < FOLLOW * len(telling):
        return None
    best = min(each.log10_p for each in follow)
    log10_p = min(0.0, best + math.log10(trials))
    sums = [each for each in follow if each.way == "linear"]
    if log10_p > RARE or not _all_take_part(follow, len(parents)):
        return None
    ways = {each.way for each in follow}
    used = sums or follow
    table = np.array([each.weights for each in used])
    if ways == {"linear"}:
        spread = float((table.max(axis=0) - table.min(axis=0)).max())
        way: Way = "linear" if spread <= ONE_WEIGHT else "linear-by-tensor"
    elif ways == {"one"}:
        way = "tensors"
    elif ways <= {"rows", "one"}:
        way = "rows"
    else:
        way = "mixed"
    middle = np.median(table, axis=0) if sums else table.mean(axis=0)
    return Merge(
        child=child,
        parents=parents,
        way=way,
        weights=tuple(map(float, middle)),
        low=tuple(map(float, table.min(axis=0))),
        high=tuple(map(float, table.max(axis=0))),
        tensors=len(follow),
        telling=len(telling),
        silent=len(parts) - len(telling),
        trials=trials,
        rate=max(each.rate for each in follow),
        log10_p=log10_p,
        parts=tuple(parts),
    )


def _all_take_part(follow: Sequence[TensorMerge], parents: int) -> bool:
    """Whether each parent gives something somewhere; a child of one alone is a copy and no merge."""
    table = np.abs(np.array([each.weights for each in follow]))
    return bool((table[:, :parents].max(axis=0) >= LEAST_SHARE).all())
