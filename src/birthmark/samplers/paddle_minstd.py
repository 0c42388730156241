"""PaddlePaddle's GPU draws under a seed of their own: one minimal standard engine for every element.

Sources: PaddlePaddle `paddle/phi/kernels/gpu/uniform_kernel.cu`, `gaussian_kernel.cu` (2022 to 2026) and, of
older releases, `paddle/fluid/operators/uniform_random_op.h`; NVIDIA Thrust's
`random/uniform_real_distribution.h` and `normal_distribution.h`. Programs of Paddle 1.x give every random
operator such a seed. Element n takes the output n steps after the engine's first, so no device and no layout
shows.

Uniforms are bit for bit those of a real file (jieba 0.42.1): the word less 1 as float32, times 2^-31, times
the range plus the lower bound in one fused step. Normals have no witness: they come from CUDA's erfcinv, for
which a correctly rounded one stands in; expect most values within 2 units in the last place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.minstd import MODULUS, words_at
from birthmark.numerics.compiled import fma, kernel

_STEP = np.float32(2.0**-31)
_RANGE = MODULUS - 2
_DISTRIBUTIONS = ("normal", "uniform")


@dataclass(frozen=True, slots=True)
class MinstdDraw:
    """One random call in float32 with a seed of its own.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: (mean, std) or (low, high).
        size: elements of the tensor.
        offset: outputs that are skipped before element 0; 0 but for calls that say otherwise.
    """

    distribution: Literal["normal", "uniform"]
    parameters: tuple[float, float]
    size: int
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UnknownName: an unknown distribution.
            UsageError: a negative size or offset, parameters that are not finite or out of order.
        """
        if self.distribution not in _DISTRIBUTIONS:
            raise UnknownName("distribution", self.distribution, _DISTRIBUTIONS)
        if self.size < 0 or self.offset < 0:
            raise UsageError(f"{self.size} elements from {self.offset} on; expected neither to be negative.")
        first, second = self.parameters
        least = first if self.distribution == "uniform" else 0.0
        if not (math.isfinite(first) and math.isfinite(second)) or second < least:
            raise UsageError(f"parameters {self.parameters} of a {self.distribution} draw.")

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The values of the given elements.

        Args:
            seed: any integer; its low 32 bits count, modulo 2^31 - 1.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the tensor.
        """
        flat = np.asarray(indices, np.int64)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(f"an index from {flat.min()} to {flat.max()} in {self.size} elements.")
        words = words_at(seed, flat + self.offset)
        first, second = (np.float32(one) for one in self.parameters)
        if self.distribution == "uniform":
            return _scaled(unit(words), np.float32(second - first), first)
        return _scaled(standard_normal(words), second, first)


def unit(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Words as float32 in [0, 1]; rounding can reach 1."""
    return (words - np.uint32(1)).astype(np.float32) * _STEP


def standard_normal(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Words as standard normals: the quantile of the word's middle, in float32 up to the quantile."""
    place = words.astype(np.int64) - 1
    upper = place > _RANGE // 2
    folded = np.where(upper, _RANGE - place, place).astype(np.float32)
    step = np.float32(1.0 / _RANGE)
    p = folded * step + np.float32(step / np.float32(2.0))
    below = ndtri(p.astype(np.float64))
    return np.where(upper, -below, below).astype(np.float32)


def _scaled(values: NDArray[np.float32], factor: np.float32, shift: np.float32) -> NDArray[np.float32]:
    out = np.empty(values.shape, np.float32)
    _fused(np.ascontiguousarray(values).reshape(-1), factor, shift, out.reshape(-1))
    return out


@kernel()
def _fused(
    values: NDArray[np.float32], factor: np.float32, shift: np.float32, out: NDArray[np.float32]
) -> None:
    for i in range(len(values)):
        out[i] = fma(values[i], factor, shift)
