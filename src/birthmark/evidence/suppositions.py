"""What can be supposed about survivors of a normal draw without its seed, and which supposition fits best.

A supposition is a layout, or a family of generators without layouts, together with a window: which pairs are
looked at. Half of its pairs may choose it; the other half is held out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from birthmark.evidence.arrangement import AS_STORED, Arrangement
from birthmark.evidence.elements import Elements
from birthmark.evidence.lattice import Lattice, Peak, best_scale, power
from birthmark.evidence.lattices import (
    ADJACENT,
    CPU,
    CUT_SHARE,
    CUT_STD,
    FEW,
    GPU,
    JAX,
    JAX_CUT,
    LARGEST,
    LARGEST_SINGLE,
    LARGEST_TORCH,
    LEAST_ENERGY,
    TORCH_CUT,
    TORCH_CUTS,
    WIDE,
    WINDOWS,
    Family,
    PairLattice,
    SingleLattice,
    adjacent_partners,
    cpu_partners,
)
from birthmark.evidence.partners import blocks_of, partners

#: Numbers that a trial needs.
LEAST_NUMBERS = 8

Positions = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Supposition:
    """One layout or family, with a window.

    Attributes:
        family: the generators.
        threads: G; None for a family without layouts.
        window: the largest half sum of squares, at the estimated scale.
        scale: that estimate.
        lattice: the numbers that should be integers.
        held: bool, which of them are held out.
        sines, cosines: float64, the values of the partners; empty where values stand alone.
    """

    family: Family
    threads: int | None
    window: float
    scale: float
    lattice: Lattice
    held: NDArray[np.bool_]
    sines: NDArray[np.float64]
    cosines: NDArray[np.float64]

    @property
    def selection(self) -> Lattice:
        """The numbers that may choose."""
        return self.lattice.part(~self.held)

    @property
    def holdout(self) -> Lattice:
        """The numbers that may not."""
        return self.lattice.part(self.held)


def held_out(first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs are held out: half, by a hash of the flat index of their first element (splitmix64)."""
    mixed = (first.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed >> np.uint64(32)) & np.uint64(1)).astype(np.bool_)


