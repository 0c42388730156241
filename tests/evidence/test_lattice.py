"""Lattices: R of numbers that should be integers, and the search for their scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.evidence.coherence import Background, Coherence, coherence
from birthmark.evidence.lattice import TRIALS_PER_POINT, best_scale, power, refined
from birthmark.evidence.lattices import (
    CUT_SHARE,
    PairLattice,
    SingleLattice,
    adjacent_partners,
    cpu_partners,
)


def energies(count: int, seed: int = 3, bits: int = 24) -> NDArray[np.float64]:
    """Energies of pairs in the widest window, from uniforms on a lattice."""
    multiples = np.random.default_rng(seed).integers(1678, int(0.0198 * 2**bits), count)
    found: NDArray[np.float64] = -np.log1p(-multiples * 2.0**-bits)
    return found


def test_integers_are_coherent_and_uniform_fractions_are_not() -> None:
    """R^2 of integers, or of integers and one common fraction, is their number; of noise it is about 1."""
    whole = np.arange(500.0)
    assert power(whole) == pytest.approx(500.0)
    assert power(whole + 0.37) == pytest.approx(500.0)
    noise = np.random.default_rng(1).random((400, 300)) * 1000
    sizes = np.array([power(row) for row in noise])
    assert sizes.mean() == pytest.approx(1.0, abs=0.2)
    assert power(np.zeros(0)) == 0.0


def test_r_squared_is_exponential_under_noise() -> None:
    """The tail of R^2 under a false supposition is exp(-x)."""
    rng = np.random.default_rng(8)
    sizes = np.array([power(PairLattice(rng.random(60) * 0.02, 0.02).at(0.0).turns) for _ in range(4000)])
    for x in (1.0, 2.0, 4.0):
        assert np.mean(sizes > x) == pytest.approx(math.exp(-x), abs=3.5 * math.sqrt(math.exp(-x) / 4000))


@pytest.mark.parametrize("t", [0.0, 1.3e-6, -0.0047, 0.0149])
def test_the_scale_is_found_wherever_it_lies(t: float) -> None:
    """The grid loses at most a tenth or so of a peak, and the refinement finds all of it."""
    lattice = PairLattice(energies(900) / (1.0 + t), 0.02)
    peak = best_scale(lattice, 0.016)
    assert math.sqrt(peak.power) > 0.8 * 30.0
    assert peak.t == pytest.approx(t, abs=2e-6)
    fine = refined(lattice, peak)
    assert math.sqrt(fine.power) > 0.999 * 30.0
    assert fine.t == pytest.approx(t, abs=2e-9)
    assert fine.trials > 50


def test_no_scale_makes_noise_coherent() -> None:
    """Over some hundred thousand scales noise stays where the trials put it, and every point is counted."""
    rng = np.random.default_rng(5)
    peak = best_scale(PairLattice(rng.uniform(1e-4, 0.02, 900), 0.02), 0.016)
    step = PairLattice(np.zeros(1), 0.02).at(0.0).step
    assert peak.trials == pytest.approx(TRIALS_PER_POINT * 2 * 0.016 / step, rel=0.01)
    assert 2.0 < math.sqrt(peak.power) < math.sqrt(math.log(peak.trials)) + 1.0
    assert refined(PairLattice(rng.uniform(1e-4, 0.02, 900), 0.02), peak).power < 40


def test_no_more_noise_stands_out_than_the_trials_allow() -> None:
    """Over many null searches R^2, after its trials, is not rarer than it says."""
    rng = np.random.default_rng(12)
    chances = []
    for _ in range(300):
        lattice = PairLattice(rng.uniform(1e-4, 0.02, 200), 0.02)
        peak = best_scale(lattice, 0.002)
        chances.append(Coherence(200, math.sqrt(refined(lattice, peak).power), peak.trials).log10_p_global)
    for level in (0.5, 0.2, 0.1):
        allowed = level * 300 + 3.0 * math.sqrt(level * (1 - level) * 300)
        assert np.count_nonzero(np.array(chances) < math.log10(level)) < allowed


def test_the_wrong_lattice_is_not_coherent() -> None:
    """Uniforms of 24 bits are no multiples of 2^-23, and those of 23 bits are of 2^-24."""
    fine, coarse = energies(1000, bits=24), energies(1000, bits=23)
    assert math.sqrt(power(PairLattice(fine, 0.02, 23).at(0.0).turns)) < 4.0
    assert math.sqrt(power(PairLattice(coarse, 0.02, 24).at(0.0).turns)) > 31.0


@pytest.mark.parametrize("share", [1.0, CUT_SHARE])
def test_single_normals_show_their_step(share: float) -> None:
    """Normals by the inverse error function are coherent at their own step and scale only."""
    from scipy.special import erfinv

    uniforms = (np.random.default_rng(2).integers(0, 2**23, 40000) * 2.0**-22 - 1.0 + 2.0**-24) * share
    normal = math.sqrt(2.0) * erfinv(uniforms)
    lattice = SingleLattice(normal[np.abs(normal) < 0.3] * (1.0 - 2e-4), share)
    peak = best_scale(lattice, 1e-3)
    assert math.sqrt(peak.power) > 0.8 * math.sqrt(len(lattice))
    assert math.sqrt(1.0 + peak.t) == pytest.approx(1.0 / (1.0 - 2e-4), abs=1e-6)
    assert (
        math.sqrt(best_scale(SingleLattice(lattice.normal, 1.0 if share < 1 else CUT_SHARE), 1e-3).power)
        < 5.0
    )


def test_a_lattice_without_numbers_has_no_peak() -> None:
    """Nothing to look at gives R = 0, and the trials are counted all the same."""
    peak = best_scale(PairLattice(np.zeros(0), 0.02), 0.01)
    assert peak.power == 0.0
    assert peak.trials > 0
    assert coherence(PairLattice(np.zeros(0), 0.02), 0.0) == Coherence(0, 0.0)


def test_probabilities_follow_r_and_the_trials() -> None:
    """log10 p is that of exp(-R^2), and trials are paid for."""
    one = Coherence(1000, 5.0, trials=100)
    assert one.log10_p_local == pytest.approx(-25.0 / math.log(10.0))
    assert one.log10_p_global == pytest.approx(one.log10_p_local + 2.0, abs=1e-6)


def test_the_next_best_layout_counts_all_others_as_trials() -> None:
    """Of the background the largest R is the next best; an empty one has none."""
    background = Background((512, 768, 1024), (1.0, 2.5, 0.3), (90, 80, 70))
    assert background.next_best == (768, Coherence(80, 2.5, 3))
    assert Background((), (), ()).next_best is None


def test_cpu_partners_lie_eight_apart_in_blocks_of_sixteen() -> None:
    """Elements k and k + 8 of a block are partners; the last 16 of an odd size are left out."""
    one, other = cpu_partners(np.arange(40), 40)
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    assert pairs == {(16 * block + k, 16 * block + k + 8) for block in (0,) for k in range(8)} | {
        (16 + k, 24 + k) for k in range(8) if 24 + k < 24
    }
    one, other = cpu_partners(np.arange(48), 48)
    assert one.size == 24
    some = np.array([0, 3, 8, 12, 16, 24, 40])
    one, other = cpu_partners(some, 64)
    assert [(int(some[a]), int(some[b])) for a, b in zip(one, other, strict=True)] == [(0, 8), (16, 24)]


def test_adjacent_partners_begin_at_even_elements() -> None:
    """Elements 2i and 2i + 1 are partners; 2i + 1 and 2i + 2 are not."""
    some = np.array([1, 2, 3, 6, 7, 9])
    one, other = adjacent_partners(some)
    assert [(int(some[a]), int(some[b])) for a, b in zip(one, other, strict=True)] == [(2, 3), (6, 7)]
