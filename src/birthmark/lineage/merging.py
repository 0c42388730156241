"""Merges of one tensor: a weighted sum of parents, rows taken from them, or all of it from one.

A merge is exact arithmetic on published weights, so it is tested exactly, value by value: the weighted sum
must be the child's value to within the rounding of the arithmetic. Only values tell for which the parents are
farther apart than that, else three light fine-tunes of one base would all be merges of each other. How often
a sum comes so near that does not belong there is measured with one parent's rows shifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.lineage.chance import log10_coincidences
from birthmark.lineage.steps import grid_of, unit
from birthmark.numerics.dtypes import round_to

#: A parent with a smaller weight, or share of the rows, is none.
LEAST_SHARE: Final = 0.01
#: Units of the child's dtype, at the largest term, that a sum may be off for each term.
NEAR: Final = 0.75
#: Units that the parents must be apart, so often as in NEAR, for a value to tell; how many such values.
APART, LEAST_TELLING = 4.0, 64
#: Share of the telling values that a merge explains.
EXPLAINED: Final = 0.99
#: Shifts that measure how often a wrong sum comes as near.
SHIFTS: Final = 8
#: A merge must be rarer than this in some tensor.
RARE: Final = -9.0

Way = Literal["linear", "rows", "one", "none", "silent"]


@dataclass(frozen=True, slots=True)
class TensorMerge:
    """How one tensor of a child follows from its parents.

    Attributes:
        tensor: its name in the child.
        way: "linear": the sum of the parents with `weights`; "rows": each row from one of them, `weights` are
            their shares of the rows that differ; "one": all of it from one parent, whose weight is 1;
            "none": none of these; "silent": the parents are too much alike in it to tell.
        weights: one for each parent.
        telling: values for which the parents are far enough apart.
        explained: those that the merge gives.
        rate: how often a wrong sum comes as near, by the (n + 1) rule.
        log10_p: of so many by chance.
    """

    tensor: str
    way: Way
    weights: tuple[float, ...]
    telling: int
    explained: int
    rate: float
    log10_p: float


def merge_of(
    tensor: str, parents: Sequence[NDArray[np.float64]], child: NDArray[np.float64], dtype: str
) -> TensorMerge:
    """How a tensor of a child follows from those of two or three parents.

    Args:
        tensor: its name.
        parents: float64[rows, columns] each.
        child: likewise.
        dtype: in which the child is stored.
    """
    silent = TensorMerge(tensor, "silent", (0.0,) * len(parents), 0, 0, 1.0, 0.0)
    everything = np.stack([*parents, child])
    if not child.size or not np.isfinite(everything).all():
        return silent
    grid = grid_of(child, dtype)
    rounded = np.stack([round_to(each, grid).astype(np.float64) for each in parents])
    equal: NDArray[np.bool_] = rounded == child
    differ: NDArray[np.bool_] = (rounded != rounded[0]).any(axis=0)
    if int(differ.sum()) < LEAST_TELLING:
        return silent
    by_rows = _by_rows(tensor, equal, differ)
    return by_rows if by_rows is not None else _linear(tensor, parents, child, grid)


def _by_rows(tensor: str, equal: NDArray[np.bool_], differ: NDArray[np.bool_]) -> TensorMerge | None:
    """All rows from one parent each, or None; a vector is one row."""
    whole: NDArray[np.bool_] = np.all(equal, axis=2)
    if not whole.any(axis=0).all():
        return None
    rows: NDArray[np.bool_] = np.any(differ, axis=1)
    # A row that several parents have alike is nobody's.
    alone = whole & (whole.sum(axis=0) == 1) & rows
    taken = [int(count) for count in alone.sum(axis=1)]
    telling = int(differ[rows].sum())
    # Shifted within the rows, values coincide as often as their own do by chance.
    rate = _coincidence(equal, differ)
    log10_p = log10_coincidences(telling, telling, rate)
    full = [bool(parent[rows].all()) for parent in whole]
    if any(full):
        weights = tuple(1.0 if place == full.index(True) else 0.0 for place in range(len(full)))
        return TensorMerge(tensor, "one", weights, telling, telling, rate, log10_p)
    if sum(count >= LEAST_SHARE * max(1, sum(taken)) for count in taken) < 2:
        return None
    return TensorMerge(
        tensor, "rows", tuple(count / sum(taken) for count in taken), telling, telling, rate, log10_p
    )


def _coincidence(equal: NDArray[np.bool_], differ: NDArray[np.bool_]) -> float:
    """How often a parent that a row is not from has its values all the same, at most."""
    whole: NDArray[np.bool_] = np.all(equal, axis=2)
    foreign = differ & ~whole[:, :, None]
    hits = int((equal & foreign).sum())
    return (hits + 1) / (int(foreign.sum()) + 2)


def _linear(
    tensor: str, parents: Sequence[NDArray[np.float64]], child: NDArray[np.float64], grid: str
) -> TensorMerge:
    weights = _weights(parents, child)
    none = TensorMerge(tensor, "none", weights, 0, 0, 1.0, 0.0)
    if min(map(abs, weights)) < LEAST_SHARE or sum(weight > 0.0 for weight in weights) < 2:
        return none
    if len(parents) == 2 and min(weights) < LEAST_SHARE:
        return none
    off, width = _off(parents, weights, child, grid)
    telling = _telling(parents, weights, width)
    count = int(telling.sum())
    if count < LEAST_TELLING:
        return TensorMerge(tensor, "silent", weights, count, 0, 1.0, 0.0)
    near = int((off <= width)[telling].sum())
    rate = _wrong_sums(parents, weights, child, grid)
    way: Way = "linear" if near >= EXPLAINED * count else "none"
    return TensorMerge(tensor, way, weights, count, near, rate, log10_coincidences(near, count, rate))


def _weights(parents: Sequence[NDArray[np.float64]], child: NDArray[np.float64]) -> tuple[float, ...]:
    """Least squares, in the first parent and the others' differences from it: those can be small."""
    first = parents[0].ravel()
    columns = [first, *(each.ravel() - first for each in parents[1:])]
    target = child.ravel() - first
    sizes = [float(np.sqrt(each @ each)) or 1.0 for each in columns]
    matrix = np.stack([each / size for each, size in zip(columns, sizes, strict=True)], axis=1)
    found, *_ = np.linalg.lstsq(matrix, target, rcond=1e-12)
    scaled = [float(value) / size for value, size in zip(found, sizes, strict=True)]
    return (1.0 + scaled[0] - sum(scaled[1:]), *scaled[1:])


