"""A seed that passed, held against everything that the values say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import round_to
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.samplers.cpu_uniform import SCALINGS
from birthmark.search.correlation import log10_p
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.numpy_judge import fit, words_of
from birthmark.search.solve.fit import fitted

#: log10 of the largest chance, after all trials, at which a seed counts as found.
VERIFIED = -6.0
#: Scales that initialisers have by default; tried first where the scale was left open.
USUAL_SCALES = (0.02, 0.01, 0.006, 1.0)


@dataclass(frozen=True, slots=True)
class PositionCandidate:
    """A seed and a stream position that predict the values.

    Attributes:
        seed: the low 32 bits of the seed; a CPU generator sees no more.
        index: 32-bit words drawn before the tensor's first element.
        agreeing: conditions that hold.
        of: all conditions.
        log10_p: log10 of the chance that the best of all trials of the search agrees so well. A bound from
            above (Chernoff's) on the chance of so many heads in so many throws of a coin.
        equal: values that are predicted bit for bit, at `scale`.
        values: all values.
        scale: standard deviation or bound; what was given, or what fits the values best.
        written: whether the scale is a number that somebody would write down.
        arithmetic: "cpu-fused" or "cpu-unfused", whichever predicts more of the values; "numpy" or "python"
            for what these drew.
    """

    seed: int
    index: int
    agreeing: int
    of: int
    log10_p: float
    equal: int
    values: int
    scale: float
    written: bool
    arithmetic: str


def judge(
    conditions: Conditions, seed: int, index: int, trials: int, nominals: Sequence[float] = USUAL_SCALES
) -> PositionCandidate | None:
    """A candidate, or None where it does not stand out of all trials.

    Args:
        conditions: what the values say.
        seed: 0 to 2^32 - 1.
        index: words before the draw, 0 or more.
        trials: predictions that the search tries in all.
        nominals: scales that are likely, tried first where the scale was left open.
    """
    agreeing = agreement(conditions, seed, index)
    score = log10_chance(agreeing, len(conditions), trials)
    seen = conditions.seen
    if conditions.library != "torch":
        # Most of NumPy's normals have no known words: their values count as well, as one more trial.
        equal, scale, written, r = fit(conditions, seed, index, nominals)
        score = min(0.0, min(score, log10_p(len(seen.values), r, trials)) + math.log10(2.0))
    if score >= VERIFIED:
        return None
    arithmetic: str = conditions.library
    if conditions.library == "torch":
        equal, scale, written, arithmetic = _fit(conditions, seed, index, nominals)
    return PositionCandidate(
        seed,
        index,
        agreeing,
        len(conditions),
        score,
        int(np.count_nonzero(equal)),
        len(seen.values),
        scale,
        written,
        arithmetic,
    )


def agreement(conditions: Conditions, seed: int, index: int) -> int:
    """How many conditions a seed satisfies."""
    words = words_of(conditions.library, seed, conditions.position + index)
    sums = np.bitwise_count(words & conditions.mask) & np.uint8(1)
    return int(np.count_nonzero(sums == conditions.parity))


def log10_chance(agreeing: int, of: int, trials: int) -> float:
    """log10 of (a bound on) the chance that the best of `trials` has so many of `of` fair coins agree."""
    share = agreeing / of if of else 0.5
    if share <= 0.5:
        return 0.0
    rest = (1.0 - share) * math.log(2.0 * (1.0 - share)) if share < 1.0 else 0.0
    local = -of * (share * math.log(2.0 * share) + rest) / math.log(10.0)
    return min(0.0, local + math.log10(max(trials, 1)))


def least_conditions(trials: int) -> int:
    """How many conditions it takes for a seed that satisfies them all to stand out."""
    return math.floor((math.log10(max(trials, 1)) - VERIFIED) / math.log10(2.0)) + 1


def _fit(
    conditions: Conditions, seed: int, index: int, nominals: Sequence[float]
) -> tuple[NDArray[np.bool_], float, bool, str]:
    """(which values are equal, scale, whether somebody would write it down, arithmetic)."""
    seen = conditions.seen
    known = seen.scale[0] if seen.scale[0] == seen.scale[1] else None
    if seen.distribution == "normal" and seen.size < BLOCK:
        # `fitted` knows the vectorised path only; here the scale is given, or the one that fits best.
        draw = CpuDraw("normal", (0.0, 1.0), seen.size, index)
        standard = draw.values(seed, seen.indices).astype(np.float64)
        scale = known or float(
            np.einsum("i,i->", standard, seen.values) / np.einsum("i,i->", standard, standard)
        )
        if known is None:
            scale = next((each for each in nominals if abs(each - scale) < 1e-3 * each), scale)
        drawn = CpuDraw("normal", (0.0, scale), seen.size, index).values(seed, seen.indices)
        equal = round_to(drawn, seen.dtype) == seen.values
        return equal, scale, known is not None or scale in nominals, "cpu-fused"
    names = tuple(SCALINGS) if seen.distribution == "uniform" else ("cpu-fused",)
    fits = [(fitted(seen, seed, index, name, known, nominals), name) for name in names]
    fit, name = max(fits, key=lambda one: int(np.count_nonzero(one[0].equal)))
    return fit.equal, fit.scale, fit.written, name
