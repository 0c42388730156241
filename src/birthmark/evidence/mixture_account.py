"""The account of a mixture of rows: whose each row is, how surely, and what share each origin has.

Rows that several origins predict alike are "either" and count for none. Of the others each has a likelihood
ratio: an element that its own origin explains and the next best does not speaks for it, one that only the
other explains against it, and what both explain, or neither, says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements, units_of
from birthmark.evidence.shares import Share, counted_share
from birthmark.survivors.survivor import Axis

#: The share of an untouched row's elements that its own origin is supposed to explain.
HELD: Final = 0.98
#: No smaller share is taken for what a wrong origin explains.
LEAST_CHANCE: Final = 1e-6
#: Elements of a row that are compared, and rows that are.
MOST_OF_A_ROW, MOST_ROWS = 256, 4096

Near = Callable[[Elements], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """One origin of a mixture.

    Attributes:
        ids: int64, ascending: the units that it predicts.
        near: which elements it explains.
        chance: the share of elements that a wrong seed explains.
    """

    ids: NDArray[np.int64]
    near: Near
    chance: float


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one origin has of a mixture.

    Attributes:
        own: int64, ascending: units that it predicts and no other does.
        share: of all units that only one predicts.
        least_log10, median_log10: of the likelihood ratios of its units against the next best origin; None
            where it has no units.
    """

    own: NDArray[np.int64]
    share: Share | None
    least_log10: float | None
    median_log10: float | None


@dataclass(frozen=True, slots=True, eq=False)
class MixtureAccount:
    """Whose each row is.

    Attributes:
        parts: in the order of the origins.
        either: int64, ascending: units that several origins predict.
        ids: int64, ascending: units that were compared, at most `MOST_ROWS`.
        best: for each of these the origin that explains it best; -1 where several predict it.
        log10: the likelihood ratio of that origin against the next best.
    """

    parts: tuple[Part, ...]
    either: NDArray[np.int64]
    ids: NDArray[np.int64]
    best: NDArray[np.int64]
    log10: NDArray[np.float64]

    @property
    def decided(self) -> int:
        """Units that only one origin predicts."""
        return sum(part.own.size for part in self.parts)


def account_for(
    checkpoint: Checkpoint, tensor: str, shape: tuple[int, ...], axis: Axis, origins: Sequence[Origin]
) -> MixtureAccount:
    """Divide the units of a tensor among the origins that predict them.

    Args:
        checkpoint: where the values lie; `MOST_OF_A_ROW` values of `MOST_ROWS` units are read at most.
        tensor: its name.
        shape: its extents.
        axis: what units count.
        origins: two or more.
    """
    everything, times = np.unique(np.concatenate([one.ids for one in origins]), return_counts=True)
    either = everything[times > 1].astype(np.int64)
    own = [np.setdiff1d(one.ids, either, assume_unique=True).astype(np.int64) for one in origins]
    decided = sum(part.size for part in own)
    ids = everything.astype(np.int64)
    if ids.size > MOST_ROWS:
        ids = ids[np.linspace(0, ids.size - 1, MOST_ROWS).astype(np.int64)]
    best, log10 = _compared(_elements(checkpoint, tensor, shape, axis, ids), origins)
    best[np.isin(ids, either)] = -1
    parts = []
    for number, units in enumerate(own):
        ratios = log10[np.isin(ids, units) & (best == number)]
        parts.append(
            Part(
                units,
                counted_share(units.size, decided) if decided else None,
                float(ratios.min()) if ratios.size else None,
                float(np.median(ratios)) if ratios.size else None,
            )
        )
    return MixtureAccount(tuple(parts), either, ids, best, log10)


def _elements(
    checkpoint: Checkpoint, tensor: str, shape: tuple[int, ...], axis: Axis, ids: NDArray[np.int64]
) -> Elements:
    """Some elements of each unit, evenly spaced."""
    rows, columns = (1, math.prod(shape)) if len(shape) < 2 else (shape[0], math.prod(shape[1:]))
    width = rows if axis == "column" else columns
    places = np.unique(np.linspace(0, width - 1, min(width, MOST_OF_A_ROW)).astype(np.int64))
    flat = ids[:, None] + places * columns if axis == "column" else ids[:, None] * columns + places
    indices = np.sort(flat, axis=None)
    values = np.asarray(checkpoint.elements(tensor, indices), np.float64)
    there = np.isfinite(values)
    return Elements(indices, values, units_of(indices, shape, axis)).keep(there)


def _compared(elements: Elements, origins: Sequence[Origin]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each unit the origin that explains most of it, and its log10 ratio against the next best."""
    _, number = np.unique(elements.unit, return_inverse=True)
    counts = np.stack(
        [np.bincount(number[one.near(elements)], minlength=number.max() + 1) for one in origins]
    )
    order = np.argsort(-counts, axis=0, kind="stable")
    first, second = (np.take_along_axis(counts, order[place : place + 1], axis=0)[0] for place in (0, 1))
    weights = np.array([_weight(one.chance) for one in origins])
    return order[0].astype(np.int64), (first - second) * weights[order[0]]


def _weight(chance: float) -> float:
    """What one element says for an origin that explains it and against one that does not, as log10."""
    chance = min(max(chance, LEAST_CHANCE), 0.5)
    return math.log10(HELD * (1.0 - chance) / (chance * (1.0 - HELD)))


def runs(ids: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The first and last of each run of consecutive ids; ids ascend."""
    if not ids.size:
        return []
    breaks = np.flatnonzero(np.diff(ids) != 1)
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [ids.size - 1]])
    return list(zip(ids[starts].tolist(), ids[ends].tolist(), strict=True))
