"""Which arithmetic the values follow: Volta and newer, Pascal and older, or AMD, and how well that is known.

Most stored values are the same under all three; only those that differ after rounding to the stored dtype can
tell (in bfloat16 one in five thousand between the vendors). AMD's logarithm and sine tables are not public:
correctly rounded functions stand in for them, so an AMD prediction can be wrong in its last bits, and no
count here is ever turned into certainty. What counts are worth: `vendor`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import same_bits
from birthmark.evidence.fit import ARITHMETICS, Fit
from birthmark.evidence.plain_float64 import plain_normals
from birthmark.evidence.vendor import (
    CLEAR,
    ENOUGH_KNOWN,
    ENOUGH_STAND_IN,
    Counts,
    VendorTest,
    against_amd,
    against_float64,
    imitation,
    statement,
)
from birthmark.hypothesis import Arithmetic
from birthmark.numerics.dtypes import round_to


@dataclass(frozen=True, slots=True)
class ArithmeticTest:
    """Which arithmetics remain possible, the one that fits best first, and the vendors' counts.

    None remains where a program in plain float64 made the values.
    """

    not_excluded: tuple[Arithmetic, ...]
    vendor: VendorTest


def compare_arithmetics(fit: Fit, seed: int, elements: Elements, dtype: str) -> ArithmeticTest | None:
    """Hold the stored values against all arithmetics.

    Args:
        fit: what fits best; its scale serves all arithmetics.
        seed: the candidate's seed.
        elements: elements that the fit predicts (altered ones agree with no arithmetic and only add to
            `neither`).
        dtype: the stored dtype.

    Returns:
        None where the generator has only one arithmetic.
    """
    if fit.hypothesis.generator != "philox" or len(elements) == 0:
        return None
    predicted = {
        arithmetic: fit.stored(
            replace(fit.hypothesis, arithmetic=arithmetic).raw(seed, elements.indices), dtype
        )
        for arithmetic in ARITHMETICS
    }
    best = fit.hypothesis.arithmetic
    rest = [
        other for other in ARITHMETICS if other != best and not _excluded(best, other, predicted, elements)
    ]
    nvidia = best if best != "amd" else "nvidia-volta+"
    plain = _imitated(fit, seed, elements, dtype)
    vendor = _vendors(predicted[nvidia], predicted["amd"], plain, elements, dtype)
    if plain is not None:
        _, of_gpu, of_program = _counted(predicted[best], plain, elements)
        name = "AMD's" if best == "amd" else "NVIDIA's"
        if (text := imitation(of_gpu, of_program, best_name=name)) is not None:
            return ArithmeticTest((), replace(vendor, statement=text, likelihood=None, imitated=True))
    return ArithmeticTest((best, *rest), vendor)


def _imitated(fit: Fit, seed: int, elements: Elements, dtype: str) -> NDArray[Any] | None:
    """What a program in float64 would have stored; None for what is not made of float32 normals."""
    plain = plain_normals(fit.hypothesis, seed, elements.indices)
    draw = fit.hypothesis.draw
    if plain is None or draw.distribution != "normal":
        return None
    mean, std = draw.parameters[:2]
    if fit.rounded_first and fit.factor is not None:
        return round_to(np.asarray(round_to(mean + std * plain, draw.dtype), np.float64) * fit.factor, dtype)
    return round_to(mean + std * plain, dtype)


def _excluded(
    best: Arithmetic,
    other: Arithmetic,
    predicted: dict[Arithmetic, NDArray[Any]],
    elements: Elements,
) -> bool:
    """Whether enough values side with the best against another one."""
    telling = ~same_bits(predicted[best], predicted[other])
    for_best = int(np.count_nonzero(telling & same_bits(elements.values, predicted[best])))
    for_other = int(np.count_nonzero(telling & same_bits(elements.values, predicted[other])))
    enough = ENOUGH_STAND_IN if "amd" in (best, other) else ENOUGH_KNOWN
    return for_best >= enough and for_best >= CLEAR * (for_best + for_other)


def _vendors(
    nvidia: NDArray[Any], amd: NDArray[Any], plain: NDArray[Any] | None, elements: Elements, dtype: str
) -> VendorTest:
    total, first, second = _counted(nvidia, amd, elements)
    float64 = None
    if plain is not None:
        counts = _counted(nvidia, plain, elements)
        float64 = Counts(*counts, against_float64(*counts[1:], counts[0]))
    return VendorTest(
        total,
        first,
        second,
        total - first - second,
        statement(total, first, second, of=len(elements), dtype=dtype),
        against_amd(first, second, total),
        float64,
    )


def _counted(one: NDArray[Any], other: NDArray[Any], elements: Elements) -> tuple[int, int, int]:
    """Elements that two arithmetics store differently, and how many hold the one's and the other's."""
    telling = ~same_bits(one, other)
    as_one = telling & same_bits(elements.values, one)
    as_other = telling & same_bits(elements.values, other)
    return int(telling.sum()), int(as_one.sum()), int(as_other.sum())
