"""Seeds that hang together with known ones, on a tensor of its own: experts, layers, stages of one run.

Processes of one run have seeds of one rule. So where a seed is known, another tensor that it does not explain
is tried with all that rules make of the same base seed, with seeds near the known ones, and with those in a
few steps of any rule; each at the first offsets, since a process draws its own tensors one after the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.hypothesis import Location
from birthmark.recipes.seed_rules import RULES
from birthmark.recipes.sharding import SEED_SPACE, WHOLE
from birthmark.samplers.fill import standard_at
from birthmark.search.correlation import log10_p
from birthmark.search.layouts import resolve
from birthmark.search.outcome import Candidate, Outcome, Searched, one_stage
from birthmark.search.plan import VERIFIED
from birthmark.search.space import Prediction, predictions
from birthmark.survivors.split import Selection

#: The name of the stage.
STAGE: Final = "related seeds"
#: Seeds on either side of a known one, and steps of a rule on either side.
NEAR, STEPS = 64, 64
#: Seeds that may be tried at the most; beyond, those of rules are left out.
MOST_SEEDS: Final = 1 << 14
#: The last offset that is tried.
LAST: Final = 128
#: Values of the first look and of the second, and the scores that they must reach.
FEW, MORE = 24, 256
PROMISING, LEAST_SIGMA = 2.8, 8.0
#: Predictions that are made together.
BATCH: Final = 1 << 16


def related_seeds(known: Sequence[int]) -> NDArray[np.uint64]:
    """Seeds that may belong to other processes of the same run: uint64, ascending, each once."""
    sizes = sorted({step.size for rule in RULES for step in rule.steps} | {10, 100, 1000})
    found: set[int] = set()
    for seed in known:
        found.update(range(seed - NEAR, seed + NEAR + 1))
        found.update(seed + size * count for size in sizes for count in range(-STEPS, STEPS + 1))
    for seed in known:
        for rule in RULES:
            base = rule.base(seed)
            if base is None or base >= SEED_SPACE >> 1 or len(found) > MOST_SEEDS:
                continue
            for other in RULES:
                if other.framework == rule.framework:
                    found.update(int(each) for each in other.seeds([base]))
    return np.unique(np.array([seed % SEED_SPACE for seed in found], np.uint64))


def search_related(selection: Selection, known: Sequence[int], layouts: Sequence[int]) -> Outcome:
    """Try seeds that hang together with known ones, at the first offsets.

    Args:
        selection: what may be seen of the tensor.
        known: the seeds; one or more.
        layouts: the G's that are possible.

    Returns:
        The candidate that stands out after all trials, if there is one.
    """
    began = time.monotonic()
    seeds = related_seeds(known)
    offsets = np.arange(0, LAST + 1, 4, dtype=np.uint64)
    classes = predictions(selection, layouts, (WHOLE,))
    trials = max(1, len(seeds) * len(offsets) * len(classes))
    found = _standing_out(selection, classes[0], seeds, offsets)
    candidates = []
    for seed, offset in found:
        best = resolve(selection, seed, predictions(selection, layouts, (WHOLE,), offset))
        score = log10_p(best.n, best.r, trials)
        if score < VERIFIED:
            candidates.append(
                Candidate(best.hypothesis, seed, best.n, best.r, score, best.not_excluded, best.rival)
            )
    candidates.sort(key=lambda one: -one.r)
    searched = _searched(len(seeds), trials, layouts, len(found), time.monotonic() - began)
    return Outcome(tuple(candidates[:1]), searched, False)


def _standing_out(
    selection: Selection, prediction: Prediction, seeds: NDArray[np.uint64], offsets: NDArray[np.uint64]
) -> list[tuple[int, int]]:
    """Seeds and offsets that predict the first values of a selection: those that layouts place alike."""
    first = np.flatnonzero(np.isfinite(selection.values))[:MORE]
    pairs = np.stack([each.ravel() for each in np.meshgrid(seeds, offsets, indexing="ij")])
    for look, limit in (
        (first[np.unique(np.linspace(0, len(first) - 1, FEW).astype(np.int64))], PROMISING),
        (first, LEAST_SIGMA),
    ):
        place = prediction.hypothesis.locate(selection.indices[look])
        kept = [
            _scores(selection.values[look], prediction, place, pairs[:, begin : begin + BATCH]) >= limit
            for begin in range(0, pairs.shape[1], BATCH)
        ]
        pairs = pairs[:, np.concatenate([np.zeros(0, np.bool_), *kept])]
    return [(int(seed), int(offset)) for seed, offset in pairs.T]


def _scores(
    stored: NDArray[np.float64], prediction: Prediction, place: Location, pairs: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """The score r sqrt(n) of each seed at its offset on some values."""
    shape = (pairs.shape[1], len(stored))
    counter = place.counter + pairs[1][:, None] // np.uint64(4)
    raw = standard_at(
        prediction.hypothesis.draw.source,
        np.broadcast_to(pairs[0][:, None], shape).ravel(),
        counter.ravel(),
        np.broadcast_to(place.thread, shape).ravel(),
        np.broadcast_to(place.lane, shape).ravel(),
        prediction.hypothesis.arithmetic,
        double=prediction.hypothesis.draw.dtype == "float64",
    )
    drawn = prediction.hypothesis.draw.standard(raw).reshape(shape).astype(np.float64)
    drawn -= drawn.mean(axis=1, keepdims=True)
    centred = stored - stored.mean()
    length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn)) * math.sqrt(
        float(np.einsum("i,i->", centred, centred))
    )
    along: NDArray[np.float64] = np.einsum("ij,j->i", drawn, centred)
    return along / np.where(length > 0.0, length, 1.0) * math.sqrt(len(stored))


def _searched(seeds: int, trials: int, layouts: Sequence[int], kept: int, seconds: float) -> Searched:
    return one_stage(
        STAGE,
        f"seeds of the same run as the one that was found, at the offsets 0 to {LAST}",
        layouts,
        seeds=seeds,
        predictions=trials // max(1, seeds),
        trials=trials,
        kept=kept,
        seconds=seconds,
    )
