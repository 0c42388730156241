"""Which arithmetic the values follow: Volta and newer, Pascal and older, or AMD, and how well that is known.

Most stored values are the same under all three; only those that differ after rounding to the stored dtype can
tell (in bfloat16 one in five thousand between the vendors). AMD's logarithm and sine tables are not public:
correctly rounded functions stand in for them, so an AMD prediction can be wrong in its last bits, and no
count here is ever turned into certainty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import same_bits
from birthmark.evidence.fit import ARITHMETICS, Fit
from birthmark.hypothesis import Arithmetic

#: Values that must tell two known arithmetics apart before one of them is excluded.
ENOUGH_KNOWN = 3
#: The same where a stand-in is involved, which may be wrong in its last bits.
ENOUGH_STAND_IN = 8
#: Of the telling values, the share that must side with the one that is kept.
CLEAR = 0.8


@dataclass(frozen=True, slots=True)
class VendorTest:
    """What the values say about the vendor.

    Attributes:
        discriminating: elements whose stored value would differ between NVIDIA and AMD.
        nvidia: how many of them hold NVIDIA's value.
        amd: how many hold that of AMD (with stand-in tables).
        neither: how many hold another one.
        statement: the same in words.
    """

    discriminating: int
    nvidia: int
    amd: int
    neither: int
    statement: str


@dataclass(frozen=True, slots=True)
class ArithmeticTest:
    """Which arithmetics remain possible, the one that fits best first, and the vendors' counts."""

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
    return ArithmeticTest((best, *rest), _vendors(predicted[nvidia], predicted["amd"], elements))


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


def _vendors(nvidia: NDArray[Any], amd: NDArray[Any], elements: Elements) -> VendorTest:
    telling = ~same_bits(nvidia, amd)
    as_nvidia = telling & same_bits(elements.values, nvidia)
    as_amd = telling & same_bits(elements.values, amd)
    total, first, second = (int(np.count_nonzero(mask)) for mask in (telling, as_nvidia, as_amd))
    return VendorTest(total, first, second, total - first - second, statement(total, first, second))


def statement(discriminating: int, nvidia: int, amd: int) -> str:
    """The vendors' counts in words; never more certain than stand-in tables allow."""
    values = f"{discriminating:,} value{'' if discriminating == 1 else 's'}"
    if discriminating == 0:
        return "The arithmetic cannot separate the vendors: both store all of these values alike."
    if discriminating < ENOUGH_STAND_IN:
        return (
            f"The arithmetic cannot separate the vendors: only {values} would be stored differently "
            f"(at least {ENOUGH_STAND_IN} are needed)."
        )
    counts = f"of {values} that the vendors store differently, {nvidia:,} are NVIDIA's and {amd:,} AMD's"
    if nvidia >= CLEAR * discriminating:
        return f"The arithmetic is NVIDIA's as far as it is known: {counts} (AMD's tables are stand-ins)."
    if amd >= CLEAR * discriminating:
        return f"The arithmetic is AMD's as the stand-in tables model it: {counts}."
    if amd > 2 * nvidia:
        return (
            f"The arithmetic looks like AMD's rather than NVIDIA's: {counts}; "
            "AMD's real tables may explain the rest."
        )
    if nvidia > 2 * amd:
        return (
            f"The arithmetic looks like NVIDIA's rather than AMD's: {counts}; the rest agrees with neither."
        )
    return f"The arithmetic does not decide between the vendors: {counts}."
