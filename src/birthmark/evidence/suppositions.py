"""What can be supposed about survivors of a normal draw without its seed, and which supposition fits best.

A supposition is a layout, or a family of generators without layouts, together with a window: which pairs are
looked at. Half of its pairs may choose it; the other half is held out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements
from birthmark.evidence.lattice import Lattice, Peak, best_scale
from birthmark.evidence.lattices import (
    ADJACENT,
    CPU,
    CUT_SHARE,
    CUT_STD,
    GPU,
    JAX,
    JAX_CUT,
    LARGEST,
    LARGEST_SINGLE,
    LEAST_ENERGY,
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
    """All suppositions about some survivors."""

    def __init__(self, elements: Elements, shape: tuple[int, ...], scale: float, spread: float) -> None:
        """Prepare the survivors of small magnitude; no other can be in a window.

        Args:
            elements: the survivors, indices ascending.
            shape: the tensor's extents.
            scale: the standard deviation of an untruncated normal with these values.
            spread: the root of their mean square.
        """
        small = elements.keep(np.abs(elements.values) < LARGEST * scale)
        self.small = small
        self._blocks = blocks_of(small.indices, small.values, shape)
        self._held = held_out(small.indices)
        self._everything = elements
        self._size, self._scale, self._spread = math.prod(shape), scale, spread

    def of_layout(self, threads: int, wave: int = 0) -> Iterator[Supposition]:
        """One layout with each window, the widest first; `wave` 1 for elements that are no partners."""
        yield from self._of_pairs(GPU, threads, partners(self._blocks, threads, wave), 24)

    def of_families(self) -> Iterator[Supposition]:
        """The families that have no layouts."""
        indices = self.small.indices
        yield from self._of_pairs(CPU, None, cpu_partners(indices, self._size), 24)
        yield from self._of_pairs(ADJACENT, None, adjacent_partners(indices), 23)
        none = np.zeros(0)
        for family, scale, share in (
            (JAX, self._scale, 1.0),
            (JAX_CUT, self._spread / CUT_STD, CUT_SHARE),
        ):
            near = self._everything.keep(np.abs(self._everything.values) < LARGEST_SINGLE * scale)
            lattice, held = SingleLattice(near.values / scale, share), held_out(near.indices)
            yield Supposition(family, None, LARGEST_SINGLE**2 / 2.0, scale, lattice, held, none, none)

    def best(self, layouts: tuple[int, ...], reach: float) -> tuple[Supposition | None, Peak, int]:
        """The supposition that its selection favours most, where its peak lies, and all trials.

        Args:
            layouts: the G's to try.
            reach: how far, in t, the scale is sought around its estimate.
        """

        def tried(threads: int | None) -> tuple[Supposition | None, Peak, int]:
            several = self.of_families() if threads is None else self.of_layout(threads)
            return _best_of(several, reach)

        best: Supposition | None = None
        highest, trials = Peak(0.0, 0.0, 0), 0
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for one, peak, count in pool.map(tried, [None, *layouts]):
                trials += count
                if one is not None and (best is None or peak.power > highest.power):
                    best, highest = one, peak
        return best, highest, trials

    def _of_pairs(
        self, family: Family, threads: int | None, positions: Positions, bits: int
    ) -> Iterator[Supposition]:
        one, other = positions
        sines, cosines, held = self.small.values[one], self.small.values[other], self._held[one]
        energy = (sines * sines + cosines * cosines) / (2.0 * self._scale * self._scale)
        for window in WINDOWS:
            inside = (energy > LEAST_ENERGY) & (energy < window)
            energy, sines, cosines, held = energy[inside], sines[inside], cosines[inside], held[inside]
            lattice = PairLattice(energy, window, bits)
            yield Supposition(family, threads, window, self._scale, lattice, held, sines, cosines)


def _best_of(several: Iterator[Supposition], reach: float) -> tuple[Supposition | None, Peak, int]:
    best: Supposition | None = None
    highest, trials = Peak(0.0, 0.0, 0), 0
    for one in several:
        lattice = one.selection
        if len(lattice) < LEAST_NUMBERS:
            continue
        peak = best_scale(lattice, reach)
        trials += peak.trials
        if best is None or peak.power > highest.power:
            best, highest = one, peak
    return best, highest, trials
