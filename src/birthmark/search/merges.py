"""Linear merges: which draws are summed up in survivors that no single draw predicts.

Merging two models leaves w = a x + b y in the rows that neither of them trained. No value is predicted by x
or by y alone, so no probe finds them; but the survivors correlate with each, by a / sqrt(a^2 + b^2) and
b / sqrt(a^2 + b^2), and the larger of these is at least 0.7. So all seeds that people use are scored on a few
elements under every layout; what stands out is fitted and taken away, and the rest is searched again. Two
draws need two rounds, and a third one only if more than roundings remains. A round takes half a second of one
core where the lowest survivors lie in the first wave of all layouts, and some five where in that of none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch
from birthmark.numerics.dtypes import format_of
from birthmark.recipes.seeds import dictionary
from birthmark.recipes.sharding import WHOLE
from birthmark.samplers.selftest import check
from birthmark.search.correlation import log10_p
from birthmark.search.layouts import resolve
from birthmark.search.merge_scores import LEAST, LEAST_R, miss_chance, promising
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate, Outcome, Searched, StageReport
from birthmark.search.space import Prediction, effective_dtype, predictions
from birthmark.survivors.split import Selection

#: The name of the one stage.
STAGE: Final = "merges"
#: Draws that are taken away one after the other, at the most.
MOST_DRAWS: Final = 4
#: Seeds that are looked at on the whole selection, at the most: the best.
MOST_KEPT: Final = 8
#: A draw is taken when its log10 p on the selection, after all trials of the search, is below this.
SIGNIFICANT: Final = -4.0
#: What is left of the median size of values when nothing is left but roundings, in units of the dtype's own;
#: and what other last bits of the arithmetic leave in fine dtypes.
ROUNDINGS: Final = 2.0
LAST_BITS: Final = 1e-5


@dataclass(frozen=True, slots=True)
class _Round:
    """One round: what it found, and what it cost."""

    candidate: Candidate | None
    trials: int
    kept: int


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
            if _explained(selection, left.values):
                break
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
    trials = len(seeds) * len(classes)
    hypotheses = [replace(classes[0].hypothesis, threads=threads) for threads in layouts]
    best = promising(left, seeds, hypotheses, options.threads, MOST_KEPT)
    candidates = [_candidate(left, seed, classes, before + trials) for seed in best]
    standing = [one for one in candidates if one is not None]
    return _Round(max(standing, key=lambda one: one.r, default=None), trials, len(best))


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


def _explained(selection: Selection, rest: NDArray[np.float64]) -> bool:
    """Whether what is left is no more than roundings leave, so that there is no further draw to look for."""
    rounding = 2.0 ** -format_of(effective_dtype(selection)).precision
    size = float(np.median(np.abs(selection.values)))
    return float(np.median(np.abs(rest))) <= max(ROUNDINGS * rounding, LAST_BITS) * size


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
    miss = miss_chance(len(selection.indices))
    report = StageReport(
        name=STAGE,
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
