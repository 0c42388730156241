"""Several tensors of one stream solved at once, each too small alone.

Layers that are constructed one after the other draw from one stream. If the distances between their draws
are known (they follow from the shapes: one word an element), their words go into one system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937_rewind import FURTHEST, origin_of
from birthmark.samplers.cpu_normal import BLOCK
from birthmark.search.solve.equations import Words
from birthmark.search.solve.fit import Fit, arithmetic_of, fitted
from birthmark.search.solve.readings import Observation, Reading, observation, readings
from birthmark.search.solve.recover import ATTEMPTS, Agreement, Recovery, Tally, recover
from birthmark.search.solve.solve import Unsolved, explained, worthwhile


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Surviving values of one tensor, and where its draw lies.

    Attributes:
        start: words between the first tensor's first element and this one's; 0 for the first.
        values: float[n], as stored.
        indices: int64[n], their C-order flat indices, without repeats.
        shape: the tensor's extents.
        distribution: "normal" (mean 0) or "uniform" (symmetric around 0).
        scale: the least and the most that the standard deviation or bound can be, as stored.
        dtype: the stored dtype.
        nominals: scales that are likely, likeliest first.
        unit: int64[n], the row or column of each value.
        trust: float64[n], the probability that its unit still holds initial values.
    """

    start: int
    values: NDArray[np.float64] | NDArray[np.float32]
    indices: NDArray[np.int64]
    shape: tuple[int, ...]
    distribution: Literal["normal", "uniform"]
    scale: tuple[float, float]
    dtype: str = "float32"
    nominals: tuple[float, ...] = ()
    unit: NDArray[np.int64] | None = None
    trust: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """One seed for several tensors.

    Attributes:
        seed: the low 32 bits of the seed.
        index: 32-bit words drawn before the first piece's tensor.
        tally: equations, rank and satisfied redundant equations.
        log10_p: chance that the redundant equations agree by luck, as a power of ten; 0 where words were
            chosen because they agreed.
        holdout: words that the solution did not use, and how many of them it predicts.
        attempts: random subsets that were tried.
        arithmetics: the one that predicts most, for each piece.
        fits: the scale of each piece and which of its values, by ascending index, the draw predicts.
    """

    seed: int
    index: int
    tally: Tally
    log10_p: float
    holdout: Agreement
    attempts: int
    arithmetics: tuple[str, ...]
    fits: tuple[Fit, ...]


def solve_together(
    pieces: Sequence[Piece], *, furthest: int = FURTHEST, attempts: int = ATTEMPTS, entropy: int = 0
) -> Together | Unsolved:
    """Find the seed and the stream position behind surviving values of several draws of one stream.

    Args:
        pieces: the tensors. Normals of fewer than 16 elements and float64 values are left out.
        furthest: the largest stream position that is tried when walking back to the seeding.
        attempts: random subsets of the words that are tried where some are wrong.
        entropy: seed of the random choices.

    Raises:
        UsageError: a piece that `solve` would refuse, or draws that overlap.
        UnknownName: an unknown dtype.
    """
    read: list[tuple[Piece, Observation, Reading]] = []
    for piece in pieces:
        seen = observation(
            np.asarray(piece.values, np.float64), piece.indices, piece.shape, piece.distribution, piece.scale,
            piece.dtype, piece.unit, piece.trust,
        )  # fmt: skip
        scalar = piece.distribution == "normal" and seen.size < BLOCK
        if len(seen.values) and seen.dtype != "float64" and not scalar:
            read.append((piece, seen, next(iter(readings(seen, piece.nominals)))))
    if not read:
        return Unsolved("too-few", "no values to solve from.")
    words, unit, trust = _joined(read)
    sharp = all(reading.sharp for _, _, reading in read)
    attempts = min(attempts, worthwhile([reading for _, _, reading in read]))
    found = recover(words, unit, trust, vouching=sharp, attempts=attempts, entropy=entropy)
    if found.window is None:
        return explained(found)
    origin = origin_of(found.window, furthest)
    if origin is None:
        return explained(found, furthest)
    return _fitted(read, found, origin.seed, origin.position - found.position)


def _joined(
    read: list[tuple[Piece, Observation, Reading]],
) -> tuple[Words, NDArray[np.int64], NDArray[np.float64]]:
    """All words by their position in the stream, with unit and trust of each."""
    parts = [(piece.start, seen, reading.inversion) for piece, seen, reading in read]
    position = np.concatenate([start + inversion.words.position for start, _, inversion in parts])
    order = np.argsort(position, kind="stable")
    if np.any(np.diff(position[order]) == 0):
        raise UsageError("draws that overlap: two tensors claim the same words; check where each starts.")
    low = np.concatenate([inversion.words.low for _, _, inversion in parts])
    high = np.concatenate([inversion.words.high for _, _, inversion in parts])
    trust = np.concatenate([seen.trust[inversion.source] for _, seen, inversion in parts])
    units = []
    count = 0
    for _, seen, inversion in parts:
        names, number = np.unique(seen.unit, return_inverse=True)
        units.append(count + number[inversion.source])
        count += len(names)
    return Words(position[order], low[order], high[order]), np.concatenate(units)[order], trust[order]


def _fitted(
    read: list[tuple[Piece, Observation, Reading]], found: Recovery, seed: int, index: int
) -> Together:
    fits, arithmetics = [], []
    for piece, seen, reading in read:
        at = index + piece.start
        fit = fitted(seen, seed, at, reading.arithmetic, reading.scale, piece.nominals)
        arithmetic, decided = arithmetic_of(seen, seed, at, fit.scale)
        if decided and arithmetic != reading.arithmetic:
            fit = fitted(seen, seed, at, arithmetic, reading.scale, piece.nominals)
        fits.append(fit)
        arithmetics.append(arithmetic if decided else reading.arithmetic)
    return Together(
        seed=seed,
        index=index,
        tally=found.tally,
        log10_p=min(0.0, found.tally.log10_p + math.log10(found.attempts)),
        holdout=found.holdout,
        attempts=found.attempts,
        arithmetics=tuple(arithmetics),
        fits=tuple(fits),
    )
