"""The seeds that people use, tried on a CPU draw at given stream positions, where too few values are left.

Only the low 32 bits of a seed exist here. A seed costs its seeding and the stream up to the last word that is
looked at, so the survivors nearest to the tensor's start are used, and a budget of words bounds the work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937 import STEPPED, window_at
from birthmark.generators.mt19937_words import SIZE, advance, seeded, temper
from birthmark.numerics.compiled import kernel
from birthmark.recipes.seeds import NAMED, dictionary
from birthmark.samplers.cpu_normal import BLOCK, normal, places
from birthmark.samplers.cpu_uniform import uniform
from birthmark.survivors.split import Selection

#: Words that all seeds together may cost at one stream position: some tens of seconds on one core.
BUDGET: Final = 1 << 35
#: Rows or columns that are looked at, those nearest to the start, and values of each.
UNITS: Final = 3
VALUES: Final = 64
#: Rows or columns of at least this probability are preferred.
SURE: Final = 0.9
#: A seed's score must reach this to be a candidate; chance reaches it once in a billion tries.
LEAST_SIGMA: Final = 6.0
#: Seeds that are tried together.
BATCH: Final = 256

_LOW = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried at one stream position: so many seeds of the list, out of all of them."""

    index: int
    seeds: int
    of: int


@dataclass(frozen=True, slots=True)
class SeedSearch:
    """The end of a search.

    Attributes:
        seed: the low 32 bits of the best seed; None where none stands out.
        index: the stream position at which it does.
        sigma: the best score of all seeds, r sqrt(n), on the values that were looked at.
        values: how many those are.
        tried: what was covered.
    """

    seed: int | None
    index: int | None
    sigma: float | None
    values: int
    tried: tuple[Tried, ...]

    @property
    def trials(self) -> int:
        """Predictions that were tried."""
        return sum(one.seeds for one in self.tried)


@cache
def seeds_in_order() -> NDArray[np.uint32]:
    """The low 32 bits of the dictionary of seeds, each once, named seeds first, then ascending."""
    named = np.array([seed & _LOW for seed in NAMED], np.uint32)
    together = np.concatenate([named, (dictionary() & np.uint64(_LOW)).astype(np.uint32)])
    _, first = np.unique(together, return_index=True)
    # Named seeds keep their places; behind them small numbers come first.
    rest = first[first >= len(named)]
    ordered: NDArray[np.uint32] = together[np.concatenate([np.sort(first[first < len(named)]), rest])]
    ordered.flags.writeable = False
    return ordered


