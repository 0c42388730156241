"""All 2^32 seeds of NumPy's `default_rng`, for a tensor whose first values are untouched.

A seed costs its SeedSequence, four steps of a 128-bit generator and the few values that reject it: 2^32 of
them take minutes. That holds only near the start of a stream. `RandomState` costs 624 words a seed and is
left to the dictionary; its seeding is PyTorch's own.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.pcg64 import output, started, step
from birthmark.numerics.compiled import kernel
from birthmark.samplers.numpy_ziggurat import skip32, skip64, tables
from birthmark.search.correlation import log10_p
from birthmark.search.neighbours.finding import SIGNIFICANT, Outcome
from birthmark.search.neighbours.numpy_kernels import Kind
from birthmark.search.neighbours.numpy_seeds import Best, reported
from birthmark.search.neighbours.observed import Observed

SEEDS: Final = 1 << 32
#: The farthest value that is looked at, values on which every seed is tried, and those on which few are.
DEEPEST: Final = 512
FEW: Final = 16
ALL: Final = 128
#: The score on the few from which the rest is looked at; an untouched draw has nearly 4.
PROMISING: Final = 3.2
#: Seeds of a work unit.
UNIT: Final = 1 << 22

_KINDS: Final[dict[Kind, int]] = {
    "default_rng normal": 0,
    "default_rng normal float32": 1,
    "default_rng uniform": 2,
    "default_rng uniform float32": 3,
}


def search_every_seed(
    observed: Observed, *, kinds: tuple[Kind, ...] = tuple(_KINDS), low: int = 0, high: int = SEEDS
) -> Outcome:
    """The seed of a `default_rng` whose first call drew a tensor, out of all from `low` to below `high`.

    Args:
        observed: the tensor's survivors; only those among its first `DEEPEST` elements find the seed.
        kinds: the calls to try.
        low: the first seed.
        high: the one after the last, at most 2^32.

    Raises:
        UsageError: a range outside 0 to 2^32, or a call of another generator.
    """
    if not 0 <= low <= high <= SEEDS or not set(kinds) <= set(_KINDS):
        raise UsageError(f"seeds from {low} to {high} with {kinds}; expected 0 to 2^32, of default_rng.")
    seen, unseen = observed.halves()
    near = seen.subset(seen.indices < DEEPEST)
    near = near.subset(np.arange(len(near.values)) < ALL)
    if min(len(near.values), len(unseen.values)) < FEW or np.ptp(near.values) == 0.0:
        return Outcome(None, 0, (), f"too few values among the first {DEEPEST}, or all of them equal")
    centred = near.values - near.values.mean()
    trials = 0
    searched: list[str] = []
    for kind in kinds:
        best = _best(kind, near.indices, centred, low, high)
        trials += high - low
        searched.append(f"NumPy {kind}: all seeds from {low} to {high - 1}")
        if log10_p(len(centred), best.sigma / math.sqrt(len(centred)), trials) <= SIGNIFICANT - 2.0:
            return reported(observed, seen, unseen, best, trials, tuple(searched))
    return Outcome(None, trials, tuple(searched), "no seed of default_rng predicts its first values")


def _best(kind: Kind, numbers: NDArray[np.int64], centred: NDArray[np.float64], low: int, high: int) -> Best:
    double, single = tables(52), tables(23)

    def one(start: int) -> tuple[float, int]:
        sigma, seed = _scan(
            np.uint64(start), np.uint64(min(high, start + UNIT)), _KINDS[kind], numbers, centred,
            double.inside, double.width, double.height, single.inside, single.width, single.height,
        )  # fmt: skip
        return float(sigma), int(seed)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        sigma, seed = max(pool.map(one, range(low, high, UNIT)), default=(0.0, 0))
    return Best(sigma, kind, 0, seed)


@kernel()
def _scan(
    low: np.uint64,
    high: np.uint64,
    kind: int,
    numbers: NDArray[np.int64],
    centred: NDArray[np.float64],
    inside: NDArray[np.uint64],
    width: NDArray[np.float64],
    height: NDArray[np.float64],
    inside32: NDArray[np.uint64],
    width32: NDArray[np.float32],
    height32: NDArray[np.float32],
) -> tuple[np.float64, np.uint64]:
    n = len(numbers)
    state = np.empty(5, np.uint64)
    drawn = np.empty(n, np.float64)
    single = np.empty(n, np.float32)
    best, found = np.float64(0.0), np.uint64(0)
    seed = low
    while seed < high:
        for stop in (FEW, n):
            state[0], state[1], state[2], state[3] = started(seed)
            state[4] = np.uint64(0)
            if kind == 0:
                skip64(state, 0, numbers[:stop], inside, width, height, drawn[:stop])
            elif kind == 1:
                skip32(state, 0, numbers[:stop], inside32, width32, height32, single[:stop])
                for i in range(stop):
                    drawn[i] = np.float64(single[i])
            else:
                _uniforms(state, numbers[:stop], kind == 3, drawn[:stop])
            sigma = _sigma(drawn[:stop], centred[:stop])
            if sigma < PROMISING:
                break
            if stop == n and sigma > best:
                best, found = sigma, seed
        seed += np.uint64(1)
    return best, found


@kernel(inline=True)
def _uniforms(
    state: NDArray[np.uint64], numbers: NDArray[np.int64], narrow: bool, out: NDArray[np.float64]
) -> None:
    at = -1
    word = np.uint64(0)
    for i in range(len(numbers)):
        wanted = numbers[i] >> 1 if narrow else numbers[i]
        while at < wanted:
            state[0], state[1] = step(state[0], state[1], state[2], state[3])
            at += 1
            word = output(state[0], state[1])
        shift = np.uint64(32) if narrow and numbers[i] & 1 else np.uint64(0)
        kept = np.uint64((word >> shift) & np.uint64(0xFFFFFFFF)) if narrow else word
        out[i] = np.float64(kept)


@kernel(inline=True)
def _sigma(x: NDArray[np.float64], y: NDArray[np.float64]) -> np.float64:
    n = np.float64(len(x))
    sx, sy, sxx, syy, sxy = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        sx += x[i]
        sy += y[i]
        sxx += x[i] * x[i]
        syy += y[i] * y[i]
        sxy += x[i] * y[i]
    spread = (sxx - sx * sx / n) * (syy - sy * sy / n)
    return np.float64((sxy - sx * sy / n) / np.sqrt(spread) * np.sqrt(n)) if spread > 0.0 else np.float64(0.0)
