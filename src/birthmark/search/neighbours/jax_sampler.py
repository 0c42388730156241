"""What a JAX key drew: distribution, scale and arithmetic, found from values that a search saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.threefry import Key, key_of
from birthmark.recipes.jax_initializers import EMBED, INITIALIZERS
from birthmark.samplers.jax_draw import Distribution, JaxDraw
from birthmark.search.neighbours.finding import NeighbourFinding, Outcome, fit
from birthmark.search.neighbours.jax_bits import Probe, turned
from birthmark.search.neighbours.jax_paths import KeyPath
from birthmark.search.neighbours.observed import Observed
from birthmark.search.neighbours.scales import fitted, written

#: Values on which draws are compared.
COMPARED: Final = 4096
#: Units in the last place around a formula's factor that are tried: a GPU's roots are not always exact.
_AROUND: Final = (0, 1, -1, 2, -2)
_SHAPES: Final[tuple[tuple[Distribution, tuple[float, float] | None], ...]] = (
    ("truncated-normal", (-2.0, 2.0)),
    ("normal", None),
    ("uniform", (-1.0, 1.0)),
    ("uniform", (0.0, 1.0)),
)


@dataclass(frozen=True, slots=True)
class Named:
    """A draw and the name that its scale has."""

    draw: JaxDraw
    name: str


def report(
    observed: Observed,
    seen: Observed,
    unseen: Observed,
    seed: int,
    path: KeyPath,
    bits: Probe,
    trials: int,
    searched: tuple[str, ...],
) -> Outcome:
    """The finding of a key, scored on what the search did not see."""
    key = path.key(key_of(seed), bits.counters)
    named = identified(observed, seen.spread(COMPARED), key, bits)
    predict = partial(_predicted, named.draw, key, observed.shape, bits.transposed)
    score = fit(unseen, predict(unseen.indices), trials)
    if not score.significant:
        return Outcome(None, trials, searched, "the best JAX key does not predict the values held back")
    where = ", ".join(
        text
        for text in (
            f"PRNGKey({seed})",
            path.text,
            f"counters {bits.counters}",
            "the matrix transposed" if bits.transposed else "",
        )
        if text
    )
    draw = named.draw
    finding = NeighbourFinding(
        observed.tensor, "threefry", "jax", "search", f"{named.name} in {draw.dtype}", draw.distribution,
        (draw.factor or 1.0, *(draw.bounds or ())), draw.dtype, draw.arithmetic, seed, where, score.n,
        score.r, score.equal, score.within_ulp, trials, score.log10_p, predict,
    )  # fmt: skip
    return Outcome(finding, trials, searched)


def identified(observed: Observed, few: Observed, key: Key, bits: Probe) -> Named:
    """The draw that predicts most of the values bit for bit; an estimate where none predicts any."""
    shape = observed.shape[::-1] if bits.transposed else observed.shape
    fits: list[tuple[float, JaxDraw, float]] = []
    for distribution, bounds in _SHAPES:
        draw = JaxDraw(distribution, observed.size, bounds, None, bits.dtype, bits.counters)
        standard = _predicted(draw, key, observed.shape, bits.transposed, few.indices)
        factor, spread = fitted(few.values, standard)
        fits.append((spread, draw, factor))
    _, base, factor = min(fits, key=lambda one: one[0])
    chosen = Named(replace(base, factor=factor or None), f"{base.distribution} times about {factor:.3g}")
    most = 0
    for named in _candidates(base, factor, shape):
        predicted = _predicted(named.draw, key, observed.shape, bits.transposed, few.indices)
        equal = fit(few, predicted, 1).equal
        # Candidates come simplest first; another must explain clearly more.
        if equal > most * 1.02:
            most, chosen = equal, named
    return chosen


def _candidates(base: JaxDraw, factor: float, shape: tuple[int, ...]) -> Iterator[Named]:
    """Named scales near the fitted one, with their neighbours, in every arithmetic."""
    arithmetics = ("xla-cpu", "xla-cuda") if base.dtype == "float32" else ("xla-cpu", "xla-cpu-fp16")
    for units in _AROUND:
        for value, name in _named(base, factor, shape):
            moved = _moved(value, units, base.dtype)
            text = name if units == 0 else f"{name}, its factor {units:+d} unit in the last place"
            for arithmetic in arithmetics:
                draw = replace(base, factor=moved, arithmetic=arithmetic)
                yield Named(draw, text)
                if base.distribution == "normal" and base.dtype != "bfloat16" and units == 0:
                    yield Named(replace(draw, merged=True), f"{name}, compiled with its scaling")
    if base.bounds == (-1.0, 1.0):
        for value, name in written(factor, shape):
            for arithmetic in arithmetics:
                bounds = (-value, value)
                yield Named(
                    replace(base, bounds=bounds, factor=None, arithmetic=arithmetic),
                    f"uniform(-{name}, {name})",
                )
    for arithmetic in arithmetics:
        yield Named(
            replace(base, factor=factor or None, arithmetic=arithmetic),
            f"{base.distribution} times {factor:.6g}",
        )


def _named(base: JaxDraw, factor: float, shape: tuple[int, ...]) -> Iterator[tuple[float, str]]:
    if len(shape) >= 2 and min(shape) >= 1:
        everything = [*INITIALIZERS.items(), ("flax Embed", EMBED)]
        for name, rule in everything:
            if rule.distribution == base.distribution and (base.bounds or (-1.0,))[0] != 0.0:
                value = rule.factor(shape, base.dtype, embedding=rule is EMBED)
                if abs(value / factor - 1.0) < 1e-3:
                    yield value, name
    for value, text in written(abs(factor), shape):
        yield value, f"{base.distribution} times {text}"


def _moved(value: float, units: int, dtype: str) -> float:
    if units == 0 or dtype != "float32" or value <= 0.0:
        return value
    pattern = np.array([value], np.float32).view(np.int32) + np.int32(units)
    return float(pattern.view(np.float32)[0])


def _predicted(
    draw: JaxDraw, key: Key, shape: tuple[int, ...], transposed: bool, indices: NDArray[np.int64]
) -> NDArray[Any]:
    return draw.values(key, turned(indices, shape) if transposed else indices)
