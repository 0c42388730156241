"""The lattices that generators leave behind in float32 normals, and which values can show them.

PyTorch on a GPU, on a CPU, TensorFlow and MindSpore make normals in pairs by Box and Muller: half the sum of
their squares is -log u. Where that is small, u is just below 1, and 1 - u is a small multiple of 2^-24
(2^-23 for the latter two), which float32 still resolves. They differ in which elements are partners. JAX
makes each normal by the inverse error function from a uniform of 23 bits on (-1, 1), or on the part of it
that a truncation at two standard deviations leaves (jax `_src/random.py`): small values show its steps. So
does PyTorch's `trunc_normal_` up to 2.11, from uniforms of 24 bits (pytorch `torch/nn/init.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from birthmark.evidence.lattice import Phases

#: Pairs whose half sum of squares is smaller tell nothing about the scale; their numbers are small anyway.
LEAST_ENERGY = 1e-4
#: Largest half sum of squares that is used: beyond it the sine unit's last bits blur the lattice. Values that
#: a decay rounded after every step are blurred sooner, so that smaller windows are tried as well.
WINDOWS = (0.02, 0.005, 0.00125)
#: A wider window has more pairs and a blurred lattice (a mean phase of 0.9): worth it where pairs are few.
WIDE, FEW = 0.05, 400
#: No value of a pair in the widest of `WINDOWS`, or in `WIDE`, is larger than this.
LARGEST, LARGEST_WIDE = math.sqrt(2.0 * WINDOWS[0]) * 1.05, math.sqrt(2.0 * WIDE) * 1.05
#: Largest standard normal in which JAX's lattice is looked for, and that of PyTorch's inverse error function:
#: its steps are half as wide, and float32 blurs them sooner.
LARGEST_SINGLE, LARGEST_TORCH = 0.3, 0.06
#: Where variance-scaling initialisers of JAX cut off, and what that leaves of the standard deviation.
CUT, CUT_STD = 2.0, 0.87962566103423978


@dataclass(frozen=True, slots=True, eq=False)
class PairLattice:
    """Pairs of partners: 1 - exp(-energy) should be a multiple of 2^-bits.

    Attributes:
        energy: float64[m], half the sum of a pair's squares, in units of the scale's square.
        window: the largest energy.
        bits: 24 or 23.
    """

    energy: NDArray[np.float64]
    window: float
    bits: int = 24

    def __len__(self) -> int:
        return int(self.energy.size)

    def at(self, t: float) -> Phases:
        """See `Lattice`."""
        energy = self.energy * (1.0 + t)
        steps = 2.0**self.bits
        return Phases(-steps * np.expm1(-energy), steps * energy * np.exp(-energy), steps * self.window)

    def part(self, which: NDArray[np.bool_]) -> PairLattice:
        """See `Lattice`."""
        return PairLattice(self.energy[which], self.window, self.bits)


@dataclass(frozen=True, slots=True, eq=False)
class SingleLattice:
    """Single normals: erf(z / sqrt 2) should be a multiple of one step, but for a common fraction.

    Attributes:
        normal: float64[m], the values in units of the scale.
        share: the part of (-1, 1) that the uniforms cover; their step is 2^-bits times that.
        bits: 22 or 23.
        largest: the largest value that is looked at.
    """

    normal: NDArray[np.float64]
    share: float = 1.0
    bits: int = 22
    largest: float = LARGEST_SINGLE

    def __len__(self) -> int:
        return int(self.normal.size)

    def at(self, t: float) -> Phases:
        """See `Lattice`."""
        z = self.normal * math.sqrt(1.0 + t)
        steps = 2.0**self.bits / self.share
        slopes = steps * math.sqrt(2.0 / math.pi) * np.exp(-0.5 * z * z) * 0.5 * z
        span = steps * math.sqrt(2.0 / math.pi) * self.largest
        return Phases(steps * erf(z / math.sqrt(2.0)), slopes, span)

    def part(self, which: NDArray[np.bool_]) -> SingleLattice:
        """See `Lattice`."""
        return SingleLattice(self.normal[which], self.share, self.bits, self.largest)


@dataclass(frozen=True, slots=True)
class Family:
    """Generators that leave the same lattice.

    Attributes:
        name: in words.
        generator: the bit source by the reading's name.
        platform: by the reading's name; None where several are possible.
        most: the largest magnitude of a standard normal that it can make.
    """

    name: str
    generator: str
    platform: str | None
    most: float


GPU = Family("a GPU draw of PyTorch or PaddlePaddle", "philox", None, 6.7637)
CPU = Family("PyTorch's CPU generator", "mt19937", "cpu", 5.7681)
ADJACENT = Family("TensorFlow or MindSpore", "philox", None, 5.6777)
JAX = Family("JAX", "threefry", "jax", 5.41998)
JAX_CUT = Family("JAX (a normal cut off at two standard deviations)", "threefry", "jax", CUT)
TORCH_CUT = Family("PyTorch's trunc_normal_ up to 2.11, on a CPU or a GPU", "", None, 6.7637)
#: What cuts such normals off, in standard deviations; the last stands for bounds so far out that none shows.
TORCH_CUTS = (2.0, 3.0, math.inf)
#: The share of (-1, 1) that such a normal's uniforms cover.
CUT_SHARE = float(erf(CUT / math.sqrt(2.0)))


def cpu_partners(indices: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of elements k and k + 8 of one block of 16, as PyTorch's CPU `normal_` pairs them.

    Where 16 does not divide the tensor's size, the last 16 elements are drawn again, and left out here
    (pytorch `aten/src/ATen/native/cpu/DistributionTemplates.h`).
    """
    end = size if size % 16 == 0 else size - 16
    return _apart(indices, 8, (indices % 16 < 8) & (indices + 8 < end))


def adjacent_partners(indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of elements 2i and 2i + 1 (tensorflow `core/lib/random/random_distributions.h`)."""
    return _apart(indices, 1, indices % 2 == 0)


def _apart(
    indices: NDArray[np.int64], lag: int, first: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of all pairs of elements that lie `lag` apart, where `first` allows the first of them."""
    one = np.flatnonzero(first)
    other = np.searchsorted(indices, indices[one] + lag)
    found = other < indices.size
    found[found] = indices[other[found]] == indices[one[found]] + lag
    return one[found], other[found]