def _off(
    parents: Sequence[NDArray[np.float64]], weights: Sequence[float], child: NDArray[np.float64], grid: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far the sum is from the child, and how far the rounding of its terms may bring it."""
    terms = [weight * each for weight, each in zip(weights, parents, strict=True)]
    largest = np.max(np.abs([*terms, child]), axis=0)
    return np.abs(child - sum(terms)), NEAR * len(terms) * unit(largest, grid)


def _telling(
    parents: Sequence[NDArray[np.float64]], weights: Sequence[float], width: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Values for which every parent moves the sum by more than rounding does."""
    telling = np.ones(width.shape, np.bool_)
    for place, (weight, each) in enumerate(zip(weights, parents, strict=True)):
        others = [other for number, other in enumerate(parents) if number != place]
        nearest = np.min([np.abs(each - other) for other in others], axis=0)
        telling &= np.abs(weight) * nearest > APART * width
    return telling


def _wrong_sums(
    parents: Sequence[NDArray[np.float64]], weights: Sequence[float], child: NDArray[np.float64], grid: str
) -> float:
    """How often the sum comes as near with the last parent's difference from the first shifted."""
    flat = child.shape[0] < 2
    length = child.shape[1] if flat else child.shape[0]
    difference = parents[-1] - parents[0]
    hits, tried = 0, 0
    for number in range(SHIFTS if length > 2 else 0):
        moved = np.roll(difference, 1 + number * (length - 2) // SHIFTS, axis=1 if flat else 0)
        wrong = [*parents[:-1], parents[0] + moved]
        off, width = _off(wrong, weights, child, grid)
        telling = _telling(wrong, weights, width)
        hits += int((off <= width)[telling].sum())
        tried += int(telling.sum())
    return (hits + 1) / (tried + 2)
