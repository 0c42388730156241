"""Grids: what dtype values are rounded to whatever they are stored in, and rows that were quantised.

Rounding to a grid, of whatever steps, keeps the order: the coarser values are a rising step function of the
finer ones within each group that shares a scale. Independent values keep the order of a group of 16 once in
16! times, and training does not make values fewer; so both together tell a quantised copy without knowing
its format.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import FORMATS, round_to

#: Values in a row of which the order is looked at, in groups that most formats' scales divide.
GROUP: Final = 16
#: Different values that a group must have for its order to tell, and the share of groups that must tell.
LEAST_LEVELS, TELLING = 5, 0.5
#: Share of a row's groups that must keep the order: some formats keep outliers apart.
IN_ORDER: Final = 0.95
#: Quantised rows have at most this share of the others' different values.
FEWER: Final = 0.95


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


def coarser_rows(fine: NDArray[Any], coarse: NDArray[Any], dtype: str) -> NDArray[np.bool_]:
    """Which rows of the second are rows of the first on a coarser grid.

    Args:
        fine: [rows, columns].
        coarse: of the same shape. Its values must be fewer than the first's, over all rows together.
        dtype: the coarser of those to which either is rounded: rounding to it alone is no quantisation.
    """
    rows, columns = fine.shape
    if columns < GROUP or not rows:
        return np.zeros(rows, np.bool_)
    if _different(coarse) > FEWER * _different(round_to(fine, dtype)):
        return np.zeros(rows, np.bool_)
    groups = columns // GROUP
    shape = rows, groups, GROUP
    x, y = (each[:, : groups * GROUP].reshape(shape) for each in (fine, coarse))
    along = np.take_along_axis(y, np.argsort(x, axis=2, kind="stable"), axis=2)
    steps = np.diff(along, axis=2)
    # Groups of few values, such as pruned ones, keep an order by chance.
    telling = (np.diff(np.sort(y, axis=2), axis=2) != 0.0).sum(axis=2) + 1 >= LEAST_LEVELS
    rising = (steps >= 0.0).all(axis=2)
    count = telling.sum(axis=1)
    ordered = (rising & telling).sum(axis=1) >= IN_ORDER * count
    enough = count >= TELLING * groups
    return np.asarray(ordered & enough & (rising.mean(axis=1) >= IN_ORDER) & np.isfinite(coarse).all(axis=1))


def could_be_one(a: NDArray[Any], b: NDArray[Any], dtypes: tuple[str, str]) -> NDArray[np.bool_]:
    """Where two values can be roundings of one number, each to its own dtype."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        reach = 0.5 * (unit(x, dtypes[0]) + unit(y, dtypes[1]))
        return np.asarray(np.abs(x - y) <= reach)


def _different(values: NDArray[Any]) -> int:
    """How many different values the rows have, row by row."""
    ordered = np.sort(values, axis=1)
    return len(ordered) + int(np.count_nonzero(np.diff(ordered, axis=1)))
