"""The values that a seed-free reading works on: which are read, whether they will do, and their scale."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv

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
#: The share of magnitudes below the one that shows a cut, and the largest cut that is told from none.
NEARLY_ALL, MOST_CUT = 0.999, 2.6


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

    A normal that was cut off below 2.6 standard deviations has a smaller spread: how much smaller shows in
    how far its large values reach.

    Returns:
        The standard deviation of the normal that they would be, the root of their mean square (both without
        values beyond three standard deviations), and the relative standard error of either.
    """
    size = np.abs(values)
    rough = float(np.median(size)) / 0.6744897501960817
    inside = size[size < 3.0 * rough]
    spread = float(np.sqrt(np.mean(inside * inside)))
    cut = _cut(float(np.quantile(inside, NEARLY_ALL)) / spread)
    # A normal cut off at three standard deviations has 0.98658 of one left.
    return spread / _left(min(cut, 3.0)), spread, 1.0 / math.sqrt(2.0 * values.size)


def _left(cut: float) -> float:
    """The standard deviation that a standard normal has left after it was cut off."""
    density = math.exp(-0.5 * cut * cut) / math.sqrt(2.0 * math.pi)
    return math.sqrt(1.0 - 2.0 * cut * density / math.erf(cut / math.sqrt(2.0)))


def _cut(reach: float) -> float:
    """Where a normal was cut off; 3 where it does not show.

    Args:
        reach: the quantile `NEARLY_ALL` of its magnitudes, in units of their root mean square.
    """
    low, high = 1.0, 3.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        inside = NEARLY_ALL * math.erf(middle / math.sqrt(2.0))
        low, high = (
            (middle, high) if math.sqrt(2.0) * erfinv(inside) / _left(middle) < reach else (low, middle)
        )
    return low if low < MOST_CUT else 3.0
