"""Grids: what dtype values are rounded to whatever they are stored in, and rows that were quantised.

Rounding to a grid, of whatever steps, keeps the order: the coarser values are a rising step function of the
finer ones within each group that shares a scale. Independent values keep the order of a group of 32 once in
32! times, and training does not make values fewer; so both together tell a quantised copy without knowing
its format.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import FORMATS, round_to

#: Values in a row of which the order is looked at, in groups that most formats' scales divide.
GROUP: Final = 32
#: Share of a row's groups that must keep the order: some formats keep outliers apart.
IN_ORDER: Final = 0.95
#: A quantised row has at most this share of the other's different values.
FEWER: Final = 0.9


def grid_of(values: NDArray[Any], dtype: str) -> str:
    """The coarsest float dtype that holds these values, which may be stored in a wider one."""
    precision = FORMATS[dtype].precision
    narrower = sorted(
        (name for name, form in FORMATS.items() if form.precision < precision),
        key=lambda name: FORMATS[name].precision,
    )
    finite = values[np.isfinite(values)]
    for name in narrower:
        if finite.size and bool((round_to(finite, name) == finite).all()):
            return name
    return dtype


def unit(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """The distance of neighbouring values of a dtype, at each value; that of the least normal one at 0."""
    form = FORMATS[dtype]
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    exponent = np.maximum(np.where(values == 0.0, form.least, exponent - 1), form.least)
    size: NDArray[np.float64] = np.ldexp(1.0, exponent + (1 - form.precision))
    return size


def coarser_rows(fine: NDArray[Any], coarse: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows of the second are rows of the first on a coarser grid.

    Args:
        fine: [rows, columns].
        coarse: of the same shape.
    """
    rows, columns = fine.shape
    if columns < GROUP:
        return np.zeros(rows, np.bool_)
    groups = columns // GROUP
    used = groups * GROUP
    shape = rows, groups, GROUP
    x, y = fine[:, :used].reshape(shape), coarse[:, :used].reshape(shape)
    along = np.take_along_axis(y, np.argsort(x, axis=2, kind="stable"), axis=2)
    # A group of one value keeps any order.
    rising = (np.diff(along, axis=2) >= 0.0).all(axis=2) & (along[:, :, 0] != along[:, :, -1])
    constant = along[:, :, 0] == along[:, :, -1]
    ordered = (rising | constant).mean(axis=1) >= IN_ORDER
    some = rising.mean(axis=1) >= 0.5
    fewer = _different(y) <= FEWER * _different(x)
    return np.asarray(ordered & some & fewer & np.isfinite(coarse).all(axis=1))


def _different(groups: NDArray[Any]) -> NDArray[np.int64]:
    """How many different values each row has."""
    ordered = np.sort(groups.reshape(len(groups), -1), axis=1)
    counts: NDArray[np.int64] = 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    return counts
