"""JAX keys that people make, tried on a tensor: seeds times ways from seed to key times orders of counters.

The random bits themselves are correlated with the stored values: they rise with the value whatever the
distribution and its scale, so that neither needs to be known, and values that training moved a little still
count. A few dozen values reject almost every key; the rest of them see to the others. What the draw was is
found afterwards.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.threefry import COUNTERS, Counters, threefry2x32
from birthmark.numerics.compiled import kernel
from birthmark.recipes.seeds import NAMED, dictionary
from birthmark.search.correlation import log10_p
from birthmark.search.neighbours.finding import SIGNIFICANT, Outcome
from birthmark.search.neighbours.jax_bits import WIDTHS, Probe, probes_of
from birthmark.search.neighbours.jax_paths import KeyPath, all_paths, keys_of, short_paths
from birthmark.search.neighbours.jax_sampler import report
from birthmark.search.neighbours.observed import Observed

#: Values on which every key is tried, and the score (in sigma) with which it is tried on more: an untouched
#: draw has nearly 4, wrong keys pass once in 6. Then more values and a higher score, which wrong keys reach
#: once in 160, and at last all that are looked at.
FEWEST: Final = 16
HOPEFUL: Final = 1.0
FEW: Final = 32
PROMISING: Final = 2.5
ALL: Final = 512
#: Small seeds that are tried with all paths, beside the named ones.
SMALL: Final = 128
#: Seeds up to here are tried with the short paths; larger ones of the dictionary only where asked for.
FLAT: Final = 20_000
#: Keys that a thread has at a time.
_ROOM: Final = 1 << 20
#: After all trials the best key must be rarer than this on the values that a search sees.
_LEAST: Final = SIGNIFICANT - 2.0


@dataclass(frozen=True, slots=True)
class Best:
    """The best key of a search."""

    sigma: float
    seed: int
    path: KeyPath
    probe: Probe


def search_jax(observed: Observed, *, seeds: NDArray[np.uint64] | None = None) -> Outcome:
    """The JAX key that drew a tensor.

    Args:
        observed: the tensor's survivors.
        seeds: uint64, seeds to try with the usual paths instead of the small ones; those below 2^32 count.
    """
    seen, unseen = observed.halves()
    if min(len(seen.values), len(unseen.values)) < FEW or np.ptp(seen.values) == 0.0:
        return Outcome(None, 0, (), "too few values, or all of them equal, for JAX keys")
    chosen = seen.spread(ALL)
    order = np.argsort(-chosen.probability, kind="stable")
    centred = chosen.values[order] - chosen.values.mean()
    centred /= np.sqrt(np.einsum("i,i->", centred, centred))
    few, many = _seeds(seeds)
    trials = 0
    searched: list[str] = []
    best: Best | None = None
    probes = probes_of(observed, chosen.indices[order])
    for tried, paths in ((few, all_paths(observed.tensor)), (many, short_paths(observed.tensor))):
        found = _best(tried, paths, probes, centred)
        trials += len(tried) * len(paths) * len(probes)
        best = found if best is None else max(best, found, key=lambda one: one.sigma)
        searched.append(
            f"JAX: {len(tried)} seeds x {len(paths)} key paths x {len(probes)} layouts of the random bits"
        )
        if _rare(best, len(centred), trials):
            return report(observed, seen, unseen, best.seed, best.path, best.probe, trials, tuple(searched))
    return Outcome(None, trials, tuple(searched), "no JAX key that was tried predicts its values")


def _rare(best: Best, n: int, trials: int) -> bool:
    return log10_p(n, best.sigma / math.sqrt(n), trials) <= _LEAST


def _seeds(wanted: NDArray[np.uint64] | None) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(the seeds that most people use, all others that are tried)."""
    named = [seed for seed in NAMED if seed < 1 << 32]
    few = np.array(list(dict.fromkeys((*range(SMALL), *named))), np.uint32)
    listed = dictionary() if wanted is None else np.asarray(wanted, np.uint64)
    reach = np.uint64(FLAT if wanted is None else (1 << 32) - 1)
    return few, listed[listed <= reach].astype(np.uint32)


def _best(
    seeds: NDArray[np.uint32],
    paths: tuple[KeyPath, ...],
    probes: tuple[Probe, ...],
    centred: NDArray[np.float64],
) -> Best:
    """The best of all keys; those of a few paths at a time."""
    roots = np.zeros((len(seeds), 2), np.uint32)
    roots[:, 1] = seeds
    room = max(1, _ROOM // len(seeds))
    groups = [paths[start : start + room] for start in range(0, len(paths), room)]

    def one(task: tuple[Counters, tuple[KeyPath, ...]]) -> Best:
        counters, group = task
        keys = keys_of(group, roots, counters)
        found = [
            Best(sigma, int(seeds[at % len(seeds)]), group[at // len(seeds)], probe)
            for probe in probes
            if probe.counters == counters
            for sigma, at in [_top(keys.reshape(-1, 2), probe, centred)]
        ]
        return max(found, key=lambda best: best.sigma)

    tasks = [(counters, group) for counters in COUNTERS for group in groups]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return max(pool.map(one, tasks), key=lambda best: best.sigma)


def _top(keys: NDArray[np.uint32], probe: Probe, centred: NDArray[np.float64]) -> tuple[float, int]:
    width, dropped = WIDTHS[probe.dtype]
    keep = np.uint32((0xFFFFFFFF << (32 - width + dropped)) & 0xFFFFFFFF)
    sigmas = np.empty(len(keys))
    _scores(keys, probe.c0, probe.c1, probe.lane, probe.shift, keep, centred, sigmas)
    at = int(np.argmax(sigmas))
    return float(sigmas[at]), at


@kernel()
def _scores(
    keys: NDArray[np.uint32],
    c0: NDArray[np.uint32],
    c1: NDArray[np.uint32],
    lane: NDArray[np.uint8],
    shift: NDArray[np.uint32],
    keep: np.uint32,
    centred: NDArray[np.float64],
    sigmas: NDArray[np.float64],
) -> None:
    """Score each key: r sqrt(n) of its random bits with the stored values; 0 where a few already say no."""
    n = len(centred)
    for k in range(len(keys)):
        xy = np.float64(0.0)
        x1 = np.float64(0.0)
        x2 = np.float64(0.0)
        y1 = np.float64(0.0)
        y2 = np.float64(0.0)
        i, end, least = 0, min(FEWEST, n), np.float64(HOPEFUL)
        sigma = np.float64(0.0)
        while i < n:
            for j in range(i, end):
                a, b = threefry2x32(keys[k, 0], keys[k, 1], c0[j], c1[j])
                word = np.uint32(a ^ b) if lane[j] == 2 else (b if lane[j] == 1 else a)
                y = np.float64(np.uint32(np.uint32(word << shift[j]) & keep))
                x = centred[j]
                xy += x * y
                x1 += x
                x2 += x * x
                y1 += y
                y2 += y * y
            m = np.float64(end)
            spread = (x2 - x1 * x1 / m) * (y2 - y1 * y1 / m)
            r = (xy - x1 * y1 / m) / np.sqrt(spread) if spread > 0.0 else np.float64(0.0)
            sigma = r * np.sqrt(m)
            if sigma < least and end < n:
                sigma = np.float64(0.0)
                break
            i = end
            end, least = (min(FEW, n), np.float64(PROMISING)) if i < FEW else (n, np.float64(0.0))
        sigmas[k] = sigma
