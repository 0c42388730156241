"""After a solution: the scale that the values have, and which of them the draw predicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import interval, round_to
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import places
from birthmark.samplers.cpu_uniform import SCALINGS
from birthmark.search.solve.readings import Observation
from birthmark.search.solve.scales import usual_deviations

#: The arithmetics that give different values: of uniforms by their rounding, of normals by their kernel.
ARITHMETICS: Final = {"uniform": tuple(SCALINGS), "normal": ("cpu-fused", "cpu-scalar")}
#: What the sampler's own float32 roundings can add to a value, relatively.
_ROUNDING = 2.0**-22
#: How far off the scale can seem where another build's last bits differ, relatively.
_BUILDS = 2.0**-21
#: Scales that are looked at before the middle of the interval is taken.
_MOST_TRIED = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The scale of a draw.

    Attributes:
        scale: standard deviation or bound.
        written: whether it is a number that somebody would write down, rather than the middle of what fits.
        equal: bool[n], which values the draw predicts bit for bit as stored.
    """

    scale: float
    written: bool
    equal: NDArray[np.bool_]


def fitted(
    seen: Observation,
    seed: int,
    index: int,
    arithmetic: str,
    scale: float | None,
    nominals: Iterable[float],
    *,
    worn: bool = False,
) -> Fit:
    """The scale, where it was left open, and the values that the draw predicts.

    Args:
        seen: the values.
        seed: of the generator.
        index: words before the draw.
        arithmetic: of the uniforms.
        scale: the scale if it is known.
        nominals: scales that are likely.
        worn: whether values drifted apart since; then the scale is that of the middle one.
    """
    if scale is not None:
        return Fit(scale, True, predicted(seen, seed, index, arithmetic, scale) == seen.values)
    standard = predicted(seen, seed, index, arithmetic, 1.0, rounded=False).astype(np.float64)
    if worn:
        large = np.abs(standard) > 0.25
        middle = float(np.median(seen.values[large] / standard[large])) if large.any() else 0.0
        return Fit(middle, False, predicted(seen, seed, index, arithmetic, middle) == seen.values)
    least, most = _interval(seen, standard)
    low, high = least * (1.0 - _BUILDS), most * (1.0 + _BUILDS)
    usual = usual_deviations(low, high) if seen.distribution == "normal" else _usual_bounds(low, high)
    for number, candidate in enumerate(chain(nominals, usual)):
        if number >= _MOST_TRIED:
            break
        if low <= candidate <= high:
            return Fit(candidate, True, predicted(seen, seed, index, arithmetic, candidate) == seen.values)
    middle = 0.5 * (least + most)
    return Fit(middle, False, predicted(seen, seed, index, arithmetic, middle) == seen.values)


def arithmetic_of(seen: Observation, seed: int, index: int, scale: float) -> tuple[str, bool]:
    """The arithmetic that predicts more of the values, and whether the other one predicts fewer.

    Uniforms are the same in both where products are exact (bounds that are powers of two); all values are
    where they were rounded afterwards.
    """
    equal = {
        name: int(np.count_nonzero(predicted(seen, seed, index, name, scale) == seen.values))
        for name in ARITHMETICS[seen.distribution]
    }
    best = max(equal, key=lambda name: equal[name])
    return best, min(equal.values()) < equal[best]


def predicted(
    seen: Observation, seed: int, index: int, arithmetic: str, scale: float, *, rounded: bool = True
) -> NDArray[np.float32] | NDArray[np.float64]:
    """What a draw at a scale puts where the values are, rounded to their stored dtype.

    Values whose words would lie before the stream's first (see `Solved.index`) come out as NaN.
    """
    parameters = (0.0, scale) if seen.distribution == "normal" else (-scale, scale)
    draw = CpuDraw(seen.distribution, parameters, seen.size, index, "float32", arithmetic)
    first = seen.indices if seen.distribution == "uniform" else places(seen.size, seen.indices).radius
    drawn = first + index >= 0
    values = np.full(len(seen.indices), np.nan, np.float32)
    values[drawn] = draw.values(seed, seen.indices[drawn])
    return round_to(values, seen.dtype) if rounded else values


def _interval(seen: Observation, standard: NDArray[np.float64]) -> tuple[float, float]:
    """The scales that explain the most values: the densest point of the intervals value / standard value."""
    usable = (standard != 0.0) & ~np.isnan(standard)
    lo, hi = (bound[usable] / standard[usable] for bound in interval(seen.values, seen.dtype))
    lo, hi = np.minimum(lo, hi) * (1.0 - _ROUNDING), np.maximum(lo, hi) * (1.0 + _ROUNDING)
    ends = np.concatenate([lo, hi])
    steps = np.concatenate([np.ones(len(lo)), -np.ones(len(hi))])
    order = np.lexsort((-steps, ends))
    depth = np.cumsum(steps[order])
    top = int(np.argmax(depth))
    return float(ends[order][top]), float(ends[order][min(top + 1, len(ends) - 1)])


def _usual_bounds(least: float, most: float) -> Iterator[float]:
    """Bounds that people write down: what standard deviations look like, and sqrt(3/k), sqrt(6/k)."""
    yield from usual_deviations(least, most)
    for square in (3.0, 6.0):
        for k in range(math.ceil(square / most**2), math.floor(square / least**2) + 1):
            yield math.sqrt(square / k)
