"""With the seed known: at which offset of its stream another tensor was drawn.

A model's later tensors come from the same generator, some calls on. How many depends on every draw between,
so the near offsets are simply tried, and every one of them is counted as a trial.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from birthmark.samplers.fill import standard_at
from birthmark.search.correlation import correlation, log10_p
from birthmark.search.families import other_families, own_family
from birthmark.search.layouts import resolve
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched, StageReport
from birthmark.search.plan import VERIFIED
from birthmark.search.progress import Progress, Status
from birthmark.search.report import hidden_text, hypothesis_text
from birthmark.search.space import Prediction, predictions, shardings
from birthmark.survivors.split import Selection

#: Offsets that are tried: the multiples of 4 up to this one.
LAST = 4096
#: Elements of the first look: untouched values stand out at their true offset with far fewer.
LOOK = 256


def search_offsets(
    selection: Selection,
    seed: int,
    layouts: Sequence[int],
    options: Options | None = None,
    *,
    last: int = LAST,
    progress: Progress | None = None,
) -> Outcome:
    """Try every near offset of a known seed on a tensor.

    Args:
        selection: what may be seen of the tensor.
        seed: the seed of rank 0.
        layouts: the G's that are possible, for example those that the seed's own tensor leaves.
        options: which shardings to try, and whether truncated normals; the rest of them does not matter here.
        last: the last offset to try.
        progress: whom to tell.

    Returns:
        At most one candidate: the offset that stands out after all trials, with its layout.
    """
    began = time.monotonic()
    wanted = options or Options()
    cuts = shardings(selection, wanted.ways)
    others = other_families(selection) if wanted.truncated else ()
    classes = [
        prediction
        for family in ((own_family(selection), *others) if len(selection.indices) else ())
        for prediction in predictions(selection, layouts, cuts, family=family)
    ]
    offsets = np.arange(0, last + 1, 4, dtype=np.uint64)
    look = np.unique(np.linspace(0, max(len(selection.indices) - 1, 0), LOOK).astype(np.int64))
    scores = np.full((len(classes), len(offsets)), -1.0)
    done = 0
    try:
        for each in classes:
            scores[done] = _scores(selection, seed, each, look, offsets)
            done += 1
            if progress is not None:
                progress.update(_status(done, len(classes), len(offsets), time.monotonic() - began))
    except KeyboardInterrupt:
        pass
    trials = done * len(offsets)
    candidate = None
    if done == len(classes) and trials:
        row, column = divmod(int(np.argmax(scores)), len(offsets))
        best, drawn = int(offsets[column]), classes[row].hypothesis.draw.distribution
        moved = [
            replace(each, hypothesis=replace(each.hypothesis, offset=best))
            for each in classes
            if each.hypothesis.draw.distribution == drawn
        ]
        candidate = _judged(selection, seed, moved, trials)
    where = f"one of the offsets 0 to {last}"
    texts = tuple(hypothesis_text(selection, cut, where) for cut in cuts)
    texts += tuple(f"{hidden_text(family, where)}, the same shardings" for family in others)
    threads = tuple(sorted(set(layouts)))
    complete = done == len(classes)
    report = StageReport(
        name="offsets",
        seeds=1,
        predictions=len(classes) * len(offsets),
        threads=threads,
        at_least=None,
        probes=0,
        miss_chance=0.0,
        units=(done, len(classes)),
        complete=complete,
        trials=trials,
        hits=0,
    )
    searched = Searched(
        seeds=(seed, seed + 1),
        layouts=threads if complete else (),
        at_least=None,
        at_least_miss=1.0,
        hypotheses=texts,
        candidates_tested=1 if candidate else 0,
        complete=complete,
        trials=max(trials, 1),
        probes=0,
        miss_chance=0.0 if complete else 1.0,
        stages=(report,),
        seconds=time.monotonic() - began,
    )
    return Outcome((candidate,) if candidate else (), searched, stopped=not complete)


def _judged(selection: Selection, seed: int, moved: Sequence[Prediction], trials: int) -> Candidate | None:
    """The best prediction at the best offset, or None where it does not stand out after all trials."""
    found = resolve(selection, seed, moved)
    score = log10_p(found.n, found.r, trials)
    if score >= VERIFIED:
        return None
    return Candidate(found.hypothesis, seed, found.n, found.r, score, found.not_excluded, found.rival)


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
    raw = standard_at(
        hypothesis.draw.source,
        np.broadcast_to(seeds, shape).ravel(),
        counter.ravel(),
        np.broadcast_to(place.thread, shape).ravel(),
        np.broadcast_to(place.lane, shape).ravel(),
        hypothesis.arithmetic,
        double=hypothesis.draw.dtype == "float64",
    )
    standard = hypothesis.draw.standard(raw).reshape(shape)
    stored = selection.values[look]
    return np.array([correlation(stored, each) for each in standard])


def _status(done: int, classes: int, offsets: int, seconds: float) -> Status:
    rate = done * offsets / max(seconds, 1e-9)
    return Status(
        stage="offsets",
        probe=1,
        probes=1,
        share=done / classes,
        seconds=seconds,
        seconds_left=(classes - done) * offsets / rate,
        seeds_per_second=rate,
        blocks_per_second=rate,
        hits=0,
        candidates=0,
    )
