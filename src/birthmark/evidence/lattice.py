"""Lattices: do numbers that should be integers look like integers, at any scale near an estimate?

A generator makes its uniforms on a lattice, say multiples of 2^-24. Values that still lie on it give away
how they were made, without any seed. What is asked is the length R of the mean phase, R = |sum exp(2 pi i
q)| / sqrt(m), of m numbers q that are integers (but for one common fraction) if the supposition is right and
have uniform fractions if it is not. Then R^2 is exponential with mean 1: it exceeds x with probability
exp(-x), in its far tail even less often. Under a true supposition R grows with sqrt(m).

The scale of the values enters q. It is sought on a grid so fine that no peak lies between its points, and
every point counts for four trials. Near any scale q is linear in the scale's logarithm, so one FFT of the
unit vectors, summed up in bins of equal slope, evaluates thousands of points at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from birthmark.numerics.compiled import kernel

#: Bins of slopes, and points of one FFT.
BINS = 1 << 14
#: Only the middle 1 / `KEPT` of those points are used: farther out the bins' width blurs the phases.
KEPT = 4
#: Points for each independent scale: between two of them a peak loses a tenth at most.
DENSITY = 2
#: Trials that a point stands for. The sum is a smooth function of t, and the best point is refined: by Rice's
#: formula (S. O. Rice, Bell System Technical Journal 24, 1945) R^2 exceeds x somewhere in a step with a
#: chance below 0.52 sqrt(x) exp(-x), which is less than that of four trials up to x = 59.
TRIALS_PER_POINT = 4
#: Points of the last, exact refinement of a peak, on either side of it.
REFINED = 48

_TURN = 2.0 * math.pi


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Numbers that should be integers, and how they move with the scale.

    Attributes:
        turns: float64[m], the numbers q.
        slopes: float64[m], dq / dt, where the squares of the values grow by the factor 1 + t.
        span: the largest slope that can occur less the smallest; it sets the grid's step.
    """

    turns: NDArray[np.float64]
    slopes: NDArray[np.float64]
    span: float

    @property
    def step(self) -> float:
        """Distance in t between two points of the grid."""
        return 1.0 / (DENSITY * self.span)

    @property
    def reach(self) -> float:
        """How far from its centre, in t, one FFT evaluates the sum well."""
        return self.step * (BINS // KEPT) / 2.0


class Lattice(Protocol):
    """Values with a supposition about the lattice behind them."""

    def at(self, t: float) -> Phases:
        """The numbers that should be integers if all squares are larger by the factor 1 + t."""
        ...

    def part(self, which: NDArray[np.bool_]) -> Lattice:
        """Some of its numbers."""
        ...

    def __len__(self) -> int:
        """How many numbers there are."""
        ...


@dataclass(frozen=True, slots=True)
class Peak:
    """The best scale that was tried.

    Attributes:
        power: R^2 there.
        t: where it is: the squares of the values are larger by 1 + t than at the estimate of the scale.
        trials: what the scales that were tried count for.
    """

    power: float
    t: float
    trials: int


def power(turns: NDArray[np.float64]) -> float:
    """R^2 of numbers that should be integers but for a common fraction; 0 where there are none."""
    if turns.size == 0:
        return 0.0
    angle = _TURN * (turns - np.floor(turns))
    return float((np.cos(angle).sum() ** 2 + np.sin(angle).sum() ** 2) / turns.size)


def best_scale(lattice: Lattice, reach: float) -> Peak:
    """The best scale with |t| <= reach, on a grid that misses no peak."""
    parts = max(1, math.ceil(reach / lattice.at(0.0).reach))
    half = reach / parts
    best, trials = Peak(0.0, 0.0, 0), 0
    for number in range(parts):
        centre = -reach + (2 * number + 1) * half
        peak = _scan(lattice.at(centre), half)
        trials += TRIALS_PER_POINT * peak.trials
        if peak.power > best.power:
            best = Peak(peak.power, (1.0 + centre) * (1.0 + peak.t) - 1.0, 0)
    return Peak(best.power, best.t, trials)


def refined(lattice: Lattice, peak: Peak) -> Peak:
    """A peak of the grid, found again on finer and finer grids around it, with every phase exact."""
    step, best, trials = lattice.at(peak.t).step, peak, 0
    while step > 2.0**-34:
        for shift in np.linspace(-step, step, REFINED // 4 + 1):
            t = (1.0 + peak.t) * (1.0 + float(shift)) - 1.0
            found = power(lattice.at(t).turns)
            trials += 1
            if found >= best.power:
                best = Peak(found, t, 0)
        peak = Peak(best.power, best.t, 0)
        step /= 4.0
    return Peak(best.power, best.t, trials)


def _scan(phases: Phases, half: float) -> Peak:
    """The best point of one FFT's grid within `half` of its centre."""
    last = max(0, math.floor(half / phases.step))
    m = int(phases.turns.size)
    if m == 0:
        return Peak(0.0, 0.0, 2 * last + 1)
    width = DENSITY * phases.span / BINS
    sums = fft.ifft(_binned(phases.turns, phases.slopes, width, BINS), norm="forward")
    size, point = _largest(sums, last)
    return Peak(size / m, point * phases.step, 2 * last + 1)


@kernel()
def _binned(
    turns: NDArray[np.float64], slopes: NDArray[np.float64], width: float, bins: int
) -> NDArray[np.complex64]:
    """Unit vectors of all numbers, summed up by slope; negative slopes come last, as an FFT has them."""
    out = np.zeros(bins, np.complex64)
    for i in range(turns.size):
        place = int(np.floor(slopes[i] / width + 0.5))
        if place < 0:
            place += bins
        angle = np.float32(_TURN * (turns[i] - np.floor(turns[i])))
        out[place] += complex(np.cos(angle), np.sin(angle))
    return out


@kernel()
def _largest(sums: NDArray[np.complex64], last: int) -> tuple[float, int]:
    """The largest squared magnitude of the points -last to last, and its point; negative ones wrap round."""
    best, where = -1.0, 0
    for point in range(-last, last + 1):
        value = sums[point if point >= 0 else point + sums.size]
        size = float(value.real) * float(value.real) + float(value.imag) * float(value.imag)
        if size > best:
            best, where = size, point
    return best, where
