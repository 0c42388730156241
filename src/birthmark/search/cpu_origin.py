"""A draw of PyTorch's CPU generator as an origin: seed, stream position, scale and arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937 import STEPPED
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import places
from birthmark.search.cpu_standard import standard_values
from birthmark.search.origin import DECOYS, DECOYS_FAR
from birthmark.search.solve.fit import ARITHMETICS

#: Elements further apart than this are replaced by the first ones: each decoy runs through what lies between.
SPAN: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CpuOrigin:
    """A draw of PyTorch's CPU generator.

    Attributes:
        distribution: "normal" (mean 0) or "uniform" (symmetric around 0).
        size: elements of the tensor; 16 or more for a normal.
        scale: standard deviation or bound.
        arithmetic: of uniforms "cpu-fused" or "cpu-unfused", of normals "cpu-fused" or "cpu-scalar".
        seed: its low 32 bits.
        index: words that the generator gave before; negative where the first elements came from elsewhere.
        dtype: the narrowest dtype that holds the stored values.
        worn: by what share of themselves values may have drifted apart: decay in steps that float32 hardly
            resolves shrinks each value by a factor of its own.
    """

    distribution: Literal["normal", "uniform"]
    size: int
    scale: float
    arithmetic: str
    seed: int
    index: int
    dtype: str
    worn: float = 0.0

    @property
    def generator(self) -> str:
        """Its name in a reading."""
        return "mt19937"

    @property
    def platform(self) -> str:
        """Where it runs."""
        return "cpu"

    @property
    def parameters(self) -> tuple[float, float]:
        """(mean, std) or (low, high)."""
        return (0.0, self.scale) if self.distribution == "normal" else (-self.scale, self.scale)

    def tolerance(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws are predicted bit for bit, or nearly, unless they drifted apart."""
        return self.worn * np.abs(predicted)

    def next_seed(self) -> CpuOrigin:
        """The same with the next seed: known to be false."""
        return replace(self, seed=(self.seed + 1) % (1 << 32))

    def next_place(self) -> CpuOrigin:
        """The same one word later: known to be false."""
        return replace(self, index=self.index + 1)

    def others(self) -> tuple[CpuOrigin, ...]:
        """The same in the other arithmetics."""
        names = ARITHMETICS[self.distribution]
        return tuple(replace(self, arithmetic=name) for name in names if name != self.arithmetic)

    def words(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The (first) stream position behind each element: equal only for values of the same words."""
        first = places(self.size, indices).radius if self.distribution == "normal" else indices
        return first + self.index

    def standard(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Standard normals or uniforms over (-1, 1); NaN where the stream had not begun."""
        return self._values(indices, (0.0, 1.0) if self.distribution == "normal" else (-1.0, 1.0))

    def stored(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values as they would be stored; NaN where the stream had not begun."""
        return round_to(self._values(indices, self.parameters), self.dtype).astype(np.float64)

    def decoys(self, seeds: NDArray[np.uint64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """What other seeds predict at the same place, free of the scale."""
        return standard_values(seeds.astype(np.uint32), self.distribution, self.size, indices, self.index)

    def affordable(self, indices: NDArray[np.int64]) -> tuple[int, bool]:
        """How many decoys to score; only the first elements where they lie far apart."""
        first, last = int(indices[0]), int(indices[-1])
        return DECOYS_FAR if self.index + first > STEPPED else DECOYS, last - first > SPAN

    def _values(self, indices: NDArray[np.int64], parameters: tuple[float, float]) -> NDArray[np.float64]:
        draw = CpuDraw(self.distribution, parameters, self.size, self.index, arithmetic=self.arithmetic)
        there = self.words(indices) >= 0
        values = np.full(len(indices), np.nan)
        values[there] = draw.values(self.seed, indices[there])
        return values
