"""The control for rows that are alike: every survivor held against the prediction of the next one.

If the stored rows shared something that raises any score (a common direction, a column with a mean of its
own, a few huge values), they would score with each other's predictions as well. Values and predictions are
those of the finding; only which row belongs to which is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements, matrix_shape
from birthmark.evidence.score import Score, score
from birthmark.survivors.survivor import Axis

#: Elements that are scored at most.
ELEMENTS = 1 << 16
#: Units that are needed; with two of them each stands in for the other.
LEAST_UNITS = 2


def moved_indices(elements: Elements, shape: tuple[int, ...], axis: Axis) -> NDArray[np.int64] | None:
    """The element in the same place of the next unit, for each element; the last unit's next is the first.

    Args:
        elements: of some units of a tensor.
        shape: the tensor's extents.
        axis: what units count.

    Returns:
        int64[n] flat indices; None where there are fewer than two units.
    """
    ids, inverse = np.unique(elements.unit, return_inverse=True)
    if ids.size < LEAST_UNITS:
        return None
    step = 1 if axis == "column" else matrix_shape(shape)[1]
    moved: NDArray[np.int64] = elements.indices + ((np.roll(ids, -1) - ids) * step)[inverse]
    return moved


def score_moved(
    holdout: Elements,
    selection: Elements,
    shape: tuple[int, ...],
    axis: Axis,
    standard: Callable[[NDArray[np.int64]], NDArray[np.floating]],
) -> Score | None:
    """The score of values with the predictions of their neighbours.

    Args:
        holdout: what the finding is scored on; at most `ELEMENTS` of them, evenly spaced, are used.
        selection: taken as well where the hold-out has fewer than two units.
        shape: the tensor's extents.
        axis: what units count.
        standard: predicted standard values of flat indices, in any order.

    Returns:
        The score; None where there are fewer than two units in all.
    """
    some = holdout.thinned(ELEMENTS)
    if np.unique(some.unit).size < LEAST_UNITS:
        some = selection.with_(holdout).thinned(ELEMENTS)
    moved = moved_indices(some, shape, axis)
    return None if moved is None else score(some.values, standard(moved))