class Suppositions:
    """All suppositions about some survivors in one arrangement."""

    def __init__(
        self,
        elements: Elements,
        shape: tuple[int, ...],
        scale: float,
        spread: float,
        arrangement: Arrangement = AS_STORED,
    ) -> None:
        """Prepare the survivors of small magnitude; no other can be in a window.

        Args:
            elements: the survivors, indices ascending.
            shape: the tensor's extents.
            scale: the standard deviation of an untruncated normal with these values.
            spread: the root of their mean square.
            arrangement: how the tensor lies to its draw.
        """
        small = arrangement.of_draw(elements.keep(np.abs(elements.values) < LARGEST * scale), shape)
        self.small, self.arrangement = small, arrangement
        self._blocks = blocks_of(small.indices, small.values, shape, arrangement.ways)
        self._held = held_out(small.indices)
        self._everything = elements
        self._size, self._scale, self._spread = math.prod(shape), scale, spread

    def of_layout(self, threads: int) -> Iterator[Supposition]:
        """One layout with each window, the widest first."""
        yield from self._of_pairs(GPU, threads, partners(self._blocks, threads), 24)

    def in_window(self, threads: int, window: float, wave: int = 0) -> Supposition:
        """One layout with one window; `wave` 1 for elements that are no partners."""
        return next(self._of_pairs(GPU, threads, partners(self._blocks, threads, wave), 24, (window,)))

    def of_families(self) -> Iterator[Supposition]:
        """The families that have no layouts."""
        indices = self.small.indices
        yield from self._of_pairs(CPU, None, cpu_partners(indices, self._size), 24)
        yield from self._of_pairs(ADJACENT, None, adjacent_partners(indices), 23)
        if self.arrangement != AS_STORED:
            return  # single values lie in no order
        yield self._of_singles(JAX, self._scale, 1.0, 22, LARGEST_SINGLE)
        yield self._of_singles(JAX_CUT, self._spread / CUT_STD, CUT_SHARE, 22, LARGEST_SINGLE)
        for cut in TORCH_CUTS:
            share = float(erf(cut / math.sqrt(2.0)))
            yield self._of_singles(TORCH_CUT, self._scale, share, 23, LARGEST_TORCH)

    def _of_singles(
        self, family: Family, scale: float, share: float, bits: int, largest: float
    ) -> Supposition:
        near = self._everything.keep(np.abs(self._everything.values) < largest * scale)
        lattice = SingleLattice(near.values / scale, share, bits, largest)
        none = np.zeros(0)
        held = held_out(near.indices)
        return Supposition(family, None, largest**2 / 2.0, scale, lattice, held, none, none)

    def best(self, layouts: tuple[int, ...], reach: float) -> tuple[Supposition | None, Peak, int]:
        """The supposition that its selection favours most, where its peak lies, and all trials.

        Args:
            layouts: the G's to try.
            reach: how far, in t, the scale is sought around its estimate.
        """
        return self._best(layouts, lambda one: best_scale(one.selection, reach))

    def best_written(
        self, layouts: tuple[int, ...], scales: tuple[float, ...]
    ) -> tuple[Supposition | None, Peak, int]:
        """The same with no other scales than these, which people write down.

        Args:
            layouts: the G's to try.
            scales: standard deviations, as float32.
        """

        def peak(one: Supposition) -> Peak:
            lattice, best = one.selection, Peak(0.0, 0.0, 0)
            for scale in scales:
                t = (one.scale / scale) ** 2 - 1.0
                best = max(best, Peak(power(lattice.at(t).turns), t, 0), key=lambda each: each.power)
            return Peak(best.power, best.t, len(scales))

        return self._best(layouts, peak)

    def _best(
        self, layouts: tuple[int, ...], peak_of: Callable[[Supposition], Peak]
    ) -> tuple[Supposition | None, Peak, int]:
        def tried(threads: int | None) -> tuple[Supposition | None, Peak, int]:
            several = self.of_families() if threads is None else self.of_layout(threads)
            return _best_of(several, peak_of)

        best: Supposition | None = None
        highest, trials = Peak(0.0, 0.0, 0), 0
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for one, peak, count in pool.map(tried, [None, *layouts]):
                trials += count
                if one is not None and (best is None or peak.power > highest.power):
                    best, highest = one, peak
        return best, highest, trials

    def _of_pairs(
        self,
        family: Family,
        threads: int | None,
        positions: Positions,
        bits: int,
        windows: tuple[float, ...] | None = None,
    ) -> Iterator[Supposition]:
        one, other = positions
        sines, cosines, held = self.small.values[one], self.small.values[other], self._held[one]
        energy = (sines * sines + cosines * cosines) / (2.0 * self._scale * self._scale)
        if windows is None:
            few = np.count_nonzero((energy > LEAST_ENERGY) & (energy < WINDOWS[0])) < FEW
            windows = (WIDE, *WINDOWS) if few else WINDOWS
        for window in windows:
            inside = (energy > LEAST_ENERGY) & (energy < window)
            energy, sines, cosines, held = energy[inside], sines[inside], cosines[inside], held[inside]
            lattice = PairLattice(energy, window, bits)
            yield Supposition(family, threads, window, self._scale, lattice, held, sines, cosines)


def _best_of(
    several: Iterator[Supposition], peak_of: Callable[[Supposition], Peak]
) -> tuple[Supposition | None, Peak, int]:
    best: Supposition | None = None
    highest, trials = Peak(0.0, 0.0, 0), 0
    for one in several:
        if np.count_nonzero(~one.held) < LEAST_NUMBERS:
            continue
        peak = peak_of(one)
        trials += peak.trials
        if best is None or peak.power > highest.power:
            best, highest = one, peak
    return best, highest, trials
