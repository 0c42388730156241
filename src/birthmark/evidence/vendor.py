"""Whose arithmetic: counts of values that two arithmetics would store differently, and what they are worth.

Of the values that tell, n hold NVIDIA's value and a the other's; those that hold neither were changed since
and say nothing. What share s of NVIDIA's values is expected depends on who drew them, and on what is not
known, so each proposition is an average over s:

- NVIDIA, whose arithmetic is known to the last bit: with 0.9 s is Beta(98, 2), with 0.1 the last bits were
  changed since (by a decay, or a cast), and s is anything from 1/2 to 1.
- AMD, whose sine and logarithm tables are not public: simulated tables agree with the stand-ins in 0.6 of
  the telling values, with NVIDIA in 0.3 and with neither in 0.1. Others may not, so s is Beta(3, 6).
- A program that computes in float64: as NVIDIA with the sides exchanged.

The likelihood ratio of the two averages grows with the counts, but no faster than the unknown tables allow;
it never is certainty. Where most telling values hold neither side's, the few that do agree by chance, and no
ratio is taken. Against NVIDIA it speaks for *another* arithmetic: not every other one is AMD's, and one that
can be told, a program in plain float64, is asked for by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betainc, betaln

from birthmark.evidence.likelihood import Likelihood, in_words

#: Values that must tell two known arithmetics apart before one of them is excluded.
ENOUGH_KNOWN: Final = 3
#: The same where a stand-in is involved, which may be wrong in its last bits.
ENOUGH_STAND_IN: Final = 10
#: Values that must hold what a program in float64 stores, and no GPU: AMD's own tables give each by chance
#: in a third of the cases.
ENOUGH_PROGRAM: Final = 6
#: Of the telling values, the share that must side with the one that is kept.
CLEAR: Final = 0.8
#: Of the telling values, the share that must hold either side's value: last bits that were changed since, or
#: that a third arithmetic made, agree with either in a twentieth or a tenth each, by chance.
LEAST_AGREEING: Final = 0.25
#: Of normals stored in bfloat16, the share that NVIDIA and AMD store differently: 205 in a million.
TELLING_BFLOAT16: Final = 205e-6
#: The averages of the module's head.
KNOWN: Final = (98.0, 2.0)
STAND_IN: Final = (3.0, 6.0)
BLURRED: Final = 0.1
#: A tail that a float cannot hold any more counts as this.
_LEAST_TAIL: Final = 1e-300


@dataclass(frozen=True, slots=True)
class Counts:
    """Values that NVIDIA's arithmetic and another one store differently.

    Attributes:
        discriminating: how many.
        nvidia: how many of them hold NVIDIA's value.
        other: how many hold the other's.
        likelihood: of NVIDIA's arithmetic against the other; None where too few values hold either.
    """

    discriminating: int
    nvidia: int
    other: int
    likelihood: Likelihood | None

    @property
    def neither(self) -> int:
        """How many hold another value."""
        return self.discriminating - self.nvidia - self.other


@dataclass(frozen=True, slots=True)
class VendorTest:
    """What the values say about the vendor.

    Attributes:
        discriminating: elements whose stored value would differ between NVIDIA and AMD.
        nvidia: how many of them hold NVIDIA's value.
        amd: how many hold that of AMD (with stand-in tables).
        neither: how many hold another one.
        statement: the same in words.
        likelihood: of NVIDIA against AMD; None where too few values tell, or neither of the two made them.
        float64: the same counts against a program that computes in float64; None where it was not asked.
        imitated: whether such a program made the values, and no GPU.
    """

    discriminating: int
    nvidia: int
    amd: int
    neither: int
    statement: str
    likelihood: Likelihood | None = None
    float64: Counts | None = None
    imitated: bool = False


def against_amd(nvidia: int, amd: int, of: int | None = None) -> Likelihood | None:
    """The likelihood ratio of NVIDIA's arithmetic against AMD's, averaged over AMD's unknown tables.

    Args:
        nvidia: telling values that hold NVIDIA's value.
        amd: those that hold that of AMD's stand-in.
        of: all telling values; None where they are these.
    """
    name = "AMD's, whatever its tables are, or a third"
    return _ratio(nvidia, amd, of, lambda n, a: _beta(n, a, *STAND_IN), name)


def against_float64(nvidia: int, plain: int, of: int | None = None) -> Likelihood | None:
    """The likelihood ratio of NVIDIA's arithmetic against plain float64; the arguments as before."""
    return _ratio(nvidia, plain, of, lambda n, a: _known(a, n), "that of a program that computes in float64")


