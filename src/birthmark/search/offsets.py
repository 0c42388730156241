"""With the seed known: at which offset of its stream another tensor was drawn.

A model's later tensors come from the same generator, some calls on. How many depends on every draw between,
so the near offsets are simply tried, and every one of them is counted as a trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.recipes.sharding import WHOLE, Sharding
from birthmark.samplers.fill import standard_at
from birthmark.search.correlation import correlation, log10_p
from birthmark.search.layouts import resolve
from birthmark.search.outcome import Candidate
from birthmark.search.plan import VERIFIED
from birthmark.search.space import Prediction, predictions
from birthmark.survivors.split import Selection

#: Offsets that are tried: multiples of 4 up to this one.
LAST = 4096
#: Elements of the first look; with so few, a true offset of untouched values stands out all the same.
LOOK = 256


@dataclass(frozen=True, slots=True)
class OffsetOutcome:
    """What trying offsets came to.

    Attributes:
        candidate: the offset that stands out after all trials, with its layout; None where none does.
        trials: offsets times distinct predictions.
    """

    candidate: Candidate | None
    trials: int


def search_offsets(
    selection: Selection,
    seed: int,
    layouts: Sequence[int],
    *,
    sharding: Sharding = WHOLE,
    last: int = LAST,
) -> OffsetOutcome:
    """Try every near offset of a known seed on another tensor.

    Args:
        selection: what may be seen of the tensor.
        seed: the seed of rank 0.
        layouts: the G's that the seed's own tensor leaves possible.
        sharding: how that tensor was cut; a whole tensor is tried as well.
        last: the last offset, a multiple of 4.
    """
    if len(selection.indices) == 0 or not layouts:
        return OffsetOutcome(None, 0)
    vocabulary = selection.axis == "row" and len(selection.shape) == 2 and sharding.fits(selection.shape)
    cuts = (WHOLE, sharding) if sharding.ways > 1 and vocabulary else (WHOLE,)
    offsets = np.arange(0, last + 1, 4, dtype=np.uint64)
    classes = predictions(selection, layouts, cuts)
    trials = len(classes) * len(offsets)
    look = np.unique(np.linspace(0, len(selection.indices) - 1, LOOK).astype(np.int64))
    scores = np.stack([_scores(selection, seed, each, look, offsets) for each in classes])
    best = int(offsets[int(np.argmax(scores.max(axis=0)))])
    moved = [replace(each, hypothesis=replace(each.hypothesis, offset=best)) for each in classes]
    found = resolve(selection, seed, moved)
    score = log10_p(found.n, found.r, trials)
    if score >= VERIFIED:
        return OffsetOutcome(None, trials)
    candidate = Candidate(found.hypothesis, seed, found.n, found.r, score, found.not_excluded, found.rival)
    return OffsetOutcome(candidate, trials)


def _scores(
    selection: Selection,
    seed: int,
    prediction: Prediction,
    look: NDArray[np.int64],
    offsets: NDArray[np.uint64],
) -> NDArray[np.float64]:
    """The correlation at every offset, on the elements of the first look."""
    hypothesis = prediction.hypothesis
    place = hypothesis.locate(selection.indices[look])
    seeds = np.array([hypothesis.sharding.seed_of(seed, int(rank)) for rank in place.rank], np.uint64)
    shape = (len(offsets), len(look))
    counter = place.counter + offsets[:, None] // np.uint64(4)
    standard = standard_at(
        hypothesis.draw.distribution,
        np.broadcast_to(seeds, shape).ravel(),
        counter.ravel(),
        np.broadcast_to(place.thread, shape).ravel(),
        np.broadcast_to(place.lane, shape).ravel(),
        hypothesis.arithmetic,
        double=hypothesis.draw.dtype == "float64",
    ).reshape(shape)
    stored = selection.values[look]
    return np.array([correlation(stored, each) for each in standard])
