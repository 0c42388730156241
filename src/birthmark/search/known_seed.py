"""Candidates of a known seed: among those that people use, and for all tensors in the stream of one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from birthmark.errors import UsageError
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.cpu_seeds import BUDGET, SeedSearch, search_seeds
from birthmark.search.origin import Found
from birthmark.search.solve.equations import Words
from birthmark.search.solve.fit import ARITHMETICS, fitted
from birthmark.search.solve.readings import Reading, readings
from birthmark.search.solve.selections import USUAL_SCALES, observed
from birthmark.search.stream import locate
from birthmark.survivors.split import Selection

#: Words beyond the furthest known draw that are looked at in any case.
MARGIN = 1 << 24
#: Furthest word that is looked at.
FURTHEST = 1 << 31


def reach_of(ends: Sequence[int], elements: int) -> int:
    """How far to look: past the furthest known draw by as much again, or by all elements of the model twice.

    Args:
        ends: words up to the end of each known draw.
        elements: elements of all tensors of the checkpoint.
    """
    furthest = max(ends, default=0)
    return min(FURTHEST, furthest + max(furthest, 2 * elements, MARGIN))


def locate_selections(
    selections: Sequence[Selection],
    seed: int,
    reach: int,
    of: str,
    nominals: Sequence[float] = (),
    ends: Sequence[int] = (),
) -> list[Found | None]:
    """Look for tensors in the stream of a known seed.

    Args:
        selections: their values.
        seed: its low 32 bits.
        reach: the last word that is looked at.
        of: the tensor that gave the seed, for the notes.
        nominals: scales that are likely.
        ends: words up to the end of each known draw, where others often start. Trials are weighed before
            anything is seen (weighted Bonferroni): one half of the chance of an error goes to these few
            places, the other to all words that are looked at.

    Returns:
        A candidate for each tensor, None where it lies nowhere.
    """
    likely = (*nominals, *USUAL_SCALES)
    read = [_reading(one, likely) for one in selections]
    there = [number for number, reading in enumerate(read) if reading is not None]
    words = [reading.inversion.words for reading in read if reading is not None]
    found: list[Found | None] = [None] * len(selections)
    how = f"found in the stream of the seed of {of}, of which {reach:,} words were looked at"
    for number, index in zip(there, locate(words, seed, reach), strict=True):
        reading = read[number]
        if index is not None and reading is not None:
            trials = 2 * (len(set(ends)) if index in ends else max(1, reach))
            found[number] = candidate_at(
                selections[number], seed, index, likely, how=how, trials=trials, reading=reading
            )
    return found


def _reading(selection: Selection, likely: Sequence[float]) -> Reading | None:
    """The most telling way to read a selection's values as words."""
    if selection.distribution == "normal" and math.prod(selection.shape) < BLOCK:
        return None
    try:
        seen = observed(selection)
    except UsageError:
        return None
    if seen.dtype == "float64" or not len(seen.values):
        return None
    return next(iter(readings(seen, likely)))


def words_of_selection(selection: Selection) -> Words:
    """What a selection says about words, at any scale that its survey allows."""
    reading = _reading(selection, USUAL_SCALES)
    if reading is None:
        nothing = np.zeros(0, np.uint32)
        return Words(np.zeros(0, np.int64), nothing, nothing)
    return reading.inversion.words


def candidate_at(
    selection: Selection,
    seed: int,
    index: int,
    nominals: Sequence[float] = (),
    *,
    how: str,
    trials: int,
    reading: Reading | None = None,
) -> Found:
    """A tensor's candidate at a seed and a place, at the scale and the arithmetic that explain most values.

    Args:
        selection: its values.
        seed: its low 32 bits.
        index: words before the draw.
        nominals: scales that are likely.
        how: the way to it in a few words.
        trials: predictions that were tried.
        reading: how the values were read as words, if they were.
    """
    seen, likely = observed(selection), (*nominals, *USUAL_SCALES)
    scale = reading.scale if reading is not None else None
    names = ARITHMETICS[selection.distribution]
    fits = [(fitted(seen, seed, index, name, scale, likely), name) for name in names]
    fit, arithmetic = max(fits, key=lambda one: int(one[0].equal.sum()))
    origin = CpuOrigin(selection.distribution, seen.size, fit.scale, arithmetic, seed, index, seen.dtype)
    exact = reading is not None and reading.exact
    return Found(selection.tensor, origin, "search", how, fit.written, exact, trials)


def among_usual_seeds(
    selection: Selection, indexes: Sequence[int], nominals: Sequence[float] = (), *, budget: int = BUDGET
) -> tuple[SeedSearch, Found | None]:
    """Try the seeds that people use; the candidate is None where none stands out.

    Args:
        selection: the values.
        indexes: stream positions that are tried.
        nominals: scales that are likely.
        budget: words that all seeds may cost at one position.
    """
    tried = search_seeds(selection, indexes, budget=budget)
    if tried.seed is None or tried.index is None:
        return tried, None
    how = "found among the seeds that people use, at the stream positions that were tried"
    return tried, candidate_at(
        selection, tried.seed, tried.index, nominals, how=how, trials=max(1, tried.trials)
    )
