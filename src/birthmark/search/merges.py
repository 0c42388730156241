"""Linear merges: which draws are summed up in survivors that no single draw predicts.

Merging two models leaves w = a x + b y in the rows that neither of them trained. No value is predicted by x
or by y alone, so no probe finds them; but the survivors correlate with each, by a / sqrt(a^2 + b^2) and
b / sqrt(a^2 + b^2), and the larger of these is at least 0.7. So all seeds that people use are scored on a few
elements under every layout; what stands out is fitted and taken away, and the rest is searched again. Two
draws need two rounds, and a third one finds nothing more. It takes under half a second of one core a round
for each distinct way in which the layouts place the lowest survivors: about 50 at the most.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch
from birthmark.hypothesis import Hypothesis
from birthmark.recipes.seeds import dictionary
from birthmark.recipes.sharding import WHOLE
from birthmark.samplers.selftest import check
from birthmark.search.correlation import log10_p
from birthmark.search.layouts import resolve
from birthmark.search.merge_kernel import NORMAL_STEPS, VALUE_STEPS, places_of, score_staged
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched, StageReport
from birthmark.search.space import Prediction, predictions
from birthmark.survivors.split import Selection

#: The correlation that must not be missed: three draws of one size have 0.577 each.
LEAST_R: Final = 0.55
#: By so many standard deviations a draw may fall below its expectation before it is dropped.
SLACK: Final = 2.85
#: Elements that the stages end at: the first two under layouts that agree there, the last two one by one.
EARLY, LATE = (48, 96), (192, 384)
#: The stages take the lowest rows or columns that are this likely to be untouched, so many of them in turn.
SURE, UNITS = 0.9, 4
#: Survivors with fewer elements are not searched.
LEAST: Final = 128
#: Draws that are taken away one after the other, at the most.
MOST_DRAWS: Final = 4
#: Seeds that are looked at on the whole selection, at the most: the best.
MOST_KEPT: Final = 8
#: A draw is taken when its log10 p on the selection, after all trials of the search, is below this.
SIGNIFICANT: Final = -4.0
#: Values farther out than this many standard deviations are brought there.
CLIP: Final = 4.0
#: Seeds that one thread scores at a time.
UNIT: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class _Round:
    """One round: what it found, and what it cost."""

    candidate: Candidate | None
    trials: int
    kept: int


@dataclass(frozen=True, slots=True, eq=False)
class _Stages:
    """Elements with the limits of their stages."""

    values: NDArray[np.int32]
    ends: NDArray[np.int64]
    limits: NDArray[np.int64]


def merged_draws(
    selection: Selection, options: Options | None = None, *, seeds: NDArray[np.uint64] | None = None
) -> Outcome:
    """Search for draws whose weighted sum the survivors may be.

    Args:
        selection: survivors of a normal draw.
        options: layouts, offset and workers; whether the dictionary is tried, and which seeds beside it.
        seeds: the seeds to try instead of those; None for those.

    Returns:
        The draws in the order in which they were found, the one that correlates most first: a single one is
        a trace and no merge. `r` of each is on what the ones before it leave, `log10_p` after all trials.

    Raises:
        NothingToSearch: the survivors are no normals, or too few; or no seed is left to try.
        SelfTestFailed: this machine does not compute the known answers.
    """
    began = time.monotonic()
    check()
    wanted = options or Options()
    if selection.distribution != "normal":
        raise NothingToSearch(
            f"{selection.tensor} has no normal survivors: a merge of others is not searched."
        )
    if len(selection.indices) < LEAST:
        raise NothingToSearch(
            f"{len(selection.indices):,} surviving values of {selection.tensor}: {LEAST} are needed to see a "
            "merge."
        )
    tried = _seeds(wanted) if seeds is None else np.unique(seeds)
    layouts = table_threads() if wanted.layouts is None else tuple(sorted(set(wanted.layouts)))
    classes = predictions(selection, layouts, (WHOLE,), wanted.offset)
    found: list[Candidate] = []
    rounds: list[_Round] = []
    left = selection
    stopped = False
    try:
        while len(found) < MOST_DRAWS:
            one = _round(left, tried, layouts, classes, wanted, sum(each.trials for each in rounds))
            rounds.append(one)
            if one.candidate is None:
                break
            found.append(one.candidate)
            left = replace(selection, values=_rest(selection, found))
    except KeyboardInterrupt:
        stopped = True
    searched = _searched(selection, wanted, layouts, len(tried), rounds, time.monotonic() - began, stopped)
    return Outcome(tuple(found), searched, stopped)


def _seeds(options: Options) -> NDArray[np.uint64]:
    """All seeds to try, ascending, each once."""
    also = np.array([seed % 2**64 for seed in options.also], np.uint64)
    seeds = np.unique(np.concatenate([also, dictionary()]) if options.dictionary else also)
    if not len(seeds):
        raise NothingToSearch("no seed is left to try for a merge: leave the dictionary in.")
    return seeds


def _round(
    left: Selection,
    seeds: NDArray[np.uint64],
    layouts: tuple[int, ...],
    classes: Sequence[Prediction],
    options: Options,
    before: int,
) -> _Round:
    """The draw that correlates most with what is left; None where none stands out after all trials."""
    trials = before + len(seeds) * len(classes)
    order = _lowest(left)
    steps = _steps(left.values)[order]
    hypotheses = [replace(classes[0].hypothesis, threads=threads) for threads in layouts]
    kept: list[tuple[int, int]] = []
    with ThreadPoolExecutor(options.threads, thread_name_prefix="birthmark-merge") as pool:
        early = _stages(steps, EARLY)
        for group in _alike(hypotheses, left.indices[order[: early.ends[-1]]]):
            passed = seeds[_scores(pool, seeds, group[0], left.indices[order], early)[1]]
            if not len(passed):
                continue
            late = _stages(steps, (*EARLY, *LATE))
            for same in _alike(group, left.indices[order[: late.ends[-1]]]):
                sums, there = _scores(pool, passed, same[0], left.indices[order], late)
                kept += zip(sums[there].tolist(), passed[there].tolist(), strict=True)
    best = list(dict.fromkeys(seed for _, seed in sorted(kept, reverse=True)))[:MOST_KEPT]
    candidates = [_candidate(left, seed, classes, trials) for seed in best]
    standing = [one for one in candidates if one is not None]
    winner = max(standing, key=lambda one: one.r, default=None)
    return _Round(winner, len(seeds) * len(classes), len(best))


def _lowest(left: Selection) -> NDArray[np.int64]:
    """Elements of a few low rows or columns in turn: most layouts agree there, and a bad row harms little."""
    sure = np.flatnonzero(left.probability >= SURE)
    if len(sure) < LEAST:
        sure = np.arange(len(left.indices))
    sure = sure[np.argsort(left.indices[sure], kind="stable")]
    _, first, number = np.unique(left.unit[sure], return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first, kind="stable"), kind="stable")[number]
    counts = np.bincount(place)
    few = max(UNITS, int(np.searchsorted(np.cumsum(counts), LATE[-1])) + 1)
    sure, place = sure[place < few], place[place < few]
    by_unit = np.argsort(place, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts[:few])[:-1]])
    rank = np.empty(len(sure), np.int64)
    rank[by_unit] = np.arange(len(sure)) - starts[place[by_unit]]
    chosen: NDArray[np.int64] = sure[np.lexsort((place, rank))][: LATE[-1]]
    return chosen


def _candidate(left: Selection, seed: int, classes: Sequence[Prediction], trials: int) -> Candidate | None:
    found = resolve(left, seed, classes)
    score = log10_p(found.n, found.r, trials)
    if score >= SIGNIFICANT:
        return None
    return Candidate(found.hypothesis, seed, found.n, found.r, score, found.not_excluded, found.rival)


def _rest(selection: Selection, found: Sequence[Candidate]) -> NDArray[np.float64]:
    """What the draws found so far leave of the values, all of them fitted together."""
    drawn = np.stack(
        [np.asarray(one.hypothesis.standard(one.seed, selection.indices), np.float64) for one in found]
    )
    square = np.einsum("in,jn->ij", drawn, drawn)
    # Draws that are nearly the same on these elements have no weights of their own.
    weights = np.linalg.lstsq(square, np.einsum("in,n->i", drawn, selection.values), rcond=1e-9)[0]
    rest: NDArray[np.float64] = selection.values - np.einsum("i,in->n", weights, drawn)
    return rest


def _steps(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Values in the kernel's steps, of one size and without outliers."""
    size = float(np.sqrt(np.mean(np.square(values))))
    if size == 0.0:
        return np.zeros(values.size, np.int32)
    return np.rint(np.clip(values / size, -CLIP, CLIP) * VALUE_STEPS).astype(np.int32)


