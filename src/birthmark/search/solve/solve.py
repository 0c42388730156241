"""Solve for the seed and the stream position of a CPU draw: the one entry of this room.

Nothing is assumed about seed or position. Values are read as words, words as linear equations in the
generator's state; the solved state is walked back to the seeding, which gives seed and position together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_field import DEGREE
from birthmark.generators.mt19937_rewind import FURTHEST, origin_of
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.search.solve.fit import arithmetic_of, fitted
from birthmark.search.solve.readings import Observation, Reading, observation, readings
from birthmark.search.solve.recover import ATTEMPTS, NO_EQUATIONS, Agreement, Reason, Recovery, Tally, recover

Failure = Literal[Reason, "scalar-path", "no-seed", "unreadable"]

#: Random subsets of values that are read as intervals: how many of them are wrong cannot be seen.
COARSE_ATTEMPTS: Final = 2
#: Words that a solution rests on, about, and the chance that no subset was right with which trying ends.
RESTS_ON: Final = 900
UNLUCKY: Final = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A seed and a stream position.

    Attributes:
        seed: the low 32 bits of the seed; the generator never saw more.
        index: 32-bit words drawn before the tensor's first element. Negative if the tensor's first elements
            cannot have come from this stream, as in tables that were enlarged later.
        arithmetic: of uniforms "cpu-fused" or "cpu-unfused", of normals "cpu-fused" or "cpu-scalar".
        scale: standard deviation or bound of the draw.
        scale_written: whether `scale` is a number that fits exactly and that somebody would write down.
        exact: whether the values were inverted exactly, rather than read as intervals.
        dtype: the narrowest dtype that holds the values.
        tally: equations, rank, and satisfied redundant equations.
        log10_p: chance that the redundant equations agree by luck, as a power of ten, the attempts counted; 0
            where words were chosen because they agreed.
        holdout: words that the solution did not use, and how many of them it predicts.
        attempts: random subsets that were tried.
        moved: values that no word gives at the scale.
        alone: normal values that were not used because their partner is not there.
        indices: int64[n], the indices of the values, ascending.
        equal: bool[n], which values the draw predicts bit for bit.
        arithmetic_decided: whether the values rule the other arithmetic out.
        worn: by what share of themselves values were allowed to have drifted apart; 0 where they were not.
    """

    seed: int
    index: int
    arithmetic: str
    scale: float
    scale_written: bool
    exact: bool
    dtype: str
    tally: Tally
    log10_p: float
    holdout: Agreement
    attempts: int
    moved: int
    alone: int
    indices: NDArray[np.int64]
    equal: NDArray[np.bool_]
    arithmetic_decided: bool = False
    worn: float = 0.0


@dataclass(frozen=True, slots=True)
class Unsolved:
    """Why there is no seed.

    Attributes:
        reason: "too-few" or "under-determined": more values could still solve it; "inconsistent": the
            values are not one draw of this generator in this order, or too many of them moved; "coarser":
            their words have fewer than 24 random bits; "scalar-path": a normal
            of fewer than 16 elements; "no-seed": the state is known but no seeding lies within reach;
            "unreadable": values of a draw that is not known bit for bit.
        message: the reason in one sentence, with numbers.
        recurring: whether the generator's recurrence was seen to hold between values although they do not
            suffice to solve it: then this generator drew them in this order.
        known: equations that the values offered.
        tally: the equations of the last attempt.
        attempts: subsets that were tried.
    """

    reason: Failure
    message: str
    recurring: bool = False
    known: int = 0
    tally: Tally = NO_EQUATIONS
    attempts: int = 0


def solve(
    values: NDArray[np.float64] | NDArray[np.float32],
    indices: NDArray[np.int64],
    shape: Sequence[int],
    distribution: Literal["normal", "uniform"],
    scale: tuple[float, float],
    *,
    dtype: str = "float32",
    nominals: Sequence[float] = (),
    unit: NDArray[np.int64] | None = None,
    trust: NDArray[np.float64] | None = None,
    furthest: int = FURTHEST,
    attempts: int = ATTEMPTS,
    entropy: int = 0,
) -> Solved | Unsolved:
    """Find the seed and the stream position behind surviving values of a CPU draw.

    Args:
        values: float[n], as stored.
        indices: int64[n], their C-order flat indices in the tensor, any order, without repeats.
        shape: the tensor's extents, as drawn.
        distribution: "normal": normal_(0, std); "uniform": uniform_(-bound, bound).
        scale: the least and the most that std or bound can be, as stored.
        dtype: the stored dtype.
        nominals: scales that are likely, likeliest first; used where the interval leaves too much open.
        unit: int64[n], the row or column of each value: right or wrong as a whole.
        trust: float64[n], the probability that its unit still holds initial values.
        furthest: the largest stream position that is tried when walking back to the seeding.
        attempts: random subsets of the words that are tried where some are wrong, over all ways to read the
            values.
        entropy: seed of the random choices, which decide nothing but which words are used first.

    Raises:
        UsageError: arrays of different lengths, bad indices, a bad scale.
        UnknownName: an unknown dtype.
    """
    seen = observation(
        np.asarray(values, np.float64), indices, shape, distribution, scale, dtype, unit, trust
    )
    if distribution == "normal" and seen.size < BLOCK:
        return Unsolved(
            "scalar-path", f"a normal of {seen.size} elements is drawn value by value, in doubles."
        )
    if seen.dtype == "float64":
        return Unsolved(
            "unreadable", "float64 values that float32 does not hold; only float32 draws are solved."
        )
    failure: Unsolved | None = None
    left = attempts
    for reading in readings(seen, nominals):
        if left <= 0:
            break
        words = reading.inversion.words
        found = recover(
            words,
            seen.unit[reading.inversion.source],
            seen.trust[reading.inversion.source],
            vouching=reading.sharp,
            attempts=min(left, worthwhile([reading])),
            entropy=entropy,
        )
        if found.window is not None:
            return _traced(seen, reading, found, furthest, nominals)
        left -= found.attempts
        failure = replace(_worse(failure, explained(found)), attempts=attempts - left)
        # For certain another generator, or this one with too few values: no other reading knows more. Where
        # the recurrence holds and words contradict each other, they are read less sharply once more: other
        # builds' last bits are one step off.
        if found.reason == "coarser" or (found.recurring and found.reason != "inconsistent"):
            return replace(explained(found), attempts=attempts - left + found.attempts)
    return failure or Unsolved("too-few", "no values to solve from.")


