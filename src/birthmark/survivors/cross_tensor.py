"""Another tensor's word on the same id: the output head's rows for tokens that never occur.

A row of the output head whose token is never a target gets nothing but the softmax's push-down, and every
such row gets the same. So these rows all lie at one common point, spread around it as widely as their initial
values were, while a single occurrence as a target moves a row away from it. The point is found from the ids
that look untouched in the tensor itself; chance impostors among them do not agree with each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import TensorInfo
from birthmark.survivors.shared_directions import Projected

#: Steps in which the common point is sought; it settles within a few.
_STEPS = 20
#: A unit belongs to the cluster if its distance, squared, is within this factor of a near one's.
_REACH = 1.3
#: What counts as a near one: this quantile of the ids that look untouched.
_NEAR = 0.3


def companions(info: TensorInfo, tensors: list[TensorInfo], *, most: int = 2) -> list[TensorInfo]:
    """Other float matrices with as many rows, which may be rows of the same ids; the widest first."""
    rows = info.matrix_shape[0]
    others = [
        other
        for other in tensors
        if other.name != info.name and other.is_float and len(other.shape) == 2 and other.shape[0] == rows
    ]
    return sorted(others, key=lambda other: -other.size)[:most]


def common_point(
    units: Projected, candidates: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The point around which the rows of ids that never occurred lie.

    Args:
        units: the other tensor's rows.
        candidates: places of those whose ids look untouched in the tensor under survey.

    Returns:
        The point, float64[p], and which rows form the core of the cluster around it.
    """
    centre = np.median(units.inside[candidates], axis=0)
    core = np.zeros(len(units.inside), dtype=np.bool_)
    for _ in range(_STEPS):
        distance = units.about(centre).total
        again = distance < _REACH * np.quantile(distance[candidates], _NEAR)
        if np.array_equal(again, core):
            break
        core = again
        centre = units.inside[core].mean(axis=0)
    return centre, core
