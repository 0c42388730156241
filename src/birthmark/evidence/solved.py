"""A CPU draw behind surviving values: its seed and stream position, solved for or found among usual seeds.

First the generator's state is solved from the selection, which assumes nothing about seed or position. That
takes thousands of values; where they are too few, or the solution fails, the seeds that people use are tried
at the likeliest positions. Either answer is then held against values that neither has seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.cpu_prediction import CpuOrigin, CpuPrediction, predict, score_decoys
from birthmark.evidence.decoys import Decoys
from birthmark.evidence.elements import Elements, matrix_shape, units_of
from birthmark.evidence.exactness import Exactness, Units, tally
from birthmark.evidence.score import Score, score
from birthmark.evidence.verdict import Grounds, judge_grounds
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.search.cpu_seeds import BUDGET, SeedSearch, search_seeds
from birthmark.search.solve.fit import fitted
from birthmark.search.solve.readings import observation
from birthmark.search.solve.recover import NO_EQUATIONS, Tally
from birthmark.search.solve.solve import Solved, Unsolved, solve
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors

#: Scales that initialisers have by default, tried where too few values leave the scale open.
USUAL_SCALES: Final = (0.02, 0.01, 0.006, 1.0)
#: The scale lies within so many standard errors of the survey's.
ERRORS: Final = 5.0
#: A solution could have been any of 2^32 seeds at any of 2^32 positions: it stands for so many trials.
SOLVE_TRIALS: Final = 1 << 64
#: Elements of all survivors that are judged again at the end.
MOST_JUDGED: Final = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class SolvedReading:
    """What came of looking for a CPU draw.

    Attributes:
        result: "match": survivors, held-out ones among them, are predicted; "none": they are not.
        reason: why, in words.
        unsolved: why the generator's state was not solved, in words; None where it was.
        attempts: subsets of words that the solution tried.
        search: what was tried of usual seeds; None where that was not needed.
        method: "solve" or "search", whichever gave the candidate. The rest is None without a candidate.
        origin: seed, index, scale and arithmetic.
        written: whether the scale is a number that somebody would write down.
        exact: whether the scale was found exactly, by the lattice of float32.
        tally: the equations of the solution.
        selection, holdout: the scores.
        exactness, exactness_holdout: bit-exact counts of both together, and of the hold-out.
        units: how each surveyed row or column fares.
        holdout_units: predicted rows or columns of the hold-out, and all of them.
        seed_plus_one, index_plus_one: scores of what is known to be false, on the hold-out.
        decoys: the measured background.
        trials: predictions that the score of the selection stands out from.
        holdout_trials: candidates that were scored on the hold-out.
        dropped: held-out elements left out because they share words with the selection.
    """

    result: Literal["match", "none"]
    reason: str
    unsolved: str | None = None
    attempts: int = 0
    search: SeedSearch | None = None
    method: Literal["solve", "search"] | None = None
    origin: CpuOrigin | None = None
    written: bool = False
    exact: bool = False
    tally: Tally = NO_EQUATIONS
    selection: Score | None = None
    holdout: Score | None = None
    exactness: Exactness | None = None
    exactness_holdout: Exactness | None = None
    units: Units | None = None
    holdout_units: tuple[int, int] = (0, 0)
    seed_plus_one: Score | None = None
    index_plus_one: Score | None = None
    decoys: Decoys | None = None
    trials: int = 0
    holdout_trials: int = 1
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    """A candidate, and how it was come by."""

    origin: CpuOrigin
    method: Literal["solve", "search"]
    written: bool
    exact: bool
    tally: Tally
    trials: int
    holdout_trials: int = 1


def solve_survivors(
    checkpoint: Checkpoint,
    survivors: Survivors,
    selection: Selection,
    holdout: Holdout,
    *,
    nominals: Sequence[float] = (),
    budget: int = BUDGET,
) -> SolvedReading:
    """Look for a draw of PyTorch's CPU generator (MT19937) behind a tensor's survivors.

    Args:
        checkpoint: open; the hold-out's values are read only once there is a candidate.
        survivors: all of the survivors, judged again at the end.
        selection: what the solution and the search may see.
        holdout: what they may not.
        nominals: scales that are likely, as a model's files declare them; likeliest first.
        budget: words that trying usual seeds may cost at one position.
    """
    size = math.prod(selection.shape)
    if selection.distribution == "normal" and size < BLOCK:
        return SolvedReading("none", f"normals of fewer than {BLOCK} elements are not looked at")
    if len(selection.values) == 0 or not selection.scale > 0.0:
        return SolvedReading("none", "there are no values to look at")
    likely = (*nominals, *USUAL_SCALES)
    attempt = _solve(selection, likely)
    unsolved = attempt.message if isinstance(attempt, Unsolved) else None
    if isinstance(attempt, Solved):
        found = _of_solution(selection, attempt, size)
        reading = _held_against(checkpoint, survivors, selection, holdout, found, attempt.attempts)
        if reading.result == "match":
            return reading
        unsolved = f"the solution does not hold: {reading.reason}"
    tried = search_seeds(selection, _positions(selection, size), budget=budget)
    if tried.seed is None or tried.index is None:
        return SolvedReading("none", _nothing(tried), unsolved, attempt.attempts, tried)
    found = _of_search(selection, tried, size, likely)
    if isinstance(attempt, Solved):
        found = replace(found, holdout_trials=2)
    return _held_against(checkpoint, survivors, selection, holdout, found, attempt.attempts, unsolved, tried)


def _solve(selection: Selection, likely: Sequence[float]) -> Solved | Unsolved:
    return solve(
        selection.values,
        selection.indices,
        selection.shape,
        selection.distribution,
        _scales(selection),
        dtype=selection.dtype,
        nominals=likely,
        unit=selection.unit,
        trust=selection.probability,
    )


def _scales(selection: Selection) -> tuple[float, float]:
    """The least and the most that the scale can be."""
    margin = min(0.5, ERRORS * max(selection.scale_error, 1e-6))
    return selection.scale * (1.0 - margin), selection.scale * (1.0 + margin)


def _positions(selection: Selection, size: int) -> tuple[int, int]:
    """Where draws usually start: with the stream, or after a constructor's draw of the same tensor."""
    parameters = (0.0, 1.0) if selection.distribution == "normal" else (-1.0, 1.0)
    return 0, CpuDraw(selection.distribution, parameters, size).consumed