def _stages(steps: NDArray[np.int32], ends: Sequence[int]) -> _Stages:
    """The stages as far as there are elements."""
    there = np.array(sorted({min(end, steps.size) for end in ends}), np.int64)
    lengths = np.sqrt(np.cumsum(steps.astype(np.float64) ** 2)[there - 1])
    return _Stages(
        np.ascontiguousarray(steps[: there[-1]]),
        there,
        np.ceil(_limits(there) * lengths * NORMAL_STEPS).astype(np.int64),
    )


def _limits(ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sigma that each stage asks for; products of values with a correlation r have variance 1 + r^2."""
    limits: NDArray[np.float64] = LEAST_R * np.sqrt(ends) - SLACK * math.sqrt(1.0 + LEAST_R**2)
    return limits


def _alike(hypotheses: Sequence[Hypothesis], indices: NDArray[np.int64]) -> Iterator[list[Hypothesis]]:
    """Layouts that place all of these elements alike, together."""
    groups: dict[bytes, list[Hypothesis]] = {}
    for each in hypotheses:
        place = each.locate(indices)
        name = b"".join(part.tobytes() for part in (place.counter, place.thread, place.lane))
        groups.setdefault(name, []).append(each)
    yield from groups.values()


def _scores(
    pool: ThreadPoolExecutor,
    seeds: NDArray[np.uint64],
    hypothesis: Hypothesis,
    indices: NDArray[np.int64],
    stages: _Stages,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The sums of seeds under one layout, and which of them passed all stages."""
    places = places_of(hypothesis.locate(indices[: stages.ends[-1]]))
    sums, reached = np.zeros(len(seeds), np.int64), np.zeros(len(seeds), np.int64)

    def work(start: int) -> None:
        part = slice(start, start + UNIT)
        score_staged(
            seeds[part],
            places.first,
            places.second,
            places.third,
            places.fourth,
            places.later,
            places.turn,
            stages.values,
            stages.ends,
            stages.limits,
            sums[part],
            reached[part],
        )

    list(pool.map(work, range(0, len(seeds), UNIT)))
    return sums, reached == len(stages.ends)


def _searched(
    selection: Selection,
    options: Options,
    layouts: tuple[int, ...],
    seeds: int,
    rounds: Sequence[_Round],
    seconds: float,
    stopped: bool,
) -> Searched:
    trials = max(1, sum(each.trials for each in rounds))
    ends = np.array([end for end in (*EARLY, *LATE) if end <= len(selection.indices)], np.int64)
    sigma = (_limits(ends) - LEAST_R * np.sqrt(ends)) / math.sqrt(1.0 + LEAST_R**2)
    miss = float(min(1.0, ndtr(sigma).sum()))
    report = StageReport(
        name="merges",
        seeds=seeds,
        predictions=sum(each.trials for each in rounds) // max(1, seeds),
        threads=layouts,
        at_least=None,
        probes=0,
        miss_chance=miss,
        units=(len(rounds), len(rounds)) if not stopped else (len(rounds), len(rounds) + 1),
        complete=not stopped,
        trials=trials,
        hits=sum(each.kept for each in rounds),
    )
    text = (
        f"a weighted sum of normal draws (PyTorch on CUDA or ROCm, Philox) at offset {options.offset}, whole "
        f"tensors, each with r = {LEAST_R} or more in what the ones before it leave: the dictionary's seeds "
        "only"
    )
    return Searched(
        seeds=(0, 0),
        layouts=(),
        at_least=None,
        at_least_miss=1.0,
        hypotheses=(text,),
        candidates_tested=sum(each.kept for each in rounds),
        complete=not stopped,
        trials=trials,
        probes=0,
        miss_chance=1.0,
        stages=(report,),
        seconds=seconds,
    )
