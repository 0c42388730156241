"""NumPy's generators under the seeds that people use, tried on a tensor.

NumPy's normals cannot be jumped to, so a seed costs the stream up to the last value that is looked at: the
survivors nearest to the tensor's start are used, and a budget bounds the work. Predicted standard values are
correlated with the stored ones, whatever their scale.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.recipes.seeds import NAMED, dictionary
from birthmark.samplers.numpy_draw import NumpyDraw
from birthmark.search.correlation import log10_p
from birthmark.search.neighbours.finding import SIGNIFICANT, NeighbourFinding, Outcome, fit
from birthmark.search.neighbours.numpy_kernels import KINDS, Kind, standard
from birthmark.search.neighbours.observed import Observed
from birthmark.search.neighbours.scales import fitted, written

#: Values that all seeds of one call may cost at one start: about a second of one core.
BUDGET: Final = 1 << 26
#: Small seeds that are tried with every call, beside the named ones, before others are tried with any.
SMALL: Final = 128
#: Rows or columns that are looked at, those nearest to the start, and values of each.
UNITS: Final = 6
VALUES: Final = 48
#: Seeds that are tried together.
BATCH: Final = 256
#: Values on which the scale is fitted.
COMPARED: Final = 4096

_LEAST: Final = SIGNIFICANT - 2.0


@dataclass(frozen=True, slots=True)
class Best:
    """The best seed of a search: its score in sigma, the call, the values skipped, and the seed."""

    sigma: float
    kind: Kind
    skip: int
    seed: int


def search_numpy(
    observed: Observed,
    *,
    seeds: NDArray[np.uint64] | None = None,
    skips: Sequence[int] = (0,),
    budget: int = BUDGET,
) -> Outcome:
    """The seed of a NumPy call that drew a tensor.

    Args:
        observed: the tensor's survivors.
        seeds: uint64, seeds to try, in this order; the dictionary of seeds if None, the named ones first.
        skips: values of the same kind that the stream gave before the tensor, each to be tried.
        budget: values that all seeds may cost for one call and skip; fewer seeds are tried where it ends.
    """
    seen, unseen = observed.halves()
    chosen = _nearest(seen)
    if min(len(chosen.values), len(unseen.values)) < 16 or np.ptp(chosen.values) == 0.0:
        return Outcome(None, 0, (), "too few values, or all of them equal, for NumPy's seeds")
    centred = chosen.values - chosen.values.mean()
    centred /= np.sqrt(np.einsum("i,i->", centred, centred))
    rounds = _rounds(seeds)
    trials = 0
    searched: list[str] = []
    best: Best | None = None
    for listed, skip, kind in ((one, skip, kind) for one in rounds for skip in skips for kind in KINDS):
        depth = skip + int(chosen.indices[-1]) + 1
        room = max(1, budget // depth) - (0 if listed is rounds[0] else len(rounds[0]))
        tried = listed[: max(0, room)]
        if KINDS[kind][0] == "RandomState":
            tried = tried[tried < np.uint64(1 << 32)]
        if not len(tried):
            continue
        trials += len(tried)
        searched.append(f"NumPy {kind} after {skip} values: {len(tried)} of {len(listed)} seeds")
        found = _best(kind, tried, chosen.indices + skip, centred, skip)
        best = found if best is None else max(best, found, key=lambda one: one.sigma)
        if _rare(best, len(centred), trials):
            return reported(observed, seen, unseen, best, trials, tuple(searched))
    return Outcome(None, trials, tuple(searched), "no seed that was tried predicts its values with NumPy")


def _rounds(wanted: NDArray[np.uint64] | None) -> tuple[NDArray[np.uint64], ...]:
    """The seeds that most people use, then all others that are tried."""
    if wanted is not None:
        return (np.asarray(wanted, np.uint64),)
    first = np.array(list(dict.fromkeys((*NAMED, *range(SMALL)))), np.uint64)
    everything = dictionary()
    return first, everything[~np.isin(everything, first)]


def _rare(best: Best, n: int, trials: int) -> bool:
    return log10_p(n, best.sigma / math.sqrt(n), trials) <= _LEAST


def _nearest(seen: Observed) -> Observed:
    """Values of the surest units nearest to the start."""
    if not len(seen.values):
        return seen
    sure = seen.probability >= np.median(seen.probability)
    units, first = np.unique(seen.unit[sure], return_index=True)
    nearest = units[np.argsort(seen.indices[sure][first], kind="stable")][:UNITS]
    keep = np.zeros(len(seen.values), np.bool_)
    for unit in nearest:
        keep[np.flatnonzero(seen.unit == unit)[: VALUES * UNITS // len(nearest)]] = True
    return seen.subset(keep)


def _best(
    kind: Kind,
    seeds: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    centred: NDArray[np.float64],
    skip: int,
) -> Best:
    def sigmas(part: NDArray[np.uint64]) -> NDArray[np.float64]:
        drawn = standard(kind, part, numbers)
        drawn -= drawn.mean(axis=1, keepdims=True)
        length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
        r: NDArray[np.float64] = np.einsum("ij,j->i", drawn, centred) / np.where(length > 0.0, length, 1.0)
        return r * math.sqrt(len(centred))

    parts = [seeds[start : start + BATCH] for start in range(0, len(seeds), BATCH)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        scores = np.concatenate(list(pool.map(sigmas, parts)))
    at = int(np.argmax(scores))
    return Best(float(scores[at]), kind, skip, int(seeds[at]))


def reported(
    observed: Observed, seen: Observed, unseen: Observed, best: Best, trials: int, searched: tuple[str, ...]
) -> Outcome:
    """The finding of a seed, scored on what the search did not see."""
    generator, distribution, dtype = KINDS[best.kind]
    few = seen.spread(COMPARED)
    base = NumpyDraw(generator, distribution, observed.size, (0.0, 1.0), dtype, best.skip)
    draws = _draws(base, few, best.seed, observed.shape)
    draw = max(draws, key=lambda one: fit(few, one.values(best.seed, few.indices), 1).equal)
    score = fit(unseen, draw.values(best.seed, unseen.indices), trials)
    if not score.significant:
        return Outcome(None, trials, searched, "the best NumPy seed does not predict the values held back")
    first, second = draw.parameters
    name = (
        f"uniform({first:g}, {second:g})" if distribution == "uniform" else f"normal({first:g}, {second:g})"
    )
    call = f"RandomState({best.seed})" if generator == "RandomState" else f"default_rng({best.seed})"
    rule = call if not best.skip else f"{call}, after {best.skip} values of the same kind"
    finding = NeighbourFinding(
        observed.tensor, "mt19937" if generator == "RandomState" else "pcg64", "numpy", "search",
        f"{name} in {dtype}", distribution, draw.parameters, dtype, "x86-64", best.seed, rule, score.n,
        score.r, score.equal, score.within_ulp, trials, score.log10_p, partial(draw.values, best.seed),
    )  # fmt: skip
    return Outcome(finding, trials, searched)


def _draws(base: NumpyDraw, few: Observed, seed: int, shape: tuple[int, ...]) -> list[NumpyDraw]:
    """The draw with every scale that may have been meant, the written ones first."""

    def with_parameters(first: float, second: float) -> NumpyDraw:
        return NumpyDraw(base.generator, base.distribution, base.size, (first, second), base.dtype, base.skip)

    drawn = base.values(seed, few.indices).astype(np.float64)
    if base.distribution == "normal":
        factor, _ = fitted(few.values, drawn)
        return [
            with_parameters(0.0, one) for one in (*(value for value, _ in written(factor, shape)), factor)
        ]
    centred, spread = fitted(few.values, 2.0 * drawn - 1.0)
    whole, whole_spread = fitted(few.values, drawn)
    if whole_spread < spread:
        return [with_parameters(0.0, one) for one in (*(value for value, _ in written(whole, shape)), whole)]
    scales = (*(value for value, _ in written(abs(centred), shape)), abs(centred))
    return [with_parameters(-one, one) for one in scales]