def _of_solution(selection: Selection, solved: Solved, size: int) -> _Found:
    origin = CpuOrigin(
        selection.distribution,
        size,
        solved.scale,
        solved.arithmetic,
        solved.seed,
        solved.index,
        solved.dtype,
    )
    return _Found(origin, "solve", solved.scale_written, solved.exact, solved.tally, SOLVE_TRIALS)


def _of_search(selection: Selection, tried: SeedSearch, size: int, likely: Sequence[float]) -> _Found:
    """The candidate of a search, at the scale and the arithmetic that explain the most values."""
    assert tried.seed is not None
    assert tried.index is not None
    seen = observation(
        selection.values,
        selection.indices,
        selection.shape,
        selection.distribution,
        _scales(selection),
        selection.dtype,
        selection.unit,
        selection.probability,
    )
    names = ("cpu-fused", "cpu-unfused") if selection.distribution == "uniform" else ("cpu-fused",)
    fits = [(fitted(seen, tried.seed, tried.index, name, None, likely), name) for name in names]
    fit, arithmetic = max(fits, key=lambda one: int(one[0].equal.sum()))
    origin = CpuOrigin(
        selection.distribution, size, fit.scale, arithmetic, tried.seed, tried.index, seen.dtype
    )
    return _Found(origin, "search", fit.written, False, NO_EQUATIONS, tried.trials)


