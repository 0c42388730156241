"""The ways to read observed values as words, the most telling first.

float32 values at a scale that the lattice reveals are inverted exactly. If no scale fits (the tensor was
scaled afterwards, or rounded), values are read as intervals, with the scale somewhere within its own.
16-bit values are intervals in any case; with too few of them the usual scales are tried one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937_field import DEGREE
from birthmark.numerics.dtypes import itemsize, round_to
from birthmark.samplers.cpu_normal import BLOCK, Places, places
from birthmark.search.solve.certify import certify
from birthmark.search.solve.equations import Words, bits_of
from birthmark.search.solve.inversion import (
    ON_LATTICE,
    Inversion,
    coarse_normals,
    coarse_uniforms,
    exact_normals,
    exact_uniforms,
)
from birthmark.search.solve.scales import LEAST_SHARE, bound_of, deviation_of

#: A unit with so many values of which hardly more than chance have a word has moved as a whole.
JUDGED: Final = 24
#: How far values drift apart, relatively, that decay shrank in many steps smaller than float32 resolves. With
#: a decay of 1e-6 a step, 10^5 steps and a factor of 0.95 it was 0.002.
WORN: Final = 2.0**-8
#: Share of words that an exact inversion gets wrong above which another build may have drawn the values.
OTHER_BUILD: Final = 0.02
#: Usual scales that are tried on 16-bit values if the interval of the scale leaves too much open.
MOST_NOMINALS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Values of one tensor that may still be what a draw put there.

    Attributes:
        values: float64[n], as stored, finite.
        indices: int64[n], C-order flat indices, ascending and unique.
        size: elements of the tensor.
        distribution: "normal" (mean 0) or "uniform" (symmetric around 0).
        scale: the least and the most that the standard deviation or bound can be, as stored.
        dtype: the narrowest stored dtype that holds all values.
        unit: int64[n], the row or column of each value: right or wrong as a whole.
        trust: float64[n], the probability that the unit is right.
    """

    values: NDArray[np.float64]
    indices: NDArray[np.int64]
    size: int
    distribution: Literal["normal", "uniform"]
    scale: tuple[float, float]
    dtype: str
    unit: NDArray[np.int64]
    trust: NDArray[np.float64]

    def take(self, chosen: NDArray[np.bool_]) -> Observation:
        """Some of the values."""
        parts = (self.values[chosen], self.indices[chosen])
        return Observation(
            *parts,
            self.size,
            self.distribution,
            self.scale,
            self.dtype,
            self.unit[chosen],
            self.trust[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One way to read the values.

    Attributes:
        exact: whether float32 values were inverted exactly, at a scale found by their lattice.
        scale: the scale that was assumed; None where it was left open.
        arithmetic: "cpu-fused" or "cpu-unfused".
        inversion: the words.
        sharp: whether many words are known to within a few steps, so that they can vouch for each other.
        worn: by what share of themselves values were allowed to have drifted apart.
    """

    exact: bool
    scale: float | None
    arithmetic: str
    inversion: Inversion
    sharp: bool
    worn: float = 0.0

    @property
    def wrong(self) -> float:
        """About what share of the words is wrong; 0 where the values do not show it.

        Of values that moved a known share lies on the lattice by chance, all others are off it.
        """
        if not self.exact or not self.inversion.used:
            return 0.0
        by_chance = self.inversion.moved * ON_LATTICE / (1.0 - ON_LATTICE)
        return min(1.0, by_chance / self.inversion.used)


def observation(
    values: NDArray[np.float64],
    indices: NDArray[np.int64],
    shape: Sequence[int],
    distribution: Literal["normal", "uniform"],
    scale: tuple[float, float],
    dtype: str,
    unit: NDArray[np.int64] | None,
    trust: NDArray[np.float64] | None,
) -> Observation:
    """Put observed values in order.

    Raises:
        UsageError: arrays of different lengths, indices outside the tensor or repeated, a scale that is no
            interval of positive numbers.
        UnknownName: an unknown dtype.
    """
    count = len(values)
    unit = np.asarray(indices) if unit is None else unit
    trust = np.ones(count) if trust is None else trust
    if not count == len(indices) == len(unit) == len(trust):
        raise UsageError(f"{count} values with {len(indices)} indices; there must be one of each.")
    size = math.prod(shape)
    order = np.argsort(indices, kind="stable")
    ordered = np.asarray(indices, np.int64)[order]
    if count and (ordered[0] < 0 or ordered[-1] >= size or np.any(np.diff(ordered) == 0)):
        raise UsageError(f"indices of {size} elements must lie within the tensor and be unique.")
    if not 0.0 < scale[0] <= scale[1] < math.inf:
        raise UsageError(
            f"a scale between {scale[0]} and {scale[1]}; expected an interval of positive numbers."
        )
    stored = np.asarray(values, np.float64)[order]
    finite = np.isfinite(stored)
    found = Observation(
        stored,
        ordered,
        size,
        distribution,
        scale,
        narrowest(stored[finite], dtype),
        unit[order],
        trust[order],
    )
    return found.take(finite)


def narrowest(values: NDArray[np.float64], dtype: str) -> str:
    """The narrowest dtype, no wider than the stored one, that holds all values."""
    narrower = [name for name in ("bfloat16", "float16", "float32") if itemsize(name) < itemsize(dtype)]
    return next((name for name in narrower if np.array_equal(round_to(values, name), values)), dtype)


def readings(seen: Observation, nominals: Sequence[float] = ()) -> Iterator[Reading]:
    """The ways to read values, each made when it is asked for.

    Args:
        seen: the values.
        nominals: scales that the caller thinks likely, likeliest first.
    """
    exact = list(_exact(seen, nominals)) if seen.dtype == "float32" else []
    angles = by_angles(seen)
    # Where every angle is sound and the exact inversion still loses values, another build's last bits differ.
    doubtful = bool(exact) and exact[0].wrong > OTHER_BUILD
    if doubtful and angles is not None and certify(angles.inversion.words).sound:
        yield angles
    yield from exact
    # The last values of a ragged normal have two rules (see `cpu_normal`); a few values less do no harm.
    whole = seen.size % BLOCK == 0 or seen.distribution == "uniform"
    solid = seen if whole else seen.take(seen.indices < seen.size - BLOCK)
    reading = _coarse(solid, seen.scale)
    yield reading
    if seen.dtype == "float32":
        yield _coarse(solid, seen.scale, WORN)
    if bits_of(reading.inversion.words).sum() < 1.25 * DEGREE:
        within = [scale for scale in nominals if seen.scale[0] <= scale <= seen.scale[1]]
        for scale in within[:MOST_NOMINALS]:
            yield _coarse(solid, (scale, scale))


def by_angles(seen: Observation) -> Reading | None:
    """Float32 normals at any scale, whose angles are known to a step or two; None for other values."""
    if seen.dtype != "float32" or seen.distribution != "normal" or seen.size < BLOCK:
        return None
    whole = seen.size % BLOCK == 0
    return _coarse(seen if whole else seen.take(seen.indices < seen.size - BLOCK), seen.scale)


def _exact(seen: Observation, nominals: Sequence[float]) -> Iterator[Reading]:
    if seen.distribution == "uniform":
        fit = bound_of(seen.values, *seen.scale)
        if fit is None:
            return
        inversion = exact_uniforms(seen.values, seen.indices, fit.value, fit.arithmetic)
    else:
        where = places(seen.size, seen.indices)
        fit = deviation_of(seen.values, where, *seen.scale, nominals)
        if fit is None:
            return
        inversion = exact_normals(seen.values, where, fit.value)
    yield Reading(True, fit.value, fit.arithmetic, _sound_units(seen, inversion), sharp=True)


def _coarse(seen: Observation, scale: tuple[float, float], worn: float = 0.0) -> Reading:
    if seen.distribution == "uniform":
        inversion = coarse_uniforms(seen.values, seen.indices, scale, seen.dtype, worn)
    else:
        where: Places = places(seen.size, seen.indices)
        inversion = coarse_normals(seen.values, where, scale, seen.dtype, worn)
    # Angles need no scale: of float32 normals they are known to a step or two.
    sharp = seen.dtype == "float32" and seen.distribution == "normal" and not worn
    known = scale[0] if scale[0] == scale[1] else None
    return Reading(False, known, "cpu-fused", inversion, sharp, worn)


def _sound_units(seen: Observation, inversion: Inversion) -> Inversion:
    """Leave out the units that lie on the lattice hardly more often than by chance."""
    names, number = np.unique(seen.unit, return_inverse=True)
    there = np.bincount(number, minlength=len(names))
    # Each word stands for one value: a pair has two of both.
    found = np.bincount(number[inversion.source], minlength=len(names))
    sound = (found >= LEAST_SHARE * there) | (there < JUDGED)
    kept = sound[number[inversion.source]]
    words: Words = inversion.words.take(kept)
    lost = int(np.count_nonzero(~kept))
    return Inversion(
        words, inversion.source[kept], inversion.used - lost, inversion.moved + lost, inversion.alone
    )
