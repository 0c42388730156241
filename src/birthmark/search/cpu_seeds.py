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

from birthmark.generators.mt19937_words import SIZE
from birthmark.recipes.seeds import NAMED, dictionary
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.search.cpu_standard import standard_values
from birthmark.survivors.split import Selection

#: Words that all seeds together may cost at one stream position: half a second of one core.
BUDGET: Final = 1 << 30
#: Rows or columns that are looked at, those nearest to the start, and values of each.
UNITS: Final = 3
VALUES: Final = 64
#: Rows or columns of at least this probability are preferred.
SURE: Final = 0.9
#: A seed's score must reach this to be a candidate; chance reaches it once in a billion tries.
LEAST_SIGMA: Final = 6.0
#: Values on which all seeds are tried, and the score there with which a seed is tried on all: an untouched
#: draw reaches 4 and more, wrong seeds once in 400.
FEW: Final = 24
PROMISING: Final = 2.8
#: Seeds that are tried together.
BATCH: Final = 256

_LOW = (1 << 32) - 1
Scores = NDArray[np.float64]


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

    @property
    def reason(self) -> str:
        """Why no seed came of it, in words."""
        if not self.tried:
            return "there are too few values to try seeds on"
        best = "" if self.sigma is None else f"; the best of them scores {self.sigma:.1f} sigma"
        return f"none of {self.trials:,} predictions by usual seeds stands out{best}"


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
    few = np.linspace(0, len(stored) - 1, min(FEW, len(stored))).astype(np.int64)
    listed = seeds_in_order()
    tried: list[Tried] = []
    best: tuple[float, int, int] | None = None
    for index in indexes:
        depth = index + int(indices[-1]) + BLOCK + SIZE
        seeds = listed[: max(1, budget // depth)]
        tried.append(Tried(index, len(seeds), len(listed)))

        def sigmas(part: NDArray[np.uint32], chosen: NDArray[np.int64], index: int = index) -> Scores:
            drawn = standard_values(part, selection.distribution, size, indices[chosen], index)
            return _sigmas(drawn, stored[chosen])

        def promising(part: NDArray[np.uint32], index: int = index) -> NDArray[np.uint32]:
            return part[sigmas(part, few, index) >= PROMISING]

        parts = [seeds[start : start + BATCH] for start in range(0, len(seeds), BATCH)]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            left = np.concatenate(list(pool.map(promising, parts)))
        if not len(left):
            continue
        scores = sigmas(left, np.arange(len(stored)), index)
        top = int(np.argmax(scores))
        if best is None or scores[top] > best[0]:
            best = float(scores[top]), int(left[top]), index
        if best[0] >= LEAST_SIGMA:
            return SeedSearch(best[1], best[2], best[0], len(stored), tuple(tried))
    return SeedSearch(None, None, best[0] if best else None, len(stored), tuple(tried))


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


def _sigmas(drawn: NDArray[np.float64], stored: NDArray[np.float64]) -> Scores:
    """The score r sqrt(n) of each row of predictions with the stored values."""
    centred = stored - stored.mean()
    centred = centred / np.sqrt(np.einsum("i,i->", centred, centred))
    drawn = drawn - drawn.mean(axis=1, keepdims=True)
    length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
    found: Scores = np.einsum("ij,j->i", drawn, centred) / np.where(length > 0.0, length, 1.0)
    return found * math.sqrt(len(stored))
