"""The scale of the stored values, from the selection alone.

A stored value v whose standard value is z was rounded from z times the scale, so the scale lies in [lo/z,
hi/z], where [lo, hi] is what rounds to v. The scale that most of these intervals cover is taken: values
that were altered afterwards are outvoted, not averaged in. Then a nominal value is looked for that as many
intervals cover.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.exactness import ARITHMETIC_TOLERANCE
from birthmark.evidence.nominal import Nominal, nominals
from birthmark.hypothesis import Draw
from birthmark.numerics.dtypes import interval, round_to
from birthmark.samplers.storing import TRUNCATED
from birthmark.samplers.truncated import inverses

#: Where widened intervals meet at this many times more elements, last bits, not rounding, set the width.
BLURRED = 1.5
#: Of the elements that no longer fit, the share that may cover the taken scale by chance and miss the
#: nominal one.
CHANCE_COVER = 0.002


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale and how well it fits.

    Attributes:
        value: standard deviation (normal) or bound (uniform).
        low, high: the interval that most elements cover.
        covered: elements whose own interval contains `value`.
        of: elements that bound the scale.
        nominal: the value as somebody wrote it down; None where `value` is the interval's centre.
        blurred: whether last bits (another arithmetic, or a decay in many rounded steps) widen the residuals.
    """

    value: float
    low: float
    high: float
    covered: int
    of: int
    nominal: Nominal | None
    blurred: bool


def centred(distribution: str, standard: NDArray[Any]) -> NDArray[np.float64]:
    """What multiplies the scale: z of a normal, 2u - 1 of a uniform on (-B, B)."""
    z = np.asarray(standard, np.float64)
    return 2.0 * z - 1.0 if distribution == "uniform" else z


def factors(draw: Draw, raw: NDArray[Any]) -> NDArray[np.float64]:
    """What multiplies the scale, from raw values: of a truncated normal with the rounding of its steps."""
    if draw.distribution == TRUNCATED and draw.source == "uniform":
        return inverses(draw.parameters, raw, draw.dtype, draw.version) * math.sqrt(2.0)
    return centred(draw.distribution, raw)


def estimate(stored: NDArray[Any], raw: NDArray[Any], draw: Draw, dtype: str) -> Scale | None:
    """The scale that most stored values agree on.

    Args:
        stored: values as the checkpoint holds them.
        raw: standard normals, or unit uniforms, at the same elements (`Draw.source`).
        draw: distribution, shape and dtype of the draw; of its parameters only where it is cut off counts.
        dtype: the stored dtype.

    Returns:
        None where no value bounds the scale (all raw values are zero, or all signs disagree).
    """
    factor = factors(draw, raw)
    low, high = bounds(stored, factor, dtype)
    if low.size == 0:
        return None
    first, last, count = most_covered(low, high)
    centre = 0.5 * (first + last)
    width = ARITHMETIC_TOLERANCE * centre / np.maximum(np.abs(_kept(stored, factor, dtype)), 1e-3)
    wide = most_covered(low - width, high + width)
    blurred = wide[2] >= BLURRED * count and wide[2] > count + 3
    if blurred:
        low, high = low - width, high + width
        first, last, count = wide
        centre = 0.5 * (first + last)
    slack = int(CHANCE_COVER * (low.size - count)) + 1 if low.size > count else 0
    if blurred:
        slack += int(3.0 * np.sqrt(low.size - count)) + count // 20
    best: tuple[int, float, Nominal | None] = (count, centre, None)
    found = -1
    for nominal in nominals(centre, draw):
        effective = as_drawn(nominal.value, draw)
        covered = int(np.count_nonzero((low <= effective) & (effective <= high)))
        if covered >= count - slack and covered > found:
            found = covered
            best = (covered, nominal.value, nominal)
    covered, value, chosen = best
    return Scale(value, first, last, covered, int(low.size), chosen, blurred)


def as_drawn(scale: float, draw: Draw) -> float:
    """The scale as the sampler uses it: a bound rounded to the draw dtype, a std rounded to float32.

    A truncated normal made from a uniform is multiplied by std sqrt 2, rounded to float32.
    """
    if draw.dtype == "float64":
        return scale
    if draw.distribution == TRUNCATED and draw.source == "uniform":
        return float(np.float32(scale * math.sqrt(2.0))) / math.sqrt(2.0)
    dtype = draw.dtype if draw.distribution == "uniform" else "float32"
    return float(round_to(np.asarray([scale]), dtype)[0])


def bounds(
    stored: NDArray[Any], factor: NDArray[np.float64], dtype: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval of scales that each element allows, for the elements that allow a positive one."""
    low, high, keep = _bounds(stored, factor, dtype)
    return low[keep], high[keep]


def _kept(stored: NDArray[Any], factor: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    return factor[_bounds(stored, factor, dtype)[2]]


def _bounds(
    stored: NDArray[Any], factor: NDArray[np.float64], dtype: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    lo, hi = interval(stored, dtype)
    # Values of 16 bits passed through float32 first; those of 64 bits have no midpoints. Both move an end a
    # little.
    slip = 2.0**-50 if dtype in ("float32", "float64") else 2.0**-24
    lo, hi = lo - slip * np.abs(lo), hi + slip * np.abs(hi)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = np.stack([lo / factor, hi / factor])
    low, high = ends.min(axis=0), ends.max(axis=0)
    keep = np.isfinite(low) & np.isfinite(high) & (high > 0.0) & (factor != 0.0)
    return np.maximum(low, 0.0), high, keep


def most_covered(low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[float, float, int]:
    """The stretch that most closed intervals cover, the widest such; with the number that cover it."""
    starts, ends = np.sort(low), np.sort(high)
    # Coverage just after the i-th start: starts so far less the ends before it (an end at a start still
    # covers).
    active = np.arange(1, starts.size + 1) - np.searchsorted(ends, starts, side="left")
    # Equal starts: only the last of them has counted all.
    top = int(active.max())
    begin = starts[np.flatnonzero(active == top)]
    finish = ends[np.searchsorted(ends, begin, side="left")]
    widest = int(np.argmax(finish - begin))
    return float(begin[widest]), float(finish[widest]), top