def search_seeds(selection: Selection, indexes: Sequence[int], *, budget: int = BUDGET) -> SeedSearch:
    """Try the seeds that people use on a selection.

    Args:
        selection: a normal draw of 16 elements or more, or a uniform one.
        indexes: stream positions of the draw, 0 or more.
        budget: words that all seeds may cost at one position; fewer seeds are tried where it is reached.
    """
    chosen = _nearest(selection)
    stored = selection.values[chosen]
    indices = selection.indices[chosen]
    size = int(np.prod(selection.shape, dtype=np.int64))
    if (
        len(stored) < BLOCK
        or np.all(stored == stored[0])
        or (selection.distribution == "normal" and size < BLOCK)
    ):
        return SeedSearch(None, None, None, len(stored), ())
    centred = stored - stored.mean()
    centred = centred / np.sqrt(np.einsum("i,i->", centred, centred))
    listed = seeds_in_order()
    tried: list[Tried] = []
    best: tuple[float, int, int] | None = None
    for index in indexes:
        depth = index + int(indices[-1]) + BLOCK + SIZE
        seeds = listed[: max(1, budget // depth)]
        tried.append(Tried(index, len(seeds), len(listed)))

        def sigmas(part: NDArray[np.uint32], index: int = index) -> NDArray[np.float64]:
            drawn = standard_values(part, selection.distribution, size, indices, index)
            return _correlations(drawn, centred) * math.sqrt(len(centred))

        parts = [seeds[start : start + BATCH] for start in range(0, len(seeds), BATCH)]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            all_sigmas = np.concatenate(list(pool.map(sigmas, parts)))
        top = int(np.argmax(all_sigmas))
        if best is None or all_sigmas[top] > best[0]:
            best = float(all_sigmas[top]), int(seeds[top]), index
        if best[0] >= LEAST_SIGMA:
            return SeedSearch(best[1], best[2], best[0], len(stored), tuple(tried))
    return SeedSearch(None, None, best[0] if best else None, len(stored), tuple(tried))


def standard_values(
    seeds: NDArray[np.uint32], distribution: str, size: int, indices: NDArray[np.int64], index: int
) -> NDArray[np.float64]:
    """Standard normals, or uniforms over (-1, 1), of many seeds at the same elements: float64[seeds, n].

    Args:
        seeds: their low 32 bits.
        distribution: "normal" or "uniform".
        size: elements of the tensor; 16 or more for a normal.
        indices: int64[n], flat indices.
        index: words before the draw; every element's words must lie at 0 or later.
    """
    if distribution == "uniform":
        positions, back = np.unique(indices + index, return_inverse=True)
        return uniform(_words(seeds, positions)[:, back], -1.0, 1.0).astype(np.float64)
    radius, angle, sine = places(size, indices)
    positions, back = np.unique(np.concatenate([radius, angle]) + index, return_inverse=True)
    words = _words(seeds, positions)[:, back]
    count = len(indices)
    drawn = normal(words[:, :count], words[:, count:], np.broadcast_to(sine, (len(seeds), count)), 0.0, 1.0)
    return drawn.astype(np.float64)


def _nearest(selection: Selection) -> NDArray[np.int64]:
    """Places in the selection of the values that are looked at: of the surest units nearest the start."""
    sure = selection.probability >= SURE
    if len(np.unique(selection.unit[sure])) < UNITS:
        sure = np.ones(len(selection.values), np.bool_)
    sure &= np.isfinite(selection.values)
    taken: dict[int, int] = {}
    chosen: list[int] = []
    if selection.axis == "column":  # columns run through the whole tensor: its first elements will do
        return np.flatnonzero(sure)[: UNITS * VALUES]
    for place in np.flatnonzero(sure):
        unit = int(selection.unit[place])
        if unit not in taken and len(taken) == UNITS:
            break
        if taken.setdefault(unit, 0) < VALUES * UNITS:
            taken[unit] += 1
            chosen.append(int(place))
    places_ = np.array(chosen, np.int64)
    units = selection.unit[places_]
    most = max(VALUES, VALUES * UNITS // max(1, len(taken)))
    keep = [places_[units == unit][:most] for unit in taken]
    return np.concatenate(keep) if keep else places_


def _correlations(drawn: NDArray[np.float64], centred: NDArray[np.float64]) -> NDArray[np.float64]:
    drawn = drawn - drawn.mean(axis=1, keepdims=True)
    length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
    found: NDArray[np.float64] = np.einsum("ij,j->i", drawn, centred) / np.where(length > 0.0, length, 1.0)
    return found


def _words(seeds: NDArray[np.uint32], positions: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The outputs at ascending positions of each seed's stream, uint32[seeds, positions]."""
    first = int(positions[0])
    windows = np.empty((len(seeds), SIZE), np.uint32)
    if first > STEPPED:
        for i, seed in enumerate(seeds):
            windows[i] = window_at(int(seed), first)
    else:
        first = 0
        _start(seeds, windows)
    raw = np.empty((len(seeds), len(positions)), np.uint32)
    _follow(windows, positions - first, raw)
    return temper(raw)


@kernel()
def _start(seeds: NDArray[np.uint32], windows: NDArray[np.uint32]) -> None:
    for i in range(len(seeds)):
        window = seeded(seeds[i])
        advance(window)
        windows[i] = window


@kernel()
def _follow(windows: NDArray[np.uint32], offsets: NDArray[np.int64], raw: NDArray[np.uint32]) -> None:
    """The raw words at ascending offsets from windows, which are used up."""
    for i in range(len(windows)):
        window = windows[i]
        base = 0
        for j in range(len(offsets)):
            while offsets[j] >= base + SIZE:
                advance(window)
                base += SIZE
            raw[i, j] = window[offsets[j] - base]
