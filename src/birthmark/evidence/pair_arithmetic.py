"""Whose arithmetic made a pair of normals, without the seed: exact inversion, value by value.

Once the layout and the exact scale are known, a pair of small radius gives back its uniform exactly: u is 1
less a whole number of 2^-24, and the radius follows. Then only the angle is unknown, and it is one of a few
steps of the sine unit near the angle that the pair itself shows. Either one of those steps gives the stored
bits of both partners, or this arithmetic did not make them. On NVIDIA a step does so for every pair; by
chance one does for some pairs in a hundred.

Volta and newer GPUs lose the last bit of the step in the upper half turn, Pascal and older ones keep it:
there half of all steps are odd. So the steps tell the generation as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.hypothesis import Arithmetic
from birthmark.numerics.compiled import fma, kernel
from birthmark.numerics.logarithm import logf
from birthmark.numerics.sine import cosine, sine
from birthmark.samplers.normal import turns

#: Steps on either side of the angle that a pair shows.
NEAR = 8
#: With fewer pairs than this nothing is said.
ENOUGH = 24
#: The share of pairs that an arithmetic must give: NVIDIA's is exact, but some values may have been drawn
#: again or altered since; AMD's is a stand-in. By chance either gives 4 to 7 in 100.
GIVEN, GIVEN_STAND_IN = 0.8, 0.5
#: Of pairs in the upper half turn, the share that only an odd step gives: none on Volta, half on Pascal.
ODD = 0.2
#: Of altered pairs, the share that only an odd step gives: 0.015 by chance.
ODD_BY_CHANCE = 0.05

_TURN = 2.0 * math.pi
_STEPS = 1 << 25
_LATTICE = np.float32(2.0**-24)
_ONE, _MINUS_TWO = np.float32(1.0), np.float32(-2.0)
_LN2_HIGH = np.uint32(0x3F317217).view(np.float32)
_LN2_LOW = np.uint32(0x3377D1CF).view(np.float32)
#: What a pair can be given by: an even step or one of the lower half turn, an odd one above it.
_EVEN, _ODD = np.uint8(1), np.uint8(2)


@dataclass(frozen=True, slots=True)
class PairArithmetic:
    """How many pairs each arithmetic can have made.

    Attributes:
        pairs: pairs that were inverted.
        nvidia: those that NVIDIA's arithmetic gives, of any generation.
        amd: those that the stand-in for AMD's gives.
        both: those that both give.
        upper: pairs of the upper half turn that NVIDIA's gives.
        odd: those of `upper` that only an odd step gives, which Volta and newer GPUs do not take.
        arithmetic: which arithmetic that amounts to; None where it does not decide.
        statement: the same in words.
    """

    pairs: int
    nvidia: int
    amd: int
    both: int
    upper: int
    odd: int
    arithmetic: Arithmetic | None
    statement: str


def compare_pairs(
    sines: NDArray[np.float64], cosines: NDArray[np.float64], scale: float
) -> PairArithmetic | None:
    """Invert pairs of small radius under each arithmetic.

    Args:
        sines: the stored values of lanes 0 or 2.
        cosines: those of their partners in lanes 1 or 3.
        scale: the standard deviation that they were drawn with, exactly; it is rounded to float32.

    Returns:
        None where there are too few pairs.
    """
    if sines.size < ENOUGH:
        return None
    std = np.float32(scale)
    energy = (sines * sines + cosines * cosines) / (2.0 * float(std) ** 2)
    multiples = np.rint(-np.expm1(-energy) * 2.0**24).astype(np.float32)
    one, other = sines.astype(np.float32), cosines.astype(np.float32)
    nvidia, amd = np.zeros(one.size, np.uint8), np.zeros(one.size, np.uint8)
    _invert_nvidia(one, other, multiples, std, nvidia)
    _invert_amd(one, other, multiples, std, amd)
    upper = (sines < 0.0) & (nvidia > 0)
    pairs = int(sines.size)
    of_nvidia, of_amd = int(np.count_nonzero(nvidia)), int(np.count_nonzero(amd))
    above, odd = int(np.count_nonzero(upper)), int(np.count_nonzero(nvidia[upper] == _ODD))
    arithmetic, statement = _conclusion(pairs, of_nvidia, of_amd, above, odd)
    if arithmetic == "nvidia-pascal-" and not _odd_on_both_sides(one, other, multiples, std):
        arithmetic, statement = (
            None,
            (
                "The arithmetic is NVIDIA's, of a generation that stays open: steps are fine in one half "
                "turn only, as those of Volta and newer GPUs are, but in the wrong one, as if all signs had "
                "been turned."
            ),
        )
    both = int(np.count_nonzero((nvidia > 0) & (amd > 0)))
    return PairArithmetic(pairs, of_nvidia, of_amd, both, above, odd, arithmetic, statement)


def _odd_on_both_sides(
    sines: NDArray[np.float32], cosines: NDArray[np.float32], multiples: NDArray[np.float32], std: np.float32
) -> bool:
    """Whether the lower half turn needs odd steps too: Pascal's does, negated values of Volta do not."""
    mirrored = np.zeros(sines.size, np.uint8)
    _invert_nvidia(-sines, -cosines, multiples, std, mirrored)
    lower = (sines > 0.0) & (mirrored > 0)
    return int(np.count_nonzero(mirrored[lower] == _ODD)) >= ODD * max(1, int(np.count_nonzero(lower)))


