"""Untouched rows and columns that only the CPU's lattices show, in tensors where the survey sees none."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.search.lattice_units import HEAD, TOP, Heads, lattice_units, row_starts
from birthmark.survivors.survivor import Axis, Survivors

#: Tensors that are looked into, the largest of them, and elements of all of them together.
MOST_TENSORS: Final = 128
MOST_SIZE: Final = 1 << 24
MOST_ELEMENTS: Final = 1 << 26


def on_lattices(
    checkpoint: Checkpoint, known: Collection[str], names: Sequence[str], nominals: Sequence[float]
) -> Iterator[Survivors]:
    """Rows and columns on a CPU lattice.

    Args:
        checkpoint: open; of each tensor 16 values a row and the first rows are read, and the candidates.
        known: tensors that have survivors already.
        names: the tensors to look into; all where there are none.
        nominals: scales that the model's files declare.
    """
    room, count = MOST_ELEMENTS, 0
    for info in checkpoint.tensors.values():
        if info.name in known or (names and info.name not in names) or not _fits(info):
            continue
        count, room = count + 1, room - info.size
        if count > MOST_TENSORS or room < 0:
            return
        found = _of(checkpoint, info, nominals)
        if found is not None:
            yield found


def _fits(info: TensorInfo) -> bool:
    """Whether a tensor is one that these lattices can say something about."""
    return (
        info.dtype == "float32"
        and len(info.shape) > 1
        and min(info.matrix_shape) >= 1
        and max(info.matrix_shape) >= HEAD
        and info.size <= MOST_SIZE
    )


def _of(checkpoint: Checkpoint, info: TensorInfo, nominals: Sequence[float]) -> Survivors | None:
    rows, columns = info.matrix_shape

    def take(axis: Axis, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        if axis == "row":
            return np.asarray(checkpoint.take(info.name, ids), np.float64)
        indices = (ids[:, None] + np.arange(rows) * columns).ravel()
        return np.asarray(checkpoint.elements(info.name, indices), np.float64).reshape(len(ids), rows)

    starts = row_starts(info.shape)
    places = np.where(starts >= 0, starts, 0)[:, None] + np.arange(min(HEAD, math.prod(info.shape)))
    head = np.asarray(checkpoint.elements(info.name, places.ravel()), np.float64).reshape(places.shape)
    top = np.asarray(checkpoint.rows(info.name, 0, min(TOP, rows)), np.float64)
    heads = Heads(_finite(head), starts, _finite(top))
    return lattice_units(info.name, info.shape, heads, take, nominals)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with infinity and NaN replaced by what no draw gives."""
    return np.where(np.isfinite(values), values, 1e30)
