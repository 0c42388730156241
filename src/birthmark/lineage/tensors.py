"""The tensors that two checkpoints have in common: by name, and by all extents but the first.

A vocabulary that was extended or trimmed leaves its first rows where they were, so of tensors with different
numbers of rows the leading ones that both have are compared. A wrapper's prefix (`module.`, `model.`) on one
side is seen through where that makes more names meet.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo, Values

#: What optimisers keep beside the weights says nothing about a birth.
_OPTIMIZER: Final = re.compile(r"(^|\.)(optimizer\w*|exp_avg|exp_avg_sq|momentum_buffer)(\.|$)")
#: Tensors with fewer values say nothing about a relation.
LEAST_VALUES: Final = 256
#: Names in front of which a wrapper's prefix is looked for, and how long it may be.
PREFIX_SHARE, PREFIX_PARTS = 0.5, 3


@dataclass(frozen=True, slots=True)
class Common:
    """A tensor that two checkpoints have in common.

    Attributes:
        name: in the first.
        other: in the second.
        rows: leading rows of the matrix view that both have.
        columns: of the matrix view.
        beyond: rows (of a vector, elements) that only the first, and only the second, has after them.
        dtypes: in which either stores it.
    """

    name: str
    other: str
    rows: int
    columns: int
    beyond: tuple[int, int]
    dtypes: tuple[str, str]

    @property
    def is_vector(self) -> bool:
        """Whether it is one row."""
        return self.rows == 1

    @property
    def size(self) -> int:
        """Values that both have."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Couple:
    """Two checkpoints and what they have in common.

    Attributes:
        first, second: the checkpoints, open.
        tensors: that both have.
        prefixes: what was taken away in front of the names of either, so that they meet.
        alone: weights of either that have no counterpart.
    """

    first: Checkpoint
    second: Checkpoint
    tensors: tuple[Common, ...]
    prefixes: tuple[str, str]
    alone: tuple[int, int]

    def take(self, common: Common, rows: NDArray[np.int64]) -> tuple[Values, Values]:
        """The same rows of both, as they are decoded."""
        if common.is_vector:
            a, b = self._vectors(common)
            return a[rows], b[rows]
        return self.first.take(common.name, rows), self.second.take(common.other, rows)

    def rows(self, common: Common, start: int, stop: int) -> tuple[Values, Values]:
        """Rows start <= i < stop of both."""
        if common.is_vector:
            a, b = self._vectors(common)
            return a[start:stop], b[start:stop]
        return self.first.rows(common.name, start, stop), self.second.rows(common.other, start, stop)

    def _vectors(self, common: Common) -> tuple[Values, Values]:
        """The leading elements of two vectors, one row each."""
        places = np.arange(common.columns, dtype=np.int64)
        a, b = self.first.elements(common.name, places), self.second.elements(common.other, places)
        return a[None, :], b[None, :]


def couple(first: Checkpoint, second: Checkpoint) -> Couple:
    """Find the tensors that two checkpoints have in common, in the first one's order."""
    one, other = _weights(first), _weights(second)
    best: tuple[tuple[Common, ...], tuple[str, str]] = (_meeting(one, other, "", ""), ("", ""))
    for before in _prefixes(one):
        for behind in _prefixes(other):
            found = _meeting(one, other, before, behind)
            if len(found) > len(best[0]):
                best = found, (before, behind)
    tensors, prefixes = best
    return Couple(first, second, tensors, prefixes, (len(one) - len(tensors), len(other) - len(tensors)))


def in_all(first: Checkpoint, *others: Checkpoint) -> list[tuple[str, ...]]:
    """The names, in each of them, of the tensors that all have in one shape; in the first one's order."""
    names = [
        {each.name: each.other for each in couple(first, other).tensors if each.beyond == (0, 0)}
        for other in others
    ]
    return [
        (name, *(each[name] for each in names))
        for name in first.tensors
        if all(name in each for each in names)
    ]


def _weights(checkpoint: Checkpoint) -> dict[str, TensorInfo]:
    return {
        name: info
        for name, info in checkpoint.tensors.items()
        if info.is_float and info.size >= LEAST_VALUES and not _OPTIMIZER.search(name)
    }


def _meeting(
    one: Mapping[str, TensorInfo], other: Mapping[str, TensorInfo], before: str, behind: str
) -> tuple[Common, ...]:
    """Tensors whose names and shapes meet once these prefixes are taken away."""
    found = []
    for name, info in one.items():
        if not name.startswith(before):
            continue
        beside = other.get(behind + name[len(before) :])
        if beside is None or len(beside.shape) != len(info.shape):
            continue
        lengths = info.shape[0], beside.shape[0]
        least = min(lengths)
        width = math.prod(info.shape[1:])
        if info.shape[1:] != beside.shape[1:] or least * width < LEAST_VALUES:
            continue
        rows, columns = (1, least) if len(info.shape) == 1 else (least, width)
        beyond = lengths[0] - least, lengths[1] - least
        found.append(Common(name, beside.name, rows, columns, beyond, (info.dtype, beside.dtype)))
    return tuple(found)


def _prefixes(tensors: Mapping[str, TensorInfo]) -> list[str]:
    """No prefix, and those that stand in front of most names."""
    counts: Counter[str] = Counter()
    for name in tensors:
        parts = name.split(".")
        counts.update(".".join(parts[:depth]) + "." for depth in range(1, min(len(parts), PREFIX_PARTS + 1)))
    return ["", *(prefix for prefix, count in counts.items() if count >= PREFIX_SHARE * len(tensors))]
