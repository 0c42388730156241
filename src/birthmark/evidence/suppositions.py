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
from functools import cached_property

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
    LARGEST_WIDE,
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
from birthmark.evidence.partners import Blocks, blocks_of, partners

#: Numbers that a trial needs, and those that need no written scale.
LEAST_NUMBERS, MANY = 8, 1000

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


@dataclass(frozen=True, slots=True)
class Best:
    """The best of some suppositions.

    Attributes:
        supposition: None where there was none.
        peak: its best scale.
        trials: of all of them.
    """

    supposition: Supposition | None
    peak: Peak
    trials: int

    def or_(self, other: Best) -> Best:
        """The better one, with the trials of both; this one where they are as good."""
        ahead = other.supposition is not None and (
            self.supposition is None or other.peak.power > self.peak.power
        )
        better = other if ahead else self
        return Best(better.supposition, better.peak, self.trials + other.trials)


NOTHING = Best(None, Peak(0.0, 0.0, 0), 0)


def held_out(first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs are held out: half, by a hash of the flat index of their first element (splitmix64)."""
    mixed = (first.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed >> np.uint64(32)) & np.uint64(1)).astype(np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class _Within:
    """Survivors of small magnitude in the order of the draw, block by block, and which are held out."""

    elements: Elements
    blocks: Blocks
    held: NDArray[np.bool_]


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
        self._everything, self._shape, self.arrangement = elements, shape, arrangement
        self._size, self._scale, self._spread = math.prod(shape), scale, spread
        self._near = self._within(LARGEST)
        self.small = self._near.elements

    @cached_property
    def _far(self) -> _Within:
        """What the wide window needs: most tensors do without."""
        return self._within(LARGEST_WIDE)

    def _within(self, largest: float) -> _Within:
        every = self._everything
        small = self.arrangement.of_draw(
            every.keep(np.abs(every.values) < largest * self._scale), self._shape
        )
        blocks = blocks_of(small.indices, small.values, self._shape, self.arrangement.ways)
        return _Within(small, blocks, held_out(small.indices))

    def of_layout(self, threads: int) -> Iterator[Supposition]:
        """One layout with each window, the widest first."""
        yield from self._of_pairs(GPU, threads, lambda near: partners(near.blocks, threads), 24)

    def in_window(self, threads: int, window: float, wave: int = 0) -> Supposition:
        """One layout with one window; `wave` 1 for elements that are no partners."""
        near = self._far if window == WIDE else self._near
        positions = partners(near.blocks, threads, wave)
        return next(self._in_windows(GPU, threads, near, positions, 24, (window,)))

    def of_families(self) -> Iterator[Supposition]:
        """The families that have no layouts."""
        size = self._size
        yield from self._of_pairs(CPU, None, lambda near: cpu_partners(near.elements.indices, size), 24)
        yield from self._of_pairs(ADJACENT, None, lambda near: adjacent_partners(near.elements.indices), 23)
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

    def best(
        self, layouts: tuple[int, ...], scales: tuple[float, ...], reach: float | None = None
    ) -> list[Best]:
        """The suppositions that their selection favours most.

        Args:
            layouts: the G's to try, beside the families.
            scales: standard deviations that people write down, as float32.
            reach: how far, in t, any other scale is sought around its estimate; None for nowhere.

        Returns:
            The best at one of `scales`, and with a `reach` the best at any scale. Then `scales` are asked
            only of few numbers: many show their scale on the grid as well.
        """

        def peaks(one: Supposition, many: bool) -> list[Peak]:
            written = () if many and reach is not None else scales
            found = [_best_of_scales(one, written)]
            return found if reach is None else [*found, best_scale(one.selection, reach)]

        def tried(threads: int | None) -> list[Best]:
            found, widest = [NOTHING] * ways, 0
            for one in self.of_families() if threads is None else self.of_layout(threads):
                if np.count_nonzero(~one.held) >= LEAST_NUMBERS:
                    widest = max(widest, len(one.lattice))
                    found = [
                        before.or_(Best(one, peak, peak.trials))
                        for before, peak in zip(found, peaks(one, widest >= MANY), strict=True)
                    ]
            return found

        ways = 1 if reach is None else 2
        best = [NOTHING] * ways
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for several in pool.map(tried, [None, *layouts]):
                best = [before.or_(one) for before, one in zip(best, several, strict=True)]
        return best

    def _of_pairs(
        self, family: Family, threads: int | None, positions: Callable[[_Within], Positions], bits: int
    ) -> Iterator[Supposition]:
        found = self._in_windows(family, threads, self._near, positions(self._near), bits, WINDOWS)
        widest = next(found)
        if len(widest.lattice) < FEW:
            far = self._far
            yield from self._in_windows(family, threads, far, positions(far), bits, (WIDE,))
        yield widest
        yield from found

    def _in_windows(
        self,
        family: Family,
        threads: int | None,
        near: _Within,
        positions: Positions,
        bits: int,
        windows: tuple[float, ...],
    ) -> Iterator[Supposition]:
        one, other = positions
        sines, cosines, held = near.elements.values[one], near.elements.values[other], near.held[one]
        energy = (sines * sines + cosines * cosines) / (2.0 * self._scale * self._scale)
        for window in windows:
            inside = (energy > LEAST_ENERGY) & (energy < window)
            energy, sines, cosines, held = energy[inside], sines[inside], cosines[inside], held[inside]
            lattice = PairLattice(energy, window, bits)
            yield Supposition(family, threads, window, self._scale, lattice, held, sines, cosines)


def _best_of_scales(one: Supposition, scales: tuple[float, ...]) -> Peak:
    lattice, best = one.selection, Peak(0.0, 0.0, 0)
    for scale in scales:
        t = (one.scale / scale) ** 2 - 1.0
        best = max(best, Peak(power(lattice.at(t).turns), t, 0), key=lambda each: each.power)
    return Peak(best.power, best.t, len(scales))
