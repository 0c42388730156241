"""PaddlePaddle's minimal standard engine: the seed of a draw, solved from a few of its values.

A value fixes its word to some hundred neighbours (to more where it is stored in 16 bits, or where the scale
is only estimated). Each of them, jumped to the place of other values of the same row, must fall into their
intervals too: 2^31 states leave no room for a second one. Rows that were trained solve to nothing, so a few
rows are tried.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.generators.minstd import MODULUS, MULTIPLIER, consistent, jumped, seeds_of, words_at
from birthmark.numerics.dtypes import interval
from birthmark.samplers.paddle_minstd import MinstdDraw, standard_normal, unit
from birthmark.search.neighbours.finding import Fit, NeighbourFinding, Outcome, fit
from birthmark.search.neighbours.observed import Observed
from birthmark.search.neighbours.scales import fitted, written

Kind = Literal["uniform", "normal"]

#: Rows or columns that are solved, values of each, and how many of them must agree with the first.
UNITS: Final = 48
VALUES: Final = 9
AGREE: Final = 4
#: Relative errors that a scale may have: one that somebody wrote down, and one of a grid of steps.
EXACT: Final = 1e-5
GRID: Final = 4e-4
#: How far below and above the estimate a scale may lie; the largest value of a row falls short of the bound.
_REACH: Final = {"uniform": (0.001, 0.06), "normal": (0.05, 0.05)}
#: By how much the smaller units must differ from the others to be looked at as well.
_APART: Final = {"uniform": 0.04, "normal": 0.2}
#: Rows on which every scale within reach is tried where no written one fits, and votes that are enough.
FEW: Final = 6
ENOUGH: Final = 3
#: Values on which a solved seed is tried.
TRIED: Final = 4096
#: States of the whole generator, which a solve rules out but for one.
STATES: Final = MODULUS - 1


def solve_minstd(observed: Observed, scale: float | None = None) -> Outcome:
    """The seed of a `paddle.uniform` or `normal` with a seed of its own, element 0 being the first output.

    Args:
        observed: the tensor's survivors.
        scale: bound of a uniform or std of a normal where it is known; estimated from the values if not.
    """
    seen, unseen = observed.halves()
    kinds: tuple[Kind, ...] = ("uniform", "normal")
    searched = tuple(f"minimal standard engine, {kind}, all {STATES:,} states" for kind in kinds)
    trials = STATES * len(kinds)
    if len(unseen.values) < VALUES or np.ptp(seen.values) == 0.0:
        return Outcome(None, 0, (), "too few values, or all of them equal, for the minimal standard engine")
    best: tuple[Fit, Kind, int] | None = None
    for kind in kinds:
        for seed in _seeds(seen, kind, scale):
            found = _fit(seen.spread(TRIED), kind, seed, trials)
            if found.significant and (best is None or found.r > best[0].r):
                best = found, kind, seed
        if best is not None:
            break
    if best is None:
        return Outcome(None, trials, searched, "no state agrees with several values of one row")
    return _reported(observed, seen, unseen, best[1], best[2], trials, searched)


def _seeds(seen: Observed, kind: Kind, scale: float | None) -> list[int]:
    """Seeds that rows solve to, the most frequent first."""
    units = _units(seen)
    if scale is not None:
        return _voted(seen, kind, units, (scale,), EXACT)
    below, above = _REACH[kind]
    estimates = _estimates(seen, kind)
    likely = [value for near in estimates for value, _ in written(near, seen.shape, below=below, above=above)]
    steps = np.arange(-below, above, 1.5 * GRID)
    steps = steps[np.argsort(np.abs(steps), kind="stable")]
    every = tuple(near * (1.0 + step) for near in estimates for step in steps)
    found = _voted(seen, kind, units, tuple(dict.fromkeys(likely)), EXACT)
    return found or _voted(seen, kind, units[:FEW], every, GRID)


def _voted(
    seen: Observed, kind: Kind, units: NDArray[np.int64], scales: tuple[float, ...], error: float
) -> list[int]:
    votes: Counter[int] = Counter()
    for unit_ in units:
        chosen = np.flatnonzero(seen.unit == unit_)
        # An error of the scale moves a value near 0 least, so that one leaves the fewest states to try.
        surest = chosen[np.argmin(np.abs(seen.values[chosen]))]
        others = chosen[chosen != surest]
        places = np.concatenate([[surest], others[np.arange(VALUES - 1) * len(others) // (VALUES - 1)]])
        for scale in scales:
            low, high = _words(seen.values[places], seen.dtype, kind, scale, error)
            for state in consistent(low, high, seen.indices[places], AGREE):
                votes[jumped(int(state), -int(seen.indices[surest]) - 1)] += 1
        if votes and votes.most_common(1)[0][1] >= ENOUGH:
            break
    return [seed for seed, _ in votes.most_common(4)]


def _units(seen: Observed) -> NDArray[np.int64]:
    """Rows or columns with enough values, the likeliest first, evenly chosen."""
    units, first, counts = np.unique(seen.unit, return_index=True, return_counts=True)
    enough = counts >= VALUES
    units, likely = units[enough], seen.probability[first][enough]
    ordered = units[np.argsort(-likely, kind="stable")]
    if len(ordered) > UNITS:
        top = ordered[: max(UNITS, int(np.sum(likely >= likely.max() - 0.05)))]
        ordered = top[np.arange(UNITS) * len(top) // UNITS]
    return ordered


def _estimates(seen: Observed, kind: Kind) -> tuple[float, ...]:
    """About the bound or the standard deviation: that of most units, and that of the smaller ones.

    Units that training moved reach farther than untouched ones; where they are many, the smaller ones tell.
    """
    magnitude = np.abs(seen.values)
    units, back, counts = np.unique(seen.unit, return_inverse=True, return_counts=True)
    size = np.zeros(len(units))
    if kind == "normal":
        np.add.at(size, back, magnitude**2)
        size = np.sqrt(size / counts)
    else:
        np.maximum.at(size, back, magnitude)
    low, middle = np.quantile(size[counts >= VALUES], (0.2, 0.5)).tolist()
    return (middle,) if low > (1.0 - _APART[kind]) * middle else (middle, low)


def _words(
    values: NDArray[np.float64], dtype: str, kind: Kind, bound: float, error: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and greatest word that each value can come from."""
    low, high = interval(values, dtype)
    slack = np.abs(values) * error + bound * 2.0**-22
    with np.errstate(invalid="ignore", over="ignore"):
        if kind == "uniform":
            edges = [((side / bound) + 1.0) / 2.0 for side in (low - slack, high + slack)]
        else:
            edges = [ndtr(side / bound) for side in (low - slack, high + slack)]
    words = [np.clip(edge, 0.0, 1.0) * STATES for edge in edges]
    return np.floor(words[0]).astype(np.int64), np.ceil(words[1]).astype(np.int64) + 1


