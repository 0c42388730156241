"""A tensor that `orthogonal_` made of a CPU draw as an origin: seed, position and gain, through QR."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import round_to
from birthmark.recipes.orthogonal import CLOSE, orthogonal
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.origin import DECOYS, Origin

#: Multiplications that all decoys together may cost, about a second; and decoys at least.
WORK: Final = 1 << 30
LEAST_DECOYS: Final = 16
#: Elements of the largest matrix that is decomposed, and its smaller extent.
MOST_ELEMENTS: Final = 1 << 22
MOST_EXTENT: Final = 2048


@dataclass(frozen=True, slots=True)
class OrthogonalOrigin:
    """An orthogonal matrix and where its draw lies.

    Attributes:
        shape: the tensor's extents.
        gain: what the orthonormal rows or columns were multiplied with.
        seed: the low 32 bits of the seed.
        index: words that the generator gave before.
        dtype: the narrowest dtype that holds the stored values.
    """

    shape: tuple[int, ...]
    gain: float
    seed: int
    index: int
    dtype: str

    @property
    def generator(self) -> str:
        """Its name in a reading."""
        return "mt19937"

    @property
    def platform(self) -> str:
        """Where it runs."""
        return "cpu"

    @property
    def arithmetic(self) -> None:
        """The decomposition's library is not known, and the draw's kernel does not show through it."""

    @property
    def distribution(self) -> str:
        """What a reading calls it."""
        return "orthogonal"

    @property
    def parameters(self) -> tuple[float, ...]:
        """The gain."""
        return (self.gain,)

    @property
    def scale(self) -> float:
        """The standard deviation of the stored values."""
        return self.gain / math.sqrt(max(self.shape[0], self.size // self.shape[0]))

    @property
    def size(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def close(self) -> float:
        """How far another library's decomposition may lie from NumPy's."""
        return CLOSE * 2.0**-24 * self.gain * 2.0

    def tolerance(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for each value."""
        return np.full_like(predicted, self.close)

    def next_seed(self) -> OrthogonalOrigin:
        """The same with the next seed."""
        return replace(self, seed=(self.seed + 1) % (1 << 32))

    def next_place(self) -> OrthogonalOrigin:
        """The same one word later."""
        return replace(self, index=self.index + 1)

    def others(self) -> tuple[Origin, ...]:
        """There is no other arithmetic to tell apart."""
        return ()

    def words(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each element of a later line depends on words of its own beside all earlier ones."""
        return indices

    def standard(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values for a gain of 1."""
        return _matrix(self.shape, self.seed, self.index).ravel()[indices].astype(np.float64)

    def stored(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values as they would be stored."""
        made = (_matrix(self.shape, self.seed, self.index).ravel()[indices] * np.float32(self.gain)).astype(
            np.float32
        )
        return round_to(made, self.dtype).astype(np.float64)

    def decoys(self, seeds: NDArray[np.uint64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """What other seeds make at the same place."""
        return np.stack([replace(self, seed=int(seed)).standard(indices) for seed in seeds])

    def affordable(self, indices: NDArray[np.int64]) -> tuple[int, bool]:
        """As many decoys as decompositions are cheap."""
        del indices
        smaller = min(self.shape[0], self.size // self.shape[0])
        return max(LEAST_DECOYS, min(DECOYS, WORK // (4 * self.size * smaller))), False


@lru_cache(maxsize=4)
def _matrix(shape: tuple[int, ...], seed: int, index: int) -> NDArray[np.float32]:
    """The whole matrix for a gain of 1."""
    size = math.prod(shape)
    drawn = CpuDraw("normal", (0.0, 1.0), size, index).values(seed, np.arange(size, dtype=np.int64))
    made: NDArray[np.float32] = orthogonal(drawn.astype(np.float32), shape)
    made.flags.writeable = False
    return made


def replayable(shape: tuple[int, ...]) -> bool:
    """Whether a matrix is small enough to be decomposed again."""
    size = math.prod(shape)
    return size <= MOST_ELEMENTS and min(shape[0], size // shape[0]) <= MOST_EXTENT
