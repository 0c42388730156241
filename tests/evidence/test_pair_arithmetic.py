"""Pairs inverted without their seed: whose arithmetic gives their bits."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.evidence.pair_arithmetic import compare_pairs, exact_scale
from birthmark.hypothesis import Arithmetic, Draw, Hypothesis

THREADS = 8192
STD = 0.02


def pairs(arithmetic: Arithmetic, std: float = STD, calls: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of small radius of an unseeded draw."""
    draw = Draw("normal", (0.0, std), (calls * 4, THREADS))
    values = Hypothesis(draw, THREADS, arithmetic).tensor(5870214893347715).astype(np.float64)
    sines, cosines = values[0::2].ravel(), values[1::2].ravel()
    energy = (sines**2 + cosines**2) / (2.0 * std * std)
    inside = (energy > 1e-4) & (energy < 0.02)
    return sines[inside], cosines[inside]


@pytest.mark.parametrize("arithmetic", ["nvidia-volta+", "nvidia-pascal-", "amd"])
def test_each_arithmetic_is_told_from_the_others(arithmetic: Arithmetic) -> None:
    """Every pair is given by the arithmetic that made it, few by another vendor's, and it is named."""
    found = compare_pairs(*pairs(arithmetic), STD)
    assert found is not None
    assert found.arithmetic == arithmetic
    assert found.pairs > 1500
    mine, theirs = (found.amd, found.nvidia) if arithmetic == "amd" else (found.nvidia, found.amd)
    assert mine == found.pairs
    assert theirs < 0.15 * found.pairs
    assert found.both <= theirs


def test_the_last_bit_of_the_upper_half_turn_tells_the_generation() -> None:
    """Volta never needs the bit that it loses; Pascal needs it in about half of the upper pairs."""
    volta, pascal = compare_pairs(*pairs("nvidia-volta+"), STD), compare_pairs(*pairs("nvidia-pascal-"), STD)
    assert volta is not None
    assert pascal is not None
    assert volta.odd == 0
    assert 0.4 < pascal.odd / pascal.upper < 0.6
    assert "Volta or newer" in volta.statement
    assert "Pascal or older" in pascal.statement


def test_turned_signs_do_not_name_another_generation() -> None:
    """The negative of a later GPU's draw is fine where Pascal's is fine too; that alone names nobody."""
    sines, cosines = pairs("nvidia-volta+")
    found = compare_pairs(-sines, -cosines, STD)
    assert found is not None
    assert found.arithmetic is None
    assert "stays open" in found.statement


def test_a_wrong_scale_gives_few_pairs_and_names_nobody() -> None:
    """A scale that is two units in the last place off leaves the arithmetic open."""
    wrong = float(np.uint32(np.float32(STD).view(np.uint32) + 2).view(np.float32))
    found = compare_pairs(*pairs("nvidia-volta+"), wrong)
    assert found is not None
    assert found.arithmetic is None
    assert "stays open" in found.statement


def test_strangers_are_given_by_chance_only() -> None:
    """Sines and cosines that belong to different pairs are nobody's."""
    sines, cosines = pairs("nvidia-volta+")
    energy = (sines**2 + np.roll(cosines, 1) ** 2) / (2.0 * STD * STD)
    inside = energy < 0.02
    found = compare_pairs(sines[inside], np.roll(cosines, 1)[inside], STD)
    assert found is not None
    assert found.arithmetic is None
    assert found.nvidia < 0.2 * found.pairs


@pytest.mark.parametrize("std", [0.02, 0.0429536779, 0.0137, 1.0])
def test_the_exact_scale_is_found_beside_its_estimate(std: float) -> None:
    """The float32 that was drawn with is found from an estimate one unit away, and counted."""
    found, tried = exact_scale(*pairs("nvidia-volta+", std, calls=2), std * (1.0 + 6e-8))
    assert found == float(np.float32(std))
    assert tried == 7


def test_no_exact_scale_where_the_values_were_scaled_afterwards() -> None:
    """After a decay no float32 gives the pairs, and none is claimed."""
    sines, cosines = pairs("nvidia-volta+", calls=2)
    factor = np.float32(0.8)
    decayed = [(part.astype(np.float32) * factor).astype(np.float64) for part in (sines, cosines)]
    assert exact_scale(decayed[0], decayed[1], STD * 0.8)[0] is None


def test_few_pairs_say_nothing() -> None:
    """A handful of pairs is not inverted at all."""
    sines, cosines = pairs("nvidia-volta+", calls=1)
    assert compare_pairs(sines[:20], cosines[:20], STD) is None
    assert exact_scale(sines[:20], cosines[:20], STD) == (None, 0)


def test_few_pairs_above_leave_the_generation_open() -> None:
    """With too few pairs in the upper half turn only the vendor is named."""
    sines, cosines = pairs("nvidia-volta+")
    keep = np.concatenate([np.flatnonzero(sines > 0)[:200], np.flatnonzero(sines < 0)[:10]])
    found = compare_pairs(sines[keep], cosines[keep], STD)
    assert found is not None
    assert found.arithmetic is None
    assert "NVIDIA's, of a generation that stays open" in found.statement