def _standard(kind: Kind, seed: int, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    words = words_at(seed, indices)
    if kind == "uniform":
        return 2.0 * unit(words).astype(np.float64) - 1.0
    return standard_normal(words).astype(np.float64)


def _fit(seen: Observed, kind: Kind, seed: int, trials: int) -> Fit:
    return fit(seen, _standard(kind, seed, seen.indices), trials)


def _reported(
    observed: Observed,
    seen: Observed,
    unseen: Observed,
    kind: Kind,
    seed: int,
    trials: int,
    searched: tuple[str, ...],
) -> Outcome:
    few = seen.spread(TRIED)
    factor, _ = fitted(few.values, _standard(kind, seed, few.indices))
    draws = [
        _draw(kind, value, observed.size) for value, _ in (*written(factor, observed.shape), (factor, ""))
    ]
    draw = max(draws, key=lambda one: fit(few, one.values(seed, few.indices), trials).equal)
    score = fit(unseen, draw.values(seed, unseen.indices), trials)
    if not score.significant:
        return Outcome(None, trials, searched, "the seed that some rows solve to does not predict the others")
    first, second = draw.parameters
    others = [str(one) for one in seeds_of(seed) if one != seed]
    name = f"uniform({first:g}, {second:g})" if kind == "uniform" else f"normal({first:g}, {second:g})"
    rule = (
        f"a random operator with the seed {seed} (or {', '.join(others)}), multiplier {MULTIPLIER}, "
        "its element n being output n"
    )
    finding = NeighbourFinding(
        observed.tensor, "minstd", "paddle", "solve", f"{name} in float32", kind, draw.parameters, "float32",
        "fused" if kind == "uniform" else "correctly rounded erfcinv", seed, rule, score.n, score.r,
        score.equal, score.within_ulp, trials, score.log10_p, partial(draw.values, seed),
    )  # fmt: skip
    return Outcome(finding, trials, searched)


def _draw(kind: Kind, scale: float, size: int) -> MinstdDraw:
    scale = abs(scale)
    return MinstdDraw(kind, (-scale, scale) if kind == "uniform" else (0.0, scale), size)
