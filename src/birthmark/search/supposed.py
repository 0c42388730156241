"""Likely seeds at the places where recipes suppose that a tensor was drawn.

The plain search knows one place, the generator's start. Recipes know others: behind all constructors, behind
an output layer, in the shards of a distributed tensor. There are dozens of them, and each layout has its own
offset at each, so a budget of predictions is shared out: every place gets the same seeds, the likeliest of
the dictionary, as many as the budget allows. A few untouched values reject a wrong seed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import NothingToSearch
from birthmark.hypothesis import Hypothesis, Location
from birthmark.recipes.hypotheses import Supposition
from birthmark.recipes.seeds import in_order
from birthmark.recipes.sharding import Sharding
from birthmark.samplers.draw import Draw
from birthmark.samplers.fill import standard_at
from birthmark.samplers.storing import TRUNCATED
from birthmark.search.correlation import log10_p
from birthmark.search.families import NORMAL, TRUNCATED_NORMAL, UNIFORM, Family
from birthmark.search.layouts import resolve
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched, StageReport
from birthmark.search.places import CALL_BITS
from birthmark.search.plan import VERIFIED
from birthmark.search.progress import Progress, Status
from birthmark.search.space import Prediction, predictions
from birthmark.survivors.split import Selection

#: The stage's name in a search's account.
STAGE: Final = "recipes"
#: Predictions, a seed at a place each, that one search may cost: about a second of one core.
BUDGET: Final = 1 << 20
#: Values on which all seeds are tried, and the score there with which a seed is tried on more: an untouched
#: draw reaches 4 and more, wrong seeds once in 400.
FEW: Final = 24
PROMISING: Final = 2.8
#: Values of the second look, and the score that a candidate must have there.
MORE: Final = 256
LEAST_SIGMA: Final = 6.0
#: Values that are taken of one unit, and the probability of units that are preferred.
OF_UNIT: Final = 64
SURE: Final = 0.9
#: Seeds that are tried together.
BATCH: Final = 8192
#: Elements of a distributed tensor from which its shards' offsets no longer fit a packed place.
MOST_DISTRIBUTED: Final = 4 << CALL_BITS


@dataclass(frozen=True, slots=True)
class Place:
    """One offset of a supposition.

    Attributes:
        supposed: it.
        offset: of the draw on rank 0.
        classes: the distinct predictions of the layouts that give this offset.
    """

    supposed: Supposition
    offset: int
    classes: tuple[Prediction, ...]


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where the first values that are looked at come from under some predictions, and the first of those."""

    place: Place
    hypothesis: Hypothesis


def places_of(selection: Selection, supposed: Sequence[Supposition], options: Options) -> tuple[Place, ...]:
    """The places that a plain search does not cover, likelier ones first.

    Args:
        selection: what may be seen of the tensor.
        supposed: what recipes suppose about it.
        options: which layouts may be meant, and whether truncated normals.
    """
    found = []
    for one in supposed:
        family = _family(selection, one.draw, truncated=options.truncated)
        if one.plain or one.generator != "cuda" or family is None or not _allowed(selection, one):
            continue
        groups: dict[int, list[int]] = {}
        for threads, offset in one.offsets.items():
            if options.layouts is None or threads in options.layouts:
                groups.setdefault(offset, []).append(threads)
        cut = Sharding(one.shards, "dtensor") if one.shards > 1 else one.sharding
        for offset, layouts in sorted(groups.items()):
            found.append(Place(one, offset, predictions(selection, layouts, [cut], offset, family)))
    return tuple(found)


