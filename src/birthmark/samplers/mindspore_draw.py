"""MindSpore's initialisers, which run on the host: Philox consumed as a plain stream of words.

Sources: mindspore `ccsrc/include/common/random.h`, `random_normal.cpp` (read, not run). Philox4x32-10 with
the seed as key and again as the upper half of the counter. A normal pair takes two words: the low 23 bits of
each over 2^23, at least 1e-7; element 2k is the cosine's, element 2k + 1 the sine's; all in double, stored as
float32. A uniform takes one word over 2^32. Where the user sets no seed, the Python layer draws one from
NumPy's global generator; a seed of 0 means 32 random bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import words

_MASK = np.uint32(0x007FFFFF)
_UNIT = float(1 << 23)
_LEAST: Final = 1e-7
_PI = float(np.float32(3.1415926))
_BELOW_1 = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class MindsporeDraw:
    """One host initialiser.

    Attributes:
        distribution: "normal" or "uniform".
        size: elements.
        parameters: (mean, std) or (low, high).
    """

    distribution: Literal["normal", "uniform"]
    size: int
    parameters: tuple[float, float]

    def __post_init__(self) -> None:
        """Refuse what cannot be predicted.

        Raises:
            UnknownName: an unknown distribution.
            UsageError: a negative size, parameters that are not finite.
        """
        if self.distribution not in ("normal", "uniform"):
            raise UnknownName("distribution", self.distribution, ("normal", "uniform"))
        if self.size < 0:
            raise UsageError(f"a draw of {self.size} elements; expected 0 or more.")
        if not all(math.isfinite(one) for one in self.parameters):
            raise UsageError(f"the parameters {self.parameters}; expected finite ones.")

    def values(self, seed: int, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The values of the given elements.

        Args:
            seed: 64 bits, not 0.
            indices: int64 flat indices, any shape and order.

        Raises:
            UsageError: an index outside the draw, or the seed 0.
        """
        flat = np.asarray(indices, np.int64)
        if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= self.size):
            raise UsageError(f"an index from {flat.min()} to {flat.max()} in a draw of {self.size} elements.")
        if seed % (1 << 64) == 0:
            raise UsageError("the seed 0, for which MindSpore draws its own; expected another.")
        first, second = self.parameters
        if self.distribution == "uniform":
            unit = np.minimum(_words_at(seed, flat).astype(np.float64) / 2.0**32, _BELOW_1)
            return (unit * (second - first) + first).astype(np.float32)
        pair = flat - flat % 2
        u, v = (
            np.maximum((_words_at(seed, pair + one) & _MASK).astype(np.float64) / _UNIT, _LEAST)
            for one in (0, 1)
        )
        radius, angle = np.sqrt(-2.0 * np.log(u)) * second, 2.0 * _PI * v
        drawn = radius * np.where(flat % 2 == 0, np.cos(angle), np.sin(angle)) + first
        return np.asarray(drawn, np.float32)


def _words_at(seed: int, places: NDArray[np.int64]) -> NDArray[np.uint32]:
    blocks = words(seed, (places // 4).astype(np.uint64), np.full(places.shape, seed % (1 << 64), np.uint64))
    return np.take_along_axis(blocks, (places % 4)[..., None], axis=-1)[..., 0]
