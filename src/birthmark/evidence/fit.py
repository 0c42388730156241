"""What fits the selection best: arithmetic, dtype at draw time, scale, cut-off, and a common factor after it.

Nothing here sees the hold-out. Each combination is asked for the bits of the stored values; the one that
gives most of them is taken. Where two give the same ones, neither is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import sharing
from birthmark.evidence.cut import SAME_LAUNCH, best_cut
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import same_bits
from birthmark.evidence.nominal import Nominal, usual
from birthmark.evidence.scale import Scale, as_drawn, bounds, estimate, most_covered
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.storing import TRUNCATED
from birthmark.samplers.truncated import inverting_versions, sigmas_of, spread, symmetric

#: Arithmetics that a Philox draw may follow, in the order in which ties are decided.
ARITHMETICS: tuple[Arithmetic, ...] = ("nvidia-volta+", "nvidia-pascal-", "amd")
#: More elements than this tell no more about a scale or an arithmetic.
MOST = 1 << 16
#: Common factors that decay plausibly leaves of an initial scale.
FACTORS = (0.25, 1.0)
#: A draw that was rounded before it was scaled is taken if it gives this many times more equal values.
CLEARLY_MORE = 1.05
#: Equal values by which another arithmetic must lead: between two that are known exactly, and where AMD's
#: stand-in tables take part; and, of the values that it does not give either, the share that adds to that.
LEAD_KNOWN = 1
LEAD_STAND_IN = 3
NOISE = 0.02
#: Where so large a share of the values is equal already, no other way to the scale is looked for.
NEARLY_ALL = 0.98
#: Elements on which the usual initial scales are tried one after another.
MOST_ROUNDED = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How raw values become stored ones.

    Attributes:
        hypothesis: with the arithmetic, the parameters and the dtype of the draw that fit best.
        scale: standard deviation or bound of the stored values.
        factor: what the drawn values were multiplied with afterwards; 1 for nothing, None where the scale
            is not one that is known from recipes.
        rounded_first: whether the values were rounded to the draw dtype before that factor was applied.
        equal: elements of the selection whose bits it gives.
        of: elements compared.
        same_dtypes: other dtypes at draw time that give the same stored values.
        same_versions: other torch versions of a truncated draw that do.
    """

    hypothesis: Hypothesis
    scale: Scale
    factor: float | None
    rounded_first: bool
    equal: int
    of: int
    same_dtypes: tuple[str, ...] = ()
    same_versions: tuple[str, ...] = ()

    @property
    def decayed(self) -> bool:
        """Whether the stored scale is not the one that was drawn with."""
        return self.scale.nominal is None

    def stored(self, raw: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Raw values (`Draw.source`) as the checkpoint would hold them."""
        drawn = self.hypothesis.draw.finish(raw)
        if self.rounded_first and self.factor is not None:
            drawn = np.asarray(drawn, np.float32) * np.float32(self.factor)
        return round_to(drawn, dtype)


def parameters(draw: Draw, scale: float) -> tuple[float, ...]:
    """The draw's parameters with another scale, symmetric about zero: cut off at as many sigmas as before."""
    if draw.distribution == "normal":
        return (0.0, scale)
    return symmetric(scale, sigmas_of(draw.parameters)) if draw.distribution == TRUNCATED else (-scale, scale)


def unfitted(hypothesis: Hypothesis, scale: float, n: int) -> Fit:
    """The hypothesis as it is, for values that it traces but does not give: no scale is read off them."""
    draw = hypothesis.draw
    nominal = scale / spread(sigmas_of(draw.parameters)) if draw.distribution == TRUNCATED else scale
    draw = replace(draw, parameters=parameters(draw, nominal))
    loose = Scale(nominal, nominal, nominal, 0, n, None, blurred=True)
    return Fit(replace(hypothesis, draw=draw), loose, None, rounded_first=False, equal=0, of=n)


def fit(
    hypothesis: Hypothesis, seed: int, elements: Elements, dtype: str, declared: float | None = None
) -> Fit | None:
    """The arithmetic, draw dtype, scale and factor that give most of the selection's bits.

    Args:
        hypothesis: the candidate's; its arithmetic and its draw's dtype and parameters are replaced.
        seed: the candidate's seed.
        elements: elements of the selection.
        dtype: the stored dtype.
        declared: the scale that the model's own files declare (`initializer_range`); None where unknown.

    Returns:
        None where no element bounds the scale.
    """
    some = elements.thinned(MOST)
    hypothesis = best_cut(hypothesis, seed, some, dtype)
    fits: list[Fit] = []
    for arithmetic in _arithmetics(hypothesis):
        raw = replace(hypothesis, arithmetic=arithmetic).raw(seed, some.indices)
        for draw_dtype in _draw_dtypes(hypothesis.draw, dtype):
            draw = replace(hypothesis.draw, dtype=draw_dtype)
            changed = replace(hypothesis, arithmetic=arithmetic, draw=draw)
            if (found := _fit_directly(changed, raw, some, dtype, declared)) is not None:
                fits.append(found)
    if not fits:
        return None
    best = _likeliest(fits, hypothesis)
    if best.decayed and best.equal < NEARLY_ALL * best.of:
        first = _fit_rounded_first(best, seed, some, dtype, declared)
        if first is not None and first.equal > CLEARLY_MORE * best.equal:
            best = first
    return replace(
        best,
        same_dtypes=_same_dtypes(best, fits, dtype),
        same_versions=_same_versions(best, best.hypothesis.raw(seed, some.indices), dtype),
    )


def _likeliest(fits: list[Fit], hypothesis: Hypothesis) -> Fit:
    """The fit with most equal values; between arithmetics a lead must be clear to change what is expected.

    Known devices of the layout come first, then the arithmetic that the search assumed.
    """
    best_dtype = {
        arithmetic: max(
            (one for one in fits if one.hypothesis.arithmetic == arithmetic),
            key=lambda one: (one.equal, one.hypothesis.draw.dtype == hypothesis.draw.dtype),
        )
        for arithmetic in dict.fromkeys(one.hypothesis.arithmetic for one in fits)
    }
    expected = sorted(
        best_dtype.values(),
        key=lambda one: (
            not sharing(hypothesis.threads, one.hypothesis.arithmetic),
            one.hypothesis.arithmetic != hypothesis.arithmetic,
        ),
    )
    best = expected[0]
    for one in expected[1:]:
        least = (
            LEAD_STAND_IN if "amd" in (one.hypothesis.arithmetic, best.hypothesis.arithmetic) else LEAD_KNOWN
        )
        if one.equal - best.equal >= least + NOISE * (one.of - one.equal):
            best = one
    return best


def _arithmetics(hypothesis: Hypothesis) -> tuple[Arithmetic, ...]:
    return ARITHMETICS if hypothesis.generator == "philox" else (hypothesis.arithmetic,)


def _draw_dtypes(draw: Draw, stored: str) -> tuple[str, ...]:
    """Dtypes at draw time that may give these stored values on the same launches."""
    if (
        draw.distribution != "uniform"  # a normal tells no dtype, a cut-off one has been asked
        or "float64" in (draw.dtype, stored)
        or math.prod(draw.shape) > SAME_LAUNCH
    ):
        return (draw.dtype,)
    return tuple(dict.fromkeys((draw.dtype, stored, "float32")))


def _same_dtypes(best: Fit, fits: list[Fit], stored: str) -> tuple[str, ...]:
    chosen = best.hypothesis
    if chosen.draw.source == "normal":
        # One rounding, at the draw or at the cast: the same values, as long as the launches are the same.
        alike = {"float32", stored} - {chosen.draw.dtype, "float64"}
        plain = not best.rounded_first and chosen.draw.dtype != "float64"
        return tuple(sorted(alike)) if plain and math.prod(chosen.draw.shape) <= SAME_LAUNCH else ()
    return tuple(
        other.hypothesis.draw.dtype
        for other in fits
        if other.hypothesis.arithmetic == chosen.arithmetic
        and other.hypothesis.draw.dtype != chosen.draw.dtype
        and other.equal == best.equal
    )


def _same_versions(best: Fit, raw: NDArray[Any], stored: str) -> tuple[str, ...]:
    draw = best.hypothesis.draw
    if draw.distribution != TRUNCATED or draw.source == "normal":
        return ()
    values = best.stored(raw, stored)
    others = {
        version: replace(best, hypothesis=replace(best.hypothesis, draw=replace(draw, version=version)))
        for version in inverting_versions(draw.dtype)
        if version != draw.version
    }
    return tuple(
        version for version, one in others.items() if np.array_equal(one.stored(raw, stored), values)
    )


def _fit_directly(
    hypothesis: Hypothesis, raw: NDArray[Any], elements: Elements, dtype: str, declared: float | None
) -> Fit | None:
    """The values as drawn with the stored scale, which they were unless they were scaled afterwards."""
    draw = hypothesis.draw
    scale = estimate(elements.values, raw, draw, dtype)
    if scale is None or scale.value <= 0.0:
        return None
    factor: float | None = 1.0
    if scale.nominal is None:
        initial = next(_initials(scale.value, draw, declared), None)
        factor = scale.value / initial.value if initial else None
    drawn_with = replace(draw, parameters=parameters(draw, scale.value))
    one = Fit(
        replace(hypothesis, draw=drawn_with), scale, factor, rounded_first=False, equal=0, of=len(elements)
    )
    return _counted(one, raw, elements, dtype)


def _counted(one: Fit, raw: NDArray[Any], elements: Elements, dtype: str) -> Fit:
    equal = same_bits(elements.values, one.stored(raw, dtype))
    return replace(one, equal=int(np.count_nonzero(equal)))


def _initials(scale: float, draw: Draw, declared: float | None) -> Iterator[Nominal]:
    """The scales that the draw plausibly had, where the stored one is not one that people write down."""
    if declared is not None and FACTORS[0] <= scale / declared < FACTORS[1]:
        yield Nominal(declared, f"{declared:g}, as declared")
    for nominal in usual(draw):
        if FACTORS[0] <= scale / nominal.value < FACTORS[1]:
            yield nominal


def _fit_rounded_first(
    direct: Fit, seed: int, elements: Elements, dtype: str, declared: float | None
) -> Fit | None:
    """The best fit of a factor times the drawn and rounded value, over the usual initial scales."""
    draw = direct.hypothesis.draw
    some = elements.thinned(MOST_ROUNDED)
    raw = direct.hypothesis.raw(seed, some.indices)
    best: Fit | None = None
    for draw_dtype in dict.fromkeys((draw.dtype, dtype)):
        if draw_dtype == "float64":
            continue
        for initial in _initials(direct.scale.value, draw, declared):
            initial_draw = replace(draw, dtype=draw_dtype, parameters=parameters(draw, initial.value))
            drawn = initial_draw.finish(raw)
            low, high = bounds(some.values, np.asarray(drawn, np.float64), dtype)
            if low.size == 0:
                continue
            first, last, count = most_covered(low, high)
            factor = float(np.float32(0.5 * (first + last)))
            drawn_scale = as_drawn(initial.value, initial_draw)
            scale = Scale(
                factor * drawn_scale,
                first * drawn_scale,
                last * drawn_scale,
                count,
                int(low.size),
                None,
                False,
            )
            hypothesis = replace(direct.hypothesis, draw=initial_draw)
            one = _counted(Fit(hypothesis, scale, factor, True, 0, len(some)), raw, some, dtype)
            if best is None or one.equal > best.equal:
                best = one
    if best is None:
        return None
    return _counted(
        replace(best, of=len(elements)), direct.hypothesis.raw(seed, elements.indices), elements, dtype
    )
