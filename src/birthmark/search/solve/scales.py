"""The exact scale of a draw, found by the lattice that float32 values lie on.

At the right scale every untouched value has a word that gives it exactly; at any other scale about a third
have one by chance. So a scale is tried on a few hundred values and judged by the share that has a word. For
uniforms all float32 bounds within the interval are tried, in both arithmetics; for normals the scales that
people write down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_normal import Places
from birthmark.samplers.cpu_uniform import SCALINGS, scaled
from birthmark.search.solve.equations import BITS
from birthmark.search.solve.inversion import exact_normals, exact_uniforms

_FULL: Final = 1 << BITS
#: Share of values that must have a word at the right scale; by chance it is about a third.
LEAST_SHARE: Final = 0.5
#: The same on the few values of the first trial, where chance scatters more.
_PROMISING: Final = 0.42
#: Values on which all scales are tried, and on which the best few are tried again.
_FEW: Final = 192
_MORE: Final = 4096
#: Best bounds that are tried again.
_FINALISTS: Final = 8
#: No more float32 bounds than this are tried.
_MOST_BOUNDS: Final = 1 << 20
#: A standard deviation with such a share ends the trials.
_CERTAIN: Final = 0.95
#: 1/sqrt(k) is tried for every k up to here, beyond it for multiples of the step.
_EVERY_FAN: Final = 4096
_FAN_STEP: Final = 8
#: Deepest network whose depth-scaled standard deviations are tried.
_LAYERS: Final = 128


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale that fits.

    Attributes:
        value: the standard deviation or the bound, as the draw had it.
        arithmetic: "cpu-fused" or "cpu-unfused"; normals have one arithmetic, "cpu-fused".
        share: share of the values that have a word at this scale.
    """

    value: float
    arithmetic: str
    share: float


def bound_of(values: NDArray[np.float64], least: float, most: float) -> Scale | None:
    """The bound B of uniform_(-B, B) and its arithmetic, or None if no bound fits.

    Args:
        values: float64[n] that float32 holds exactly.
        least: the least that the bound can be; never below the largest magnitude, which is minded here.
        most: the most that it can be.
    """
    if len(values) == 0:
        return None
    least = max(least, float(np.abs(values).max()))
    first, last = (int(np.float32(bound).view(np.int32)) for bound in (least, most))
    if not 0 <= last - first < _MOST_BOUNDS:
        return None
    bounds = np.arange(first, last + 1, dtype=np.int32).view(np.float32)
    rng = np.random.default_rng(0)
    few, more = (_sample(rng, values, count) for count in (_FEW, _MORE))
    found: list[Scale] = []
    for arithmetic, fused in SCALINGS.items():
        hits = np.empty(len(bounds), np.int64)
        _count_on_lattice(few.astype(np.float32), bounds, fused, hits)
        for i in np.argsort(-hits, kind="stable")[:_FINALISTS]:
            bound = float(bounds[i])
            used = exact_uniforms(more, np.arange(len(more)), bound, arithmetic).used
            found.append(Scale(bound, arithmetic, used / len(more)))
    return _best(found)


def deviation_of(
    values: NDArray[np.float64], places: Places, least: float, most: float, nominals: Iterable[float] = ()
) -> Scale | None:
    """The standard deviation of normal_(0, std), or None if none of the usual ones within the interval fits.

    Args:
        values: float64[n] that float32 holds exactly.
        places: where each value comes from.
        least: the least that the standard deviation can be.
        most: the most that it can be.
        nominals: scales to try first.
    """
    found: list[Scale] = []
    near = _adjacent(places)
    few, more = near[:_FEW], near[:_MORE]
    tried: set[float] = set()
    for std in (*nominals, *usual_deviations(least, most)):
        rounded = float(np.float32(std))
        if not least <= rounded <= most or rounded in tried:
            continue
        tried.add(rounded)
        if _share(values, places, few, rounded) >= _PROMISING:
            found.append(Scale(std, "cpu-fused", _share(values, places, more, rounded)))
            if found[-1].share >= _CERTAIN:
                break
    return _best(found)


def usual_deviations(least: float, most: float) -> Iterator[float]:
    """Standard deviations within an interval that people write down, each as its formula computes it.

    Short decimals; 1/sqrt(k) and sqrt(2/k), which cover Xavier's and Kaiming's for every fan; 0.02 scaled
    by depth.
    """
    for digits in (1, 2, 3):
        step = 10.0 ** (math.floor(math.log10(most)) - digits + 1)
        for mantissa in range(math.ceil(least / step), math.floor(most / step) + 1):
            yield float(f"{mantissa}e{round(math.log10(step))}")
    for layers in range(1, _LAYERS + 1):
        yield 0.02 / math.sqrt(2.0 * layers)
    for square in (1.0, 2.0):
        first, last = math.ceil(square / most**2), math.floor(square / least**2)
        step = 1 if last <= _EVERY_FAN else _FAN_STEP
        for k in range(-(-first // step) * step, last + 1, step):
            yield math.sqrt(square / k)
            yield math.sqrt(square) / math.sqrt(k)


def _best(found: list[Scale]) -> Scale | None:
    best = max(found, key=lambda scale: scale.share, default=None)
    return best if best is not None and best.share >= LEAST_SHARE else None


def _sample(rng: np.random.Generator, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return values if len(values) <= count else rng.choice(values, count, replace=False)


def _adjacent(places: Places) -> NDArray[np.int64]:
    """Numbers of values, both members of each pair next to each other, the pairs in a random order."""
    order = np.lexsort((places.sine, places.radius))
    both = np.flatnonzero(places.radius[order[:-1]] == places.radius[order[1:]])
    both = np.random.default_rng(0).permutation(both)
    return np.stack([order[both], order[both + 1]], axis=1).ravel()


def _share(values: NDArray[np.float64], places: Places, chosen: NDArray[np.int64], std: float) -> float:
    if len(chosen) == 0:
        return 0.0
    part = Places(places.radius[chosen], places.angle[chosen], places.sine[chosen])
    return exact_normals(values[chosen], part, std).used / len(chosen)


@kernel()
def _count_on_lattice(
    values: NDArray[np.float32], bounds: NDArray[np.float32], fused: int, hits: NDArray[np.int64]
) -> None:
    """How many values have a word at each bound; counting ends early where few do."""
    for b in range(len(bounds)):
        low = np.float32(-bounds[b])
        width = np.float32(bounds[b] - low)
        count = 0
        for i in range(len(values)):
            middle = np.int64(np.rint((np.float64(values[i]) - np.float64(low)) / np.float64(width) * _FULL))
            for step in range(-1, 2):
                word = middle + step
                if word < 0 or word >= _FULL:
                    continue
                if scaled(np.uint32(word), low, width, fused) == values[i]:
                    count += 1
                    break
            if i == 47 and count < 18:
                break
        hits[b] = count