def search_supposed(
    selection: Selection,
    places: Sequence[Place],
    options: Options | None = None,
    *,
    seeds: NDArray[np.uint64] | None = None,
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Outcome:
    """Try the likeliest seeds at the places where recipes suppose that a tensor was drawn.

    Args:
        selection: what may be seen of the tensor.
        places: from `places_of`; at least one.
        options: how many threads to use; the rest of them does not matter here.
        seeds: the seeds to try; None for the likeliest.
        budget: predictions, a seed at a place each, that it may cost.
        progress: whom to tell.

    Returns:
        The candidates that stand out after all trials, best first.

    Raises:
        NothingToSearch: there are too few values.
    """
    began = time.monotonic()
    wanted = options or Options()
    look = _look(selection)
    if len(look) < LEAST_SIGMA**2:
        raise NothingToSearch(
            f"{len(look)} untouched values of {selection.tensor}: {LEAST_SIGMA**2:.0f} are needed to try "
            "seeds at the places that recipes suppose."
        )
    spots = _spots(selection, places, look)
    if seeds is None:
        seeds = in_order()[: max(1, budget // max(1, len(spots)))]
    each_seed = sum(len(place.classes) for place in places)
    found: dict[tuple[int, int], _Spot] = {}
    done, passed = 0, 0
    try:
        with ThreadPoolExecutor(wanted.threads, thread_name_prefix="birthmark-recipes") as pool:
            tried = pool.map(lambda spot: _promising(selection, spot, look, seeds), spots)
            for spot, (promising, good) in zip(spots, tried, strict=True):
                done += 1
                passed += promising
                found |= {(spot.place.offset, int(seed)): spot for seed in good}
                if progress is not None:
                    progress.update(_status(done, len(spots), len(seeds), time.monotonic() - began))
    except KeyboardInterrupt:
        pass
    trials = max(1, len(seeds) * each_seed)
    complete = done == len(spots)
    candidates = [_judged(selection, seed, spot, places, trials) for (_, seed), spot in found.items()]
    best = sorted((one for one in candidates if one is not None), key=lambda one: one.log10_p)
    report = StageReport(
        name=STAGE,
        seeds=len(seeds),
        predictions=each_seed,
        threads=tuple(sorted({t for place in places for one in place.classes for t in one.threads})),
        at_least=None,
        probes=0,
        miss_chance=0.0,
        units=(done, len(spots)),
        complete=complete,
        trials=trials,
        hits=passed,
    )
    searched = Searched(
        seeds=(0, 0),
        layouts=(),
        at_least=None,
        at_least_miss=1.0,
        hypotheses=tuple(_texts(places, seeds)),
        candidates_tested=len(found),
        complete=complete,
        trials=trials,
        probes=0,
        miss_chance=1.0,
        stages=(report,),
        seconds=time.monotonic() - began,
    )
    return Outcome(tuple(best), searched, stopped=not complete)


def _family(selection: Selection, draw: Draw, *, truncated: bool) -> Family | None:
    """The family that a supposed draw belongs to; None where the values do not look like one."""
    if draw.distribution == "uniform" or selection.distribution == "uniform":
        return UNIFORM if draw.distribution == selection.distribution else None
    if draw.distribution != TRUNCATED or draw.source == "normal":  # most values of redraws are plain normals
        return NORMAL
    return TRUNCATED_NORMAL if truncated else None


def _allowed(selection: Selection, one: Supposition) -> bool:
    ways = max(one.shards, one.sharding.ways)
    fits = one.draw.shape == selection.shape and selection.shape[0] % ways == 0
    return fits and (one.shards == 1 or one.draw.size < MOST_DISTRIBUTED)


def _look(selection: Selection) -> NDArray[np.int64]:
    """Places in the selection of the values that are looked at: of sure units, nearest to the start.

    There layouts agree, so that most places of one offset are one.
    """
    sure = np.isfinite(selection.values)
    if int(np.count_nonzero(sure & (selection.probability >= SURE))) >= FEW:
        sure &= selection.probability >= SURE
    order = np.flatnonzero(sure)
    if selection.axis != "row":
        return order[:MORE]
    units = selection.unit[order]
    _, start = np.unique(units, return_index=True)  # rows ascend, so each is one run
    within = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
    return order[within < OF_UNIT][:MORE]


def _spots(selection: Selection, places: Sequence[Place], look: NDArray[np.int64]) -> list[_Spot]:
    """The distinct ways in which the places fill the values that are looked at."""
    found: dict[tuple[object, ...], _Spot] = {}
    for place in places:
        for one in place.classes:
            at = one.hypothesis.locate(selection.indices[look])
            where = b"".join(part.tobytes() for part in (at.rank, at.counter, at.thread, at.lane))
            key = (one.hypothesis.draw.distribution, one.hypothesis.sharding.seed_step, where)
            found.setdefault(key, _Spot(place, one.hypothesis))
    return list(found.values())


def _promising(
    selection: Selection, spot: _Spot, look: NDArray[np.int64], seeds: NDArray[np.uint64]
) -> tuple[int, NDArray[np.uint64]]:
    """How many seeds pass the first look, and those that pass the second."""
    few = np.unique(np.linspace(0, len(look) - 1, FEW).astype(np.int64))
    passed = _passing(selection, spot.hypothesis, look[few], seeds, PROMISING)
    return len(passed), _passing(selection, spot.hypothesis, look, passed, LEAST_SIGMA)


def _passing(
    selection: Selection,
    hypothesis: Hypothesis,
    which: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    limit: float,
) -> NDArray[np.uint64]:
    """The seeds whose score r sqrt(n) on some values reaches a limit."""
    stored = selection.values[which] - selection.values[which].mean()
    length = math.sqrt(float(np.einsum("i,i->", stored, stored)))
    if length == 0.0:
        return seeds[:0]
    place = hypothesis.locate(selection.indices[which])
    kept = []
    for begin in range(0, len(seeds), BATCH):
        part = seeds[begin : begin + BATCH]
        drawn = _standard(hypothesis, place, part)
        drawn -= drawn.mean(axis=1, keepdims=True)
        own = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
        r = np.einsum("ij,j->i", drawn, stored / length) / np.where(own > 0.0, own, 1.0)
        kept.append(part[r * math.sqrt(len(which)) >= limit])
    return np.concatenate(kept) if kept else seeds[:0]


def _standard(hypothesis: Hypothesis, place: Location, seeds: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Standard values of many seeds at the same elements: float64[seeds, elements]."""
    shape = (len(seeds), len(place.rank))
    keys = seeds[:, None] + (place.rank * hypothesis.sharding.seed_step).astype(np.uint64)
    raw = standard_at(
        hypothesis.draw.source,
        np.broadcast_to(keys, shape).ravel(),
        np.broadcast_to(place.counter, shape).ravel(),
        np.broadcast_to(place.thread, shape).ravel(),
        np.broadcast_to(place.lane, shape).ravel(),
        hypothesis.arithmetic,
        double=hypothesis.draw.dtype == "float64",
    )
    return hypothesis.draw.standard(raw).reshape(shape).astype(np.float64)


def _judged(
    selection: Selection, seed: int, spot: _Spot, places: Sequence[Place], trials: int
) -> Candidate | None:
    """A seed under the best prediction at its offset; None where it does not stand out after all trials."""
    distribution = spot.hypothesis.draw.distribution
    same = [
        one
        for place in places
        for one in place.classes
        if place.offset == spot.place.offset and one.hypothesis.draw.distribution == distribution
    ]
    found = resolve(selection, seed, same)
    score = log10_p(found.n, found.r, trials)
    if score >= VERIFIED:
        return None
    return Candidate(found.hypothesis, seed, found.n, found.r, score, found.not_excluded, found.rival)


def _texts(places: Sequence[Place], seeds: NDArray[np.uint64]) -> list[str]:
    """The suppositions in words, with the range of their offsets; numbers of shards side by side."""
    offsets: dict[int, tuple[Supposition, list[int]]] = {}
    for place in places:
        offsets.setdefault(id(place.supposed), (place.supposed, []))[1].append(place.offset)
    found: dict[tuple[str, str, str], list[int]] = {}
    for one, begun in offsets.values():
        who = " or ".join(name.partition(" on ")[0] if one.shards > 1 else name for name in one.recipes)
        low, high = min(begun), max(begun)
        where = f"offset {low}" if low == high else f"offsets {low} to {high}, each layout's own"
        cut = "whole tensor"
        if one.sharding.ways > 1:
            cut = f"{one.sharding.ways} vocabulary shards, seed plus rank"
        elif one.shards > 1:
            cut = "shards of a distributed tensor under one seed"
        found.setdefault((who, f"{one.draw.distribution} draw", f"{where}, {cut}"), []).append(one.shards)
    tried = f"the {len(seeds):,} likeliest seeds of the dictionary" if len(seeds) > 1 else f"seed {seeds[0]}"
    texts = []
    for (who, what, where), shards in found.items():
        counts = f" ({', '.join(str(each) for each in sorted(set(shards)))})" if shards[0] > 1 else ""
        texts.append(
            f"one {what} (PyTorch on CUDA or ROCm, Philox) at {where}{counts}, as supposed by {who}, scale "
            f"estimated: {tried}"
        )
    return texts


def _status(done: int, spots: int, seeds: int, seconds: float) -> Status:
    rate = done * seeds / max(seconds, 1e-9)
    return Status(
        stage=STAGE,
        probe=1,
        probes=1,
        share=done / max(spots, 1),
        seconds=seconds,
        seconds_left=(spots - done) * seeds / rate if rate else None,
        seeds_per_second=rate,
        blocks_per_second=rate,
        hits=0,
        candidates=0,
    )
