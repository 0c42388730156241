"""Weak traces: which of the seeds that people use still shines through values that were all trained.

No value is predicted to within rounding, so no probe can reject a seed; only a correlation over thousands of
values speaks. Every seed is scored on the first wave (see `first_wave`), and the few that remain under every
layout on more and more of the selection.

Values are levelled first (see `survivors.levelling`). Under a wrong seed the predicted values are
independent draws, whatever structure the stored ones have, so that a score is standard normal there in any
case; levelling only keeps a few large values from drowning the trace.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import exhaustive_threads, table_threads
from birthmark.errors import NothingToSearch
from birthmark.recipes.seeds import dictionary
from birthmark.samplers.selftest import check
from birthmark.search.correlation import correlation, log10_p
from birthmark.search.first_wave import DISTRIBUTIONS, LEAST_R, FirstWave, Scored, first_wave
from birthmark.search.layouts import resolve
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched, StageReport
from birthmark.search.progress import Progress, Status
from birthmark.search.report import hypothesis_text
from birthmark.search.space import Prediction, predictions, shardings
from birthmark.survivors.levelling import levelled
from birthmark.survivors.split import Selection
from birthmark.survivors.survivor import Distribution

#: Seeds that are looked at under every layout, at the most: the best.
MOST_KEPT = 32
#: Values of that look, and the sigma it asks of the best layout: chance gives some 3 among hundreds of them.
LOOK, LOOK_LIMIT = 1 << 14, 4.0
#: A candidate is handed over when its log10 p, after all trials, is below this.
SIGNIFICANT = -4.0
#: Ranges of seeds are tried up to this many; all 2^32 would take days.
MOST_RANGE = 1 << 22


@dataclass(slots=True)
class _State:
    """What has been done so far."""

    seeds: NDArray[np.uint64]
    began: float
    done: int = 0
    kept: list[Scored] = field(default_factory=list)
    stopped: bool = False


def weak_candidates(
    selection: Selection, options: Options | None = None, *, progress: Progress | None = None
) -> Outcome:
    """Search the dictionary of seeds for one that trained values still correlate with.

    Args:
        selection: values of a trained tensor, its first rows among them (see `survivors.traced`).
        options: layouts, shardings, offset and workers; whether the dictionary is tried, and which seeds
            beside it. Its range of seeds is tried only where it has no more than `MOST_RANGE` seeds.
        progress: whom to tell.

    Returns:
        The candidates whose correlation stands out after all trials, best first; `n` and `r` are those of the
        levelled selection. `stopped` is set after Ctrl-C.

    Raises:
        NothingToSearch: too few values lie in the first wave that all layouts share, or no seed is left.
        SelfTestFailed: this machine does not compute the known answers.
    """
    state = _State(np.zeros(0, np.uint64), time.monotonic())
    check()
    wanted = options or Options()
    layouts = _layouts(wanted)
    columns = math.prod(selection.shape[1:]) if len(selection.shape) > 1 else math.prod(selection.shape)
    level = replace(selection, values=levelled(selection.values, selection.indices, columns))
    first = first_wave(level, min(layouts))
    state.seeds = _seeds(wanted)
    classes = {
        each: predictions(
            replace(selection, distribution=each), layouts, shardings(selection, wanted.ways), wanted.offset
        )
        for each in DISTRIBUTIONS
    }
    _score(state, first, wanted, progress)
    trials = max(1, state.done * sum(len(each) for each in classes.values()))
    candidates = [
        candidate
        for one in state.kept
        if (candidate := _candidate(level, one, classes[one.distribution], trials)) is not None
    ]
    candidates.sort(key=lambda one: one.log10_p)
    searched = _searched(selection, wanted, layouts, first, classes, state, trials)
    return Outcome(tuple(candidates), searched, state.stopped)


def _layouts(options: Options) -> tuple[int, ...]:
    if options.layouts is not None:
        return tuple(sorted(set(options.layouts)))
    return exhaustive_threads() if options.exhaustive else table_threads()


def _range(options: Options) -> tuple[int, int]:
    """The range of seeds that is tried, empty where it is too large."""
    low, stop = options.seeds
    return (low, stop) if stop - low <= MOST_RANGE else (0, 0)


def _seeds(options: Options) -> NDArray[np.uint64]:
    """All seeds to try, ascending, each once."""
    low, stop = _range(options)
    parts = [
        np.array([seed % 2**64 for seed in options.also], np.uint64),
        np.arange(stop - low, dtype=np.uint64) + np.uint64(low),
    ]
    if options.dictionary:
        parts.append(dictionary())
    seeds = np.unique(np.concatenate(parts))
    if not len(seeds):
        raise NothingToSearch(
            "no seed is left to try for a weak trace: leave the dictionary in, or give a range of at most "
            f"{MOST_RANGE:,} seeds."
        )
    return seeds


def _score(state: _State, first: FirstWave, options: Options, progress: Progress | None) -> None:
    """All seeds on the first wave; the best of those that pass are kept."""
    try:
        for count, found in first.score(state.seeds, options.offset // 4, options.threads):
            state.done += count
            state.kept = sorted([*state.kept, *found], key=lambda one: (-one.sigma, one.seed))[:MOST_KEPT]
            if progress is not None:
                progress.update(_status(state))
    except KeyboardInterrupt:
        state.stopped = True


def _candidate(level: Selection, one: Scored, classes: Sequence[Prediction], trials: int) -> Candidate | None:
    """A kept seed under its best layout; None where it does not stand out after all trials."""
    look = np.unique(np.linspace(0, len(level.indices) - 1, LOOK).astype(np.int64))
    values, indices = level.values[look], level.indices[look]
    best = max(correlation(values, each.hypothesis.standard(one.seed, indices)) for each in classes)
    if best * math.sqrt(len(look)) < LOOK_LIMIT:
        return None
    found = resolve(level, one.seed, classes)
    score = log10_p(found.n, found.r, trials)
    if score >= SIGNIFICANT:
        return None
    return Candidate(found.hypothesis, one.seed, found.n, found.r, score, found.not_excluded, found.rival)


def _searched(
    selection: Selection,
    options: Options,
    layouts: tuple[int, ...],
    first: FirstWave,
    classes: dict[Distribution, tuple[Prediction, ...]],
    state: _State,
    trials: int,
) -> Searched:
    complete = state.done == len(state.seeds)
    report = StageReport(
        name="weak traces",
        seeds=len(state.seeds),
        predictions=sum(len(each) for each in classes.values()),
        threads=layouts,
        at_least=None,
        probes=0,
        miss_chance=first.miss_chance,
        units=(state.done, len(state.seeds)),
        complete=complete,
        trials=trials,
        hits=len(state.kept),
    )
    texts = [
        f"a trace, of r = {LEAST_R} or more, of "
        + hypothesis_text(replace(selection, distribution=each), cut, f"offset {options.offset}")
        for each in DISTRIBUTIONS
        for cut in shardings(selection, options.ways)
    ]
    return Searched(
        seeds=_range(options),
        layouts=layouts if complete else (),
        at_least=None,
        at_least_miss=1.0,
        hypotheses=tuple(texts),
        candidates_tested=len(state.kept),
        complete=complete,
        trials=trials,
        probes=0,
        miss_chance=first.miss_chance if complete else 1.0,
        stages=(report,),
        seconds=time.monotonic() - state.began,
    )


def _status(state: _State) -> Status:
    seconds = max(time.monotonic() - state.began, 1e-9)
    rate = state.done / seconds
    return Status(
        stage="weak traces",
        probe=1,
        probes=1,
        share=state.done / len(state.seeds),
        seconds=seconds,
        seconds_left=(len(state.seeds) - state.done) / rate,
        seeds_per_second=rate,
        blocks_per_second=rate,
        hits=len(state.kept),
        candidates=0,
    )