def exact_scale(
    sines: NDArray[np.float64], cosines: NDArray[np.float64], near: float, ulps: int = 3
) -> tuple[float | None, int]:
    """The float32 scale near an estimate with which NVIDIA's arithmetic gives the pairs, and the trials."""
    centre = np.float32(near)
    if sines.size < ENOUGH:
        return None, 0
    best: tuple[int, float] = (0, 0.0)
    tried = 0
    for shift in sorted(range(-ulps, ulps + 1), key=abs):
        std = np.uint32(int(centre.view(np.uint32)) + shift).view(np.float32)
        energy = (sines * sines + cosines * cosines) / (2.0 * float(std) ** 2)
        multiples = np.rint(-np.expm1(-energy) * 2.0**24).astype(np.float32)
        out = np.zeros(sines.size, np.uint8)
        _invert_nvidia(sines.astype(np.float32), cosines.astype(np.float32), multiples, std, out)
        tried += 1
        best = max(best, (int(np.count_nonzero(out)), float(std)))
    return (best[1] if best[0] >= GIVEN * sines.size else None), tried


def _conclusion(pairs: int, nvidia: int, amd: int, upper: int, odd: int) -> tuple[Arithmetic | None, str]:
    counts = f"of {pairs:,} pairs inverted without the seed, {nvidia:,} are NVIDIA's to the last bit"
    if nvidia < GIVEN * pairs:
        if amd >= GIVEN_STAND_IN * pairs and amd > 3 * nvidia:
            return "amd", (
                f"The arithmetic is AMD's as the stand-in tables model it: {counts}, {amd:,} AMD's (a few "
                "come about by chance)."
            )
        return None, (
            f"The arithmetic stays open: {counts}, {amd:,} those of AMD's stand-in tables (a few come about "
            "by chance)."
        )
    if upper < ENOUGH:
        return None, f"The arithmetic is NVIDIA's, of a generation that stays open: {counts}."
    if odd >= ODD * upper:
        return "nvidia-pascal-", (
            f"The arithmetic is that of NVIDIA's Pascal or older: {counts}, and {odd:,} of {upper:,} in the "
            "upper half turn need a bit that later GPUs lose."
        )
    if odd <= ODD_BY_CHANCE * (pairs - nvidia):
        few = "none" if odd == 0 else f"{odd:,}"
        verb = "needs" if odd < 2 else "need"
        return "nvidia-volta+", (
            f"The arithmetic is that of NVIDIA's Volta or newer: {counts}, and {few} of {upper:,} in the "
            f"upper half turn {verb} a bit that those GPUs lose (on Pascal or older about half would)."
        )
    return None, (
        f"The arithmetic is NVIDIA's, of a generation that stays open: {counts}; {odd:,} of {upper:,} in the "
        "upper half turn need a bit that Volta and newer GPUs lose."
    )


@kernel()
def _invert_nvidia(
    sines: NDArray[np.float32],
    cosines: NDArray[np.float32],
    multiples: NDArray[np.float32],
    std: np.float32,
    out: NDArray[np.uint8],
) -> None:
    for i in range(sines.size):
        u = np.float32(_ONE - np.float32(multiples[i] * _LATTICE))
        radius = np.float32(np.sqrt(np.float32(_MINUS_TWO * logf(u))))
        share = np.arctan2(np.float64(sines[i]), np.float64(cosines[i])) / _TURN
        centre = int(np.floor(share * _STEPS))
        for shift in range(-NEAR, NEAR + 1):
            step = np.uint32((centre + shift) & (_STEPS - 1))
            if (
                np.float32(np.float32(radius * sine(step)) * std) == sines[i]
                and np.float32(np.float32(radius * cosine(step)) * std) == cosines[i]
            ):
                odd = (step >> np.uint32(24)) != np.uint32(0) and (step & np.uint32(1)) != np.uint32(0)
                if not odd:
                    out[i] = _EVEN
                    break
                out[i] = _ODD


@kernel()
def _invert_amd(
    sines: NDArray[np.float32],
    cosines: NDArray[np.float32],
    multiples: NDArray[np.float32],
    std: np.float32,
    out: NDArray[np.uint8],
) -> None:
    for i in range(sines.size):
        u = np.float32(_ONE - np.float32(multiples[i] * _LATTICE))
        log2 = np.float32(np.log2(np.float64(u)))
        high = np.float32(log2 * _LN2_HIGH)
        low = fma(log2, _LN2_LOW, fma(log2, _LN2_HIGH, -high))
        radius = np.float32(np.sqrt(np.float32(_MINUS_TWO * np.float32(high + low))))
        share = np.arctan2(np.float64(sines[i]), np.float64(cosines[i])) / _TURN
        if share < 0.0:
            share += 1.0
        # The unit takes its argument as a float32 number of turns: its neighbours are tried.
        pattern = np.int64(np.float32(share).view(np.uint32))
        for shift in range(-NEAR, NEAR + 1):
            turn = np.uint32(max(np.int64(0), pattern + np.int64(shift))).view(np.float32)
            s, c = turns(min(np.float64(turn), np.float64(1.0)))
            if (
                np.float32(np.float32(radius * np.float32(s)) * std) == sines[i]
                and np.float32(np.float32(radius * np.float32(c)) * std) == cosines[i]
            ):
                out[i] = _EVEN
                break
