"""Stacks: checkpoints whose tensors are those of others under other names, such as layers repeated.

Merges that stack layers of one model or of two leave every tensor as it was and number the layers anew. So
tensors are looked up by their values: a few of each, rounded, are the key, and rows of them the proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.lineage.steps import grid_of
from birthmark.lineage.telling import untelling
from birthmark.lineage.tensors import LEAST_VALUES
from birthmark.numerics.dtypes import encode, round_to

#: Elements that make a tensor's key, and values that are compared afterwards.
KEY, PROOF = 48, 1 << 14
#: What the key is rounded to, so that casts meet.
ROUNDED: Final = "bfloat16"
#: Share of the child's tensors that must be found, how many, and how many under another name.
FOUND, LEAST_FOUND, LEAST_RENAMED = 0.9, 4, 2


@dataclass(frozen=True, slots=True)
class Stack:
    """A checkpoint made of tensors of others, by their places in the list.

    Attributes:
        child: which.
        parents: whose tensors it has.
        tensors: how many from each of them; a tensor that several have counts for the first.
        renamed: tensors that have another name there.
        repeated: tensors of the parents that are there more than once.
        telling: the child's tensors that could tell.
        examples: a few pairs of names: in the parent, in the child.
    """

    child: int
    parents: tuple[int, ...]
    tensors: tuple[int, ...]
    renamed: int
    repeated: int
    telling: int
    examples: tuple[tuple[str, str], ...]


def stacked(checkpoints: Sequence[Checkpoint], child: int) -> Stack | None:
    """Whether a checkpoint is made of tensors of the others under other names."""
    index: dict[tuple[tuple[int, ...], bytes], list[tuple[int, str]]] = {}
    for place, each in enumerate(checkpoints):
        if place != child:
            for name, info in _matrices(each):
                index.setdefault((info.shape, _key(each, info)), []).append((place, name))
    one = checkpoints[child]
    taken: Counter[int] = Counter()
    sources: Counter[tuple[int, str]] = Counter()
    renamed: list[tuple[str, str]] = []
    telling = 0
    for name, info in _matrices(one):
        if untelling(one, name) is not None:
            continue
        telling += 1
        homes = index.get((info.shape, _key(one, info)), ())
        same = [home for home in homes if home[1] == name]
        found = next(
            (home for home in (*same, *homes) if _equal(checkpoints[home[0]], home[1], one, info)), None
        )
        if found is None:
            continue
        taken[found[0]] += 1
        sources[found] += 1
        if found[1] != name:
            renamed.append((found[1], name))
    if sum(taken.values()) < max(LEAST_FOUND, FOUND * telling) or len(renamed) < LEAST_RENAMED:
        return None
    parents = tuple(sorted(taken))
    return Stack(
        child,
        parents,
        tuple(taken[each] for each in parents),
        len(renamed),
        sum(count > 1 for count in sources.values()),
        telling,
        tuple(renamed[:2]),
    )


def _matrices(checkpoint: Checkpoint) -> list[tuple[str, TensorInfo]]:
    return [
        (name, info)
        for name, info in checkpoint.tensors.items()
        if info.is_float and info.size >= LEAST_VALUES and len(info.shape) > 1
    ]


def _key(checkpoint: Checkpoint, info: TensorInfo) -> bytes:
    places = np.arange(KEY, dtype=np.int64) * info.size // KEY
    values = checkpoint.elements(info.name, places)
    rounded: NDArray[np.uint16] = encode(values + 0.0, ROUNDED)
    return rounded.tobytes()


def _equal(parent: Checkpoint, name: str, child: Checkpoint, info: TensorInfo) -> bool:
    """Whether evenly chosen rows are equal once rounded to what the child holds."""
    rows, columns = info.matrix_shape
    count = min(rows, max(1, PROOF // max(1, columns)))
    chosen = np.arange(count, dtype=np.int64) * rows // count
    x, y = parent.take(name, chosen), child.take(info.name, chosen)
    return bool(np.array_equal(round_to(x, grid_of(y, info.dtype)), y, equal_nan=True))