def _held_against(
    checkpoint: Checkpoint,
    survivors: Survivors,
    selection: Selection,
    holdout: Holdout,
    found: _Found,
    attempts: int,
    unsolved: str | None = None,
    search: SeedSearch | None = None,
) -> SolvedReading:
    """A candidate on values that it was not made from."""
    origin = found.origin
    finite = np.isfinite(selection.values)
    seen = Elements(selection.indices, selection.values, selection.unit).keep(finite)
    apart = ~np.isin(origin.words(holdout.indices), origin.words(selection.indices))
    hidden = _read(checkpoint, holdout.tensor, holdout.indices[apart], holdout.unit[apart])
    false = origin.next_seed()
    chance = float(predict(false, seen).near.mean()) if len(seen) else 0.0
    on_seen, on_hidden = predict(origin, seen), predict(origin, hidden)
    scores = (
        score(seen.values, on_seen.standard, trials=found.trials),
        score(hidden.values, on_hidden.standard, trials=found.holdout_trials),
    )
    seen_units = tally(seen.unit, on_seen.near, chance)
    hidden_units = tally(hidden.unit, on_hidden.near, chance)
    decoys = score_decoys(origin, hidden)
    above = None
    if decoys.max_sigma is not None and decoys.candidate_sigma is not None:
        above = decoys.candidate_sigma > decoys.max_sigma
    outcome, reason = judge_grounds(
        Grounds(
            *scores,
            above,
            int(seen_units.elements[seen_units.predicted].sum()),
            int(hidden_units.elements[hidden_units.predicted].sum()),
            None,
        )
    )
    if outcome == "match" and len(hidden) == 0:
        outcome, reason = "none", "no value remains that the solution has not seen"
    return SolvedReading(
        result="match" if outcome == "match" else "none",
        reason=reason,
        unsolved=unsolved,
        attempts=attempts,
        search=search,
        method=found.method,
        origin=origin,
        written=found.written,
        exact=found.exact,
        tally=found.tally,
        selection=scores[0],
        holdout=scores[1],
        exactness=_together(on_seen, on_hidden),
        exactness_holdout=on_hidden.exactness,
        units=_judged_again(checkpoint, survivors, origin, chance) if outcome == "match" else None,
        holdout_units=(int(hidden_units.predicted.sum()), int(hidden_units.ids.size)),
        seed_plus_one=score(hidden.values, false.standard(hidden.indices)),
        index_plus_one=score(hidden.values, origin.next_index().standard(hidden.indices)),
        decoys=decoys,
        trials=found.trials,
        holdout_trials=found.holdout_trials,
        dropped=int(np.count_nonzero(~apart)),
    )


def _read(
    checkpoint: Checkpoint, tensor: str, indices: NDArray[np.int64], unit: NDArray[np.int64]
) -> Elements:
    values = np.asarray(checkpoint.elements(tensor, indices), np.float64) if indices.size else np.zeros(0)
    return Elements(indices, values, unit).keep(np.isfinite(values))


def _together(first: CpuPrediction, second: CpuPrediction) -> Exactness:
    one, other = first.exactness, second.exactness
    within = {k: one.within_ulp[k] + other.within_ulp[k] for k in one.within_ulp}
    return Exactness(one.equal + other.equal, one.of + other.of, within)


def _judged_again(checkpoint: Checkpoint, survivors: Survivors, origin: CpuOrigin, chance: float) -> Units:
    """Every surveyed row or column by its own values, all of them or an even choice where they are many."""
    rows, columns = matrix_shape(survivors.shape)
    across = survivors.axis == "column"
    width = rows if across else columns
    taken = min(width, max(64, MOST_JUDGED // max(1, len(survivors.ids))))
    places = np.arange(taken, dtype=np.int64) * width // taken
    base = survivors.ids if across else survivors.ids * columns
    flat = base[:, None] + places * (columns if across else 1)
    indices = np.sort(flat, axis=None)
    elements = _read(
        checkpoint, survivors.tensor, indices, units_of(indices, survivors.shape, survivors.axis)
    )
    return tally(elements.unit, predict(origin, elements).near, chance)


def _nothing(tried: SeedSearch) -> str:
    if not tried.tried:
        return "there are too few values to try seeds on"
    best = "" if tried.sigma is None else f"; the best of them scores {tried.sigma:.1f} sigma"
    return f"none of {tried.trials:,} predictions by usual seeds stands out{best}"