def worthwhile(readings: Sequence[Reading]) -> int:
    """Subsets that are worth trying: enough that one of them is wholly right, if only words are wrong."""
    if not all(reading.exact for reading in readings):
        return 1 if any(reading.sharp or reading.worn for reading in readings) else COARSE_ATTEMPTS
    used = sum(reading.inversion.used for reading in readings)
    wrong = sum(reading.wrong * reading.inversion.used for reading in readings) / max(1, used)
    right = (1.0 - wrong) ** RESTS_ON
    if right >= 1.0:
        return 1
    return math.ceil(math.log(UNLUCKY) / math.log1p(-right)) if right > 1e-6 else ATTEMPTS


def _traced(
    seen: Observation, reading: Reading, found: Recovery, furthest: int, nominals: Sequence[float]
) -> Solved | Unsolved:
    """The seed behind a recovered state."""
    assert found.window is not None
    origin = origin_of(found.window, furthest)
    if origin is None:
        return explained(found, furthest)
    index = origin.position - found.position
    fit = fitted(
        seen, origin.seed, index, reading.arithmetic, reading.scale, nominals, worn=reading.worn > 0.0
    )
    arithmetic, decided = arithmetic_of(seen, origin.seed, index, fit.scale)
    if arithmetic != reading.arithmetic and decided and not reading.worn:
        fit = fitted(seen, origin.seed, index, arithmetic, reading.scale, nominals)
    return Solved(
        seed=origin.seed,
        index=index,
        arithmetic=arithmetic,
        scale=fit.scale,
        scale_written=fit.written,
        exact=reading.exact,
        dtype=seen.dtype,
        tally=found.tally,
        log10_p=min(0.0, found.tally.log10_p + math.log10(found.attempts)),
        holdout=found.holdout,
        attempts=found.attempts,
        moved=reading.inversion.moved,
        alone=reading.inversion.alone,
        indices=seen.indices,
        equal=fit.equal,
        arithmetic_decided=decided,
        worn=reading.worn,
    )


def explained(found: Recovery, furthest: int = 0) -> Unsolved:
    """A failure in words.

    Args:
        found: without a window; or with one whose seeding was not found.
        furthest: in that case, how far back it was looked for.
    """
    tally = found.tally
    if found.window is not None:
        message = (
            f"the generator's state is known, but no integer seeding lies within {furthest} words before it."
        )
        return Unsolved("no-seed", message, True, found.known, tally, found.attempts)
    if found.reason == "too-few":
        message = f"the values give {found.known} equations; {DEGREE} unknowns need at least as many."
    elif found.reason == "under-determined":
        message = (
            f"{tally.equations} equations have rank {tally.rank} of {DEGREE}; {DEGREE - tally.rank} unknowns "
            "stay open. More values, or values in other places, would settle them."
        )
    elif found.reason == "coarser":
        message = "some bit is the same in all words: a generator of fewer than 24 random bits drew them."
    elif found.attempts == 0:
        message = (
            f"of {found.triples} triples of words only {found.passed} satisfy the generator's recurrence."
        )
    else:
        message = (
            f"the equations contradict each other in {found.attempts} of {found.attempts} subsets: not this "
            "generator in this order, or more than about 0.3 % of the words are wrong."
        )
    if found.recurring:
        message = f"{found.passed} of {found.triples} triples of words satisfy the recurrence, but {message}"
    return Unsolved(
        found.reason or "inconsistent", message, found.recurring, found.known, tally, found.attempts
    )


def _worse(first: Unsolved | None, second: Unsolved) -> Unsolved:
    """Of two failures the one that says more: a contradiction before a lack of values."""
    if first is None:
        return second
    rank = {"inconsistent": 2, "under-determined": 1}
    return second if rank.get(second.reason, 0) > rank.get(first.reason, 0) else first