def _ratio(
    n: int, a: int, of: int | None, other: Callable[[int, int], float], name: str
) -> Likelihood | None:
    if n + a == 0 or n + a < LEAST_AGREEING * (of or 0):
        return None
    log10 = (_known(n, a) - other(n, a)) / math.log(10.0)
    return Likelihood(
        log10=log10,
        log10_after_trials=log10,
        words=in_words(log10),
        for_it="The values were made by NVIDIA's arithmetic.",
        against_it=f"The values were made by another one: {name}.",
    )


def _known(n: int, a: int) -> float:
    """Logarithm of the chance of n values of one's own and a of the other's, where one's own is known."""
    tail = max(float(betainc(a + 1, n + 1, 0.5)), _LEAST_TAIL)  # the part of Beta(n + 1, a + 1) above 1/2
    blurred = math.log(2.0 * BLURRED) + float(betaln(n + 1, a + 1)) + math.log(tail)
    return float(np.logaddexp(math.log(1.0 - BLURRED) + _beta(n, a, *KNOWN), blurred))


def _beta(n: int, a: int, alpha: float, beta: float) -> float:
    """Logarithm of the average of s^n (1 - s)^a over Beta(alpha, beta)."""
    return float(betaln(alpha + n, beta + a) - betaln(alpha, beta))


def statement(discriminating: int, nvidia: int, amd: int, *, of: int | None = None, dtype: str = "") -> str:
    """The vendors' counts in words; never more certain than stand-in tables allow.

    Args:
        discriminating: values that the vendors store differently.
        nvidia: how many of them hold NVIDIA's value.
        amd: how many hold AMD's.
        of: all values that were compared; None where unknown.
        dtype: the stored dtype.
    """
    values = f"{discriminating:,} value{'' if discriminating == 1 else 's'}"
    some = f"{values} of {of:,}" if of is not None else values
    if discriminating == 0:
        return "The arithmetic cannot separate the vendors: both store all of these values alike."
    if discriminating < ENOUGH_STAND_IN:
        needed = f"at least {ENOUGH_STAND_IN} are needed"
        if dtype == "bfloat16":
            needed += f", which in bfloat16 takes some {round(ENOUGH_STAND_IN / TELLING_BFLOAT16, -4):,.0f}"
        return (
            f"The arithmetic cannot separate the vendors: only {some} would be stored differently ({needed})."
        )
    counts = f"of {values} that the vendors store differently, {nvidia:,} are NVIDIA's and {amd:,} AMD's"
    if nvidia >= CLEAR * discriminating:
        return f"The arithmetic is NVIDIA's as far as it is known: {counts} (AMD's tables are stand-ins)."
    if amd >= CLEAR * discriminating:
        return f"The arithmetic is AMD's as the stand-in tables model it: {counts}."
    neither = discriminating - nvidia - amd
    if nvidia + amd < LEAST_AGREEING * discriminating:
        return (
            f"The arithmetic does not decide between the vendors: {counts}, as many as chance gives, and "
            f"{neither:,} neither's. Unchanged values of NVIDIA's would all be NVIDIA's: last bits were "
            "changed since, or another arithmetic than NVIDIA's and the stand-ins made them."
        )
    if amd > 1.5 * nvidia and neither > 0.5 * discriminating:
        return (
            f"The arithmetic is not NVIDIA's, nor AMD's as the stand-in tables model it: {counts}, "
            f"{neither:,} neither's. AMD's real tables, or a program that imitates a GPU, would explain that."
        )
    if amd > 1.5 * nvidia:
        return (
            f"The arithmetic looks like AMD's rather than NVIDIA's: {counts}; "
            "AMD's real tables may explain the rest."
        )
    if nvidia > 2 * amd:
        return (
            f"The arithmetic looks like NVIDIA's rather than AMD's: {counts}; the rest agrees with neither."
        )
    return f"The arithmetic does not decide between the vendors: {counts}."


def imitation(best: int, plain: int, *, best_name: str) -> str | None:
    """The sentence for values that a program in plain float64 made; None where the counts do not show that.

    Args:
        best: values that hold what the GPU arithmetic that fits best would store, and not the program's.
        plain: those that hold the program's and not that one's.
        best_name: whose arithmetic that is.
    """
    if plain < ENOUGH_PROGRAM or plain < CLEAR * (best + plain):
        return None
    return (
        f"No GPU's arithmetic made these values, but that of a program in plain float64: of {best + plain:,} "
        f"values that tell it from {best_name}, the GPU's that fits best, {plain:,} are the program's."
    )
