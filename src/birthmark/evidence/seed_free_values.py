"""The values that a seed-free reading works on: which are read, whether they will do, and their scale."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements, matrix_shape, units_of
from birthmark.numerics.dtypes import itemsize
from birthmark.survivors.survivor import Survivors

#: A layout under which fewer survivors have surviving partners is not tried: some 2 % of them are in the
#: window.
LEAST_PAIRS = 1000
#: Survivors that are read at most: four waves of the widest layouts.
MOST = 1 << 22
#: Values that fit into so many bits are too coarse where more than this share of them does.
COARSE_BITS, MOST_COARSE = 17, 0.25


def read(checkpoint: Checkpoint, survivors: Survivors) -> Elements:
    """The values of the likely survivors, finite ones only."""
    ids = survivors.likely()
    rows, columns = matrix_shape(survivors.shape)
    if survivors.axis == "column":
        height = min(rows, max(1, MOST // max(1, ids.size)))
        indices = (np.arange(height, dtype=np.int64)[:, None] * columns + ids).ravel()
        values = np.asarray(checkpoint.elements(survivors.tensor, indices), np.float64)
    else:
        ids = ids[: max(1, MOST // max(1, columns))]
        indices = (ids[:, None] * columns + np.arange(columns, dtype=np.int64)).ravel()
        values = np.asarray(checkpoint.take(survivors.tensor, ids), np.float64).ravel()
    read = Elements(indices, values, units_of(indices, survivors.shape, survivors.axis))
    return read.keep(np.isfinite(values) & (values != 0.0))


def refusal_of(elements: Elements, dtype: str) -> str | None:
    """Why values cannot be read at all."""
    if itemsize(dtype) < 4:
        return coarse(dtype)
    if len(elements) < 2 * LEAST_PAIRS:
        return f"{len(elements):,} survivors are too few: at least {LEAST_PAIRS:,} surviving pairs are needed"
    mantissa, _ = np.frexp(elements.thinned(1 << 14).values)
    steps = mantissa * 2.0**COARSE_BITS
    if np.mean(steps == np.rint(steps)) > MOST_COARSE:
        return (
            f"the values are too coarse: they were rounded to {COARSE_BITS} bits or fewer, and float32 has 24"
        )
    return None


def coarse(dtype: str) -> str:
    """The refusal of a dtype."""
    return f"values stored as {dtype} are too coarse: a lattice of 2^-24 needs float32"


def too_few(survivors: int, pairs: int) -> str:
    """The refusal of so few pairs."""
    return (
        f"{survivors:,} survivors have {pairs:,} surviving pairs at the most under any layout; at least "
        f"{LEAST_PAIRS:,} are needed"
    )


def estimate(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """The scale of values, a few of which may have been altered.

    Returns:
        The standard deviation of the normal that they would be, the root of their mean square (both without
        values beyond three standard deviations), and the relative standard error of either.
    """
    size = np.abs(values)
    rough = float(np.median(size)) / 0.6744897501960817
    inside = values[size < 3.0 * rough]
    spread = float(np.sqrt(np.mean(inside * inside)))
    # A normal cut off at three standard deviations has 0.98658 of one left.
    return spread / 0.98658, spread, 1.0 / math.sqrt(2.0 * values.size)
