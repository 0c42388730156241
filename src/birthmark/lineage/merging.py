"""Merges: a checkpoint that is a weighted sum of two others, or takes its rows from one or the other.

A merge is exact arithmetic on published weights, so it is tested exactly: what remains of the third
checkpoint after the best weighted sum of the two must be no more than the rounding of its own dtype. Both
weights must be positive: of three checkpoints in one line, the middle one is the merge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import FORMATS

#: Residual that a merge may leave, in units of the dtype's own rounding (root mean square, relative).
ROUNDINGS: Final = 4.0
#: A parent with a smaller share is none.
LEAST_SHARE: Final = 0.01
#: Tensors that must agree.
LEAST_TENSORS: Final = 1


@dataclass(frozen=True, slots=True)
class Merge:
    """How a checkpoint follows from two others.

    Attributes:
        way: "linear": w = a x + b y in every tensor; "rows": each row from one of the two.
        share: of the first parent: a, or its share of the rows that differ between the parents.
        low, high: smallest and largest a among the tensors; for rows the share itself twice.
        other: of the second parent: b, or its share of the rows.
        tensors: that were compared.
        residual: the largest relative residual of a linear merge; 0 for rows.
    """

    way: Literal["linear", "rows"]
    share: float
    low: float
    high: float
    other: float
    tensors: int
    residual: float


Triple = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], str]


def merged(triples: Iterable[Triple]) -> Merge | None:
    """Whether the third of each triple follows from the first two.

    Args:
        triples: rows of one tensor each in parent, parent and child, float64[rows, columns], and the child's
            stored dtype. Tensors in which the parents are equal say nothing.

    Returns:
        None where it does not, or where no tensor tells.
    """
    weights: list[tuple[float, float]] = []
    residual = 0.0
    taken = [0, 0]
    linear, by_rows = True, True
    for x, y, child, dtype in triples:
        if not x.size or np.array_equal(x, y):
            continue
        a, b, left = _fit(x, y, child)
        weights.append((a, b))
        residual = max(residual, left)
        linear = linear and left <= ROUNDINGS * float(2.0 ** -(FORMATS[dtype].precision + 1))
        differ = (x != y).any(axis=1)
        from_x = (child == x).all(axis=1)
        from_y = (child == y).all(axis=1)
        by_rows = by_rows and bool((from_x | from_y).all())
        taken[0] += int((from_x & differ).sum())
        taken[1] += int((from_y & differ).sum())
    if len(weights) < LEAST_TENSORS:
        return None
    if by_rows and min(taken) >= LEAST_SHARE * sum(taken) and min(taken) > 0:
        share = taken[0] / sum(taken)
        return Merge("rows", share, share, share, 1.0 - share, len(weights), 0.0)
    first, second = (np.array([each[place] for each in weights]) for place in (0, 1))
    if not linear or min(first.min(), second.min()) < LEAST_SHARE:
        return None
    return Merge(
        "linear", float(np.median(first)), float(first.min()), float(first.max()), float(np.median(second)),
        len(weights), residual,
    )  # fmt: skip


def _fit(
    x: NDArray[np.float64], y: NDArray[np.float64], child: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Least squares of child = a x + b y, and the relative size of what remains."""
    both = np.stack([x.ravel(), y.ravel()], axis=1)
    target = child.ravel()
    size = float(np.sqrt(target @ target))
    if not np.isfinite(both).all() or not np.isfinite(size) or size == 0.0:
        return 0.0, 0.0, np.inf
    (a, b), *_ = np.linalg.lstsq(both, target, rcond=None)
    rest = target - both @ np.array([a, b])
    return float(a), float(b), float(np.sqrt(rest @ rest)) / size
