"""Where a normal was cut off, and by which of torch's methods: read off the bits of the selection.

The search takes all cut-offs of the older method for one, since they map words to nearly the same values; and
for the newer method it finds the plain normal, which most values are. Here each cut-off is asked for the
stored bits. Nothing sees the hold-out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import same_bits
from birthmark.evidence.scale import estimate
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import itemsize, round_to
from birthmark.samplers.storing import NORMAL, TRUNCATED
from birthmark.samplers.truncated import REDRAWING, inverting_versions, sigmas_of, symmetric

#: Cut-offs of recipes, in sigmas; infinite for torch's default bounds, which cut nothing off at std 0.02.
SIGMAS = (3.0, 2.0, math.inf)
#: The largest draw in elements whose launches do not depend on its dtype (rng: the byte limit of one launch).
SAME_LAUNCH = 1 << 28
#: Elements on which the cut-offs are compared.
MOST = 1 << 13
#: Of the values that a cut-off has drawn again, the share that must then be equal, and their least number.
REDRAWN_EQUAL, LEAST_REDRAWN = 0.5, 3


def best_cut(hypothesis: Hypothesis, seed: int, elements: Elements, dtype: str) -> Hypothesis:
    """The hypothesis with the cut-off, draw dtype and version that give most of the stored bits.

    Args:
        hypothesis: a candidate's; what is no normal of any kind comes back as it is.
        seed: the candidate's.
        elements: elements of the selection.
        dtype: the stored dtype.
    """
    draw = hypothesis.draw
    some = elements.thinned(MOST)
    if draw.distribution == NORMAL:
        return _redrawn(hypothesis, seed, some, dtype)
    if draw.distribution != TRUNCATED or draw.source == NORMAL:
        return hypothesis
    best = max(_cuts(draw, dtype), key=lambda each: _equal(hypothesis, each, seed, some, dtype))
    return replace(hypothesis, draw=_version(hypothesis, best, seed, some, dtype))


def _cuts(draw: Draw, stored: str) -> Iterator[Draw]:
    """The draw with each cut-off and dtype, the likeliest first; versions are told apart later."""
    std = draw.parameters[1]
    dtypes = [draw.dtype]
    if "float64" not in (draw.dtype, stored) and draw.size <= SAME_LAUNCH:
        dtypes = ["float32", *(each for each in dict.fromkeys((draw.dtype, stored)) if itemsize(each) < 4)]
    for sigmas in dict.fromkeys((*SIGMAS, sigmas_of(draw.parameters))):
        for dtype in dtypes:
            yield replace(draw, parameters=symmetric(std, sigmas), dtype=dtype)


def _version(hypothesis: Hypothesis, draw: Draw, seed: int, elements: Elements, dtype: str) -> Draw:
    """The draw in the version that gives most bits: another one only if it gives more of them."""
    return max(
        (replace(draw, version=version) for version in inverting_versions(draw.dtype)),
        key=lambda each: _equal(hypothesis, each, seed, elements, dtype),
    )


def _equal(hypothesis: Hypothesis, draw: Draw, seed: int, elements: Elements, dtype: str) -> int:
    """How many stored values the draw gives bit for bit, with the scale that suits it best."""
    raw = replace(hypothesis, draw=draw).raw(seed, elements.indices)
    scale = estimate(elements.values, raw, draw, dtype)
    if scale is None or scale.value <= 0.0:
        return 0
    scaled = replace(draw, parameters=symmetric(scale.value, sigmas_of(draw.parameters)))
    return int(np.count_nonzero(same_bits(elements.values, round_to(scaled.finish(raw), dtype))))


def _redrawn(hypothesis: Hypothesis, seed: int, elements: Elements, dtype: str) -> Hypothesis:
    """A normal, or one whose values beyond a cut-off were drawn again where that explains those values."""
    raw = hypothesis.raw(seed, elements.indices)
    scale = estimate(elements.values, raw, hypothesis.draw, dtype)
    if scale is None or scale.value <= 0.0:
        return hypothesis
    best, most = hypothesis, 0
    for sigmas in SIGMAS[:-1]:
        draw = replace(
            hypothesis.draw,
            distribution=TRUNCATED,
            parameters=symmetric(scale.value, sigmas),
            version=REDRAWING,
        )
        again = elements.keep(np.abs(raw) > sigmas)
        cut = replace(hypothesis, draw=draw)
        equal = same_bits(again.values, round_to(cut.values(seed, again.indices), dtype))
        count = int(np.count_nonzero(equal))
        if count >= max(REDRAWN_EQUAL * len(again), LEAST_REDRAWN, most + 1):
            best, most = cut, count
    return best
