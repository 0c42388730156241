"""Families of draws: what a stored value may have been drawn by, and the raw value that each puts behind it.

Bell-shaped values need not be plain normals. Up to torch 2.11 `trunc_normal_` made them from uniforms, one
word a value, so that a search for normals never finds them. The cut-offs that recipes use (2 or 3 sigma, or
bounds that cut nothing off) and the dtypes at draw time map a word to nearly the same value: one search with
intervals that hold them all serves for all, and the evidence tells them apart. From torch 2.12 on most values
are plain normals. Yet where they are cut off at 2 sigma, the std of what is left is smaller than the draw's
by more than a window allows; so values that look cut off are searched with the draw's as well.

Survivors of which a good part of the elements was altered are another such family. The rest still are what
was drawn, but all together they are wider than the draw, so that no interval made from their scale holds.
How much wider is not known, but a draw's scale is mostly one of a few: those a little below are tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.numerics.dtypes import interval
from birthmark.samplers.draw import Draw
from birthmark.samplers.storing import TRUNCATED
from birthmark.samplers.truncated import spread, symmetric
from birthmark.search.miss import ALTERED
from birthmark.search.sequential import HELD
from birthmark.search.windows import UNIFORM_SLACK, scale_spread, standard_interval
from birthmark.survivors.split import Selection
from birthmark.survivors.survivor import Distribution

#: Cut-offs in sigmas whose values one interval holds, and the one that stands for all in a search.
SIGMAS: Final = (2.0, 3.0, math.inf)
STANDS_FOR_ALL: Final = 3.0
#: A truncated draw in 16 bits rounds after every step: relative errors of the uniform, and of what follows.
STEPS: Final = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
#: Larger values are no probes or witnesses: the ends of a uniform's range behave in their own ways, and the
#: intervals of a truncated normal grow.
LARGEST_UNIFORM, LARGEST_TRUNCATED = 0.98, 1.5
#: Values look cut off where none lies this far beyond the cut and a plain normal had so many of them there.
BEYOND, EXPECTED = 1.02, 12.0
#: Altered survivors: the share of elements that is reckoned with, the least share of witnesses that a true
#: seed predicts (a tenth of the rows being impostors), and the largest witness, for large ones are altered.
MANY_ALTERED, FEWER_HELD, SMALLER_WITNESS = 0.35, 0.35, 2.0
#: The draw's scale in units of the survivors': half of them altered by noise as wide as the values make 0.82,
#: what makes less than the first looks like no draw, and what makes more than the second needs no family.
NARROWEST, WIDEST = 0.76, 0.97
#: Usual scales of normal draws, beside those that follow from the width of a row.
USUAL: Final = (0.02, 0.01, 0.006, 0.05, 0.1, 1.0)
#: Such scales that are tried at the most.
MOST_SCALES: Final = 2
#: Survivors look altered where their kurtosis is above a normal's by so many standard errors.
HEAVY: Final = 2.0

Name = Literal["normal", "uniform", "truncated normal", "redrawn normal", "altered normal"]


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of draw that a search goes through.

    Attributes:
        name: in words.
        source: the raw values that it is made from.
        sigmas: the cut-offs that it stands for; each counts as a trial.
        versions: the torch versions that draw so, in words; empty for all.
        altered: the share of elements that is taken to have been altered.
        held: the least share of witnesses that a true seed predicts.
        scale: of the draw, where it is supposed; None where it is that of the values.
    """

    name: Name
    source: Distribution
    sigmas: tuple[float, ...] = (math.inf,)
    versions: str = ""
    altered: float = ALTERED
    held: float = HELD
    scale: float | None = None

    @property
    def plain(self) -> bool:
        """Whether it is what the values were taken for."""
        return self.name in ("normal", "uniform")

    @property
    def prefix(self) -> str:
        """What goes before the names of its stages."""
        return "" if self.plain else f"{self.name.removesuffix(' normal')} "

    def std(self, scale: float) -> float:
        """The nominal scale of a draw whose values have this one."""
        if self.scale is not None:
            return self.scale
        return scale if self.plain else scale / spread(self._stand_in)

    def draw(self, selection: Selection, dtype: str) -> Draw:
        """The draw that stands for the family; its scale is the selection's estimate."""
        std = self.std(selection.scale)
        if self.name == "truncated normal":
            return Draw(TRUNCATED, symmetric(std, self._stand_in), selection.shape, dtype)
        parameters = (0.0, std) if self.source == "normal" else (-std, std)
        return Draw(self.source, parameters, selection.shape, dtype)

    def raw_interval(
        self, selection: Selection, dtype: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where the raw value behind each stored one can lie: a standard normal, or a uniform in [0, 1].

        Args:
            selection: the values, with their scale.
            dtype: the dtype whose rounding the values went through.
        """
        values, error = selection.values, selection.scale_error if self.scale is None else 0.0
        if self.name != "truncated normal":
            return standard_interval(values, dtype, self.source, self.std(selection.scale), error)
        ends = [
            self._uniform(*interval(values, dtype), selection.scale / spread(sigmas), error, dtype, sigmas)
            for sigmas in self.sigmas
        ]
        low, high = np.min([one for one, _ in ends], axis=0), np.max([one for _, one in ends], axis=0)
        return np.clip(low - UNIFORM_SLACK, 0.0, 1.0), np.clip(high + UNIFORM_SLACK, 0.0, 1.0)

    @property
    def largest(self) -> float:
        """The largest value, in units of the scale, that a uniform probe or witness may have."""
        return LARGEST_TRUNCATED if self.name == "truncated normal" else LARGEST_UNIFORM

    @property
    def _stand_in(self) -> float:
        return STANDS_FOR_ALL if STANDS_FOR_ALL in self.sigmas else self.sigmas[0]

    def _uniform(
        self,
        least: NDArray[np.float64],
        most: NDArray[np.float64],
        std: float,
        scale_error: float,
        dtype: str,
        sigmas: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The uniforms behind values from `least` to `most`, for one cut-off."""
        error, step = scale_spread(scale_error), STEPS.get(dtype, 0.0)
        z = _hull(*_hull(least / std, most / std, 1 / (1 + error), 1 / (1 - error)), 1 - step, 1 + step)
        mass = math.erf(sigmas / math.sqrt(2.0))
        low, high = ((2.0 * ndtr(end) - 1.0) / mass for end in z)
        low, high = _hull(low, high, 1 - step, 1 + step)
        return (low + 1.0) / 2.0, (high + 1.0) / 2.0


NORMAL: Final = Family("normal", "normal")
UNIFORM: Final = Family("uniform", "uniform")
TRUNCATED_NORMAL: Final = Family("truncated normal", "uniform", SIGMAS, "up to 2.11")
REDRAWN_NORMAL: Final = Family("redrawn normal", "normal", (2.0,), "2.12 and later")


def own_family(selection: Selection) -> Family:
    """The family of what the values were taken for."""
    return NORMAL if selection.distribution == "normal" else UNIFORM


def other_families(selection: Selection) -> tuple[Family, ...]:
    """The families that may hide behind it."""
    if selection.distribution != "normal":
        return ()
    return (TRUNCATED_NORMAL, REDRAWN_NORMAL) if looks_cut(selection, 2.0) else (TRUNCATED_NORMAL,)


def altered_families(selection: Selection) -> tuple[Family, ...]:
    """Normal draws of a usual scale that many altered elements may have widened to that of the selection."""
    if selection.distribution != "normal" or not selection.scale > 0.0:
        return ()
    width = selection.shape[-1] if selection.shape else 1
    usual = (*USUAL, width**-0.5, (2.0 / (5.0 * width)) ** 0.5)
    near = [scale for scale in usual if NARROWEST <= scale / selection.scale <= WIDEST]
    return tuple(
        Family("altered normal", "normal", altered=MANY_ALTERED, held=FEWER_HELD, scale=scale)
        for scale in list(dict.fromkeys(near))[:MOST_SCALES]
    )


def looks_altered(selection: Selection) -> bool:
    """Whether the values have heavier tails than a normal, as survivors with altered elements do."""
    values = selection.values[np.isfinite(selection.values)] / selection.scale
    square = values * values
    if selection.distribution != "normal" or not square.any():
        return False
    kurtosis = float(np.mean(square * square) / np.mean(square) ** 2)
    return kurtosis > 3.0 + HEAVY * math.sqrt(24.0 / len(values))


def looks_cut(selection: Selection, sigmas: float) -> bool:
    """Whether the values end where a normal cut off at so many sigmas does, too early for a plain one."""
    with np.errstate(invalid="ignore"):
        size = np.abs(selection.values) / selection.scale
    limit = BEYOND * sigmas / spread(sigmas)
    expected = 2.0 * float(ndtr(-limit)) * np.count_nonzero(np.isfinite(size))
    return bool(expected >= EXPECTED) and not bool(np.any(size > limit))


def _hull(
    low: NDArray[np.float64], high: NDArray[np.float64], *factors: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval that holds both ends times each factor."""
    ends = np.stack([end * factor for end in (low, high) for factor in factors])
    return ends.min(axis=0), ends.max(axis=0)
