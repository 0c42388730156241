"""What a CPU draw predicts for stored values, how closely, and how well wrong seeds do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.decoys import EDGES, Decoys, decoy_seeds
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import COUNTED_ULPS, Exactness, count, explained, same_bits
from birthmark.evidence.score import LEAST, correlation
from birthmark.generators.mt19937 import STEPPED
from birthmark.numerics.dtypes import round_to, ulps
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.cpu_normal import places
from birthmark.search.cpu_seeds import standard_values

#: Decoys, on so many elements at most.
DECOYS: Final = 1024
ELEMENTS: Final = 1024
#: Decoys where every seed has to jump far ahead in its stream.
DECOYS_FAR: Final = 128
#: Elements further apart than this are replaced by the first ones: each decoy runs through what lies between.
SPAN: Final = 1 << 20
_BATCH: Final = 64
_FAR: Final = COUNTED_ULPS[-1] + 1


@dataclass(frozen=True, slots=True)
class CpuOrigin:
    """A draw of PyTorch's CPU generator.

    Attributes:
        distribution: "normal" (mean 0) or "uniform" (symmetric around 0).
        size: elements of the tensor; 16 or more for a normal.
        scale: standard deviation or bound.
        arithmetic: "cpu-fused" or "cpu-unfused".
        seed: its low 32 bits.
        index: words that the generator gave before; negative where the first elements came from elsewhere.
        dtype: the narrowest dtype that holds the stored values.
    """

    distribution: Literal["normal", "uniform"]
    size: int
    scale: float
    arithmetic: str
    seed: int
    index: int
    dtype: str

    def next_seed(self) -> CpuOrigin:
        """The same with the next seed: known to be false."""
        return replace(self, seed=(self.seed + 1) % (1 << 32))

    def next_index(self) -> CpuOrigin:
        """The same one word later: known to be false."""
        return replace(self, index=self.index + 1)

    def words(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The (first) stream position behind each element: equal only for values of the same words."""
        first = places(self.size, indices).radius if self.distribution == "normal" else indices
        return first + self.index

    def standard(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Standard normals or uniforms over (-1, 1); NaN where the stream had not begun."""
        return self._values(indices, 1.0)

    def stored(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values as they would be stored; NaN where the stream had not begun."""
        return round_to(self._values(indices, self.scale), self.dtype).astype(np.float64)

    def _values(self, indices: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
        parameters = (0.0, scale) if self.distribution == "normal" else (-scale, scale)
        draw = CpuDraw(self.distribution, parameters, self.size, self.index, arithmetic=self.arithmetic)
        there = self.words(indices) >= 0
        values = np.full(len(indices), np.nan)
        values[there] = draw.values(self.seed, indices[there])
        return values


@dataclass(frozen=True, slots=True, eq=False)
class CpuPrediction:
    """A prediction beside what is stored.

    Attributes:
        standard: float64[n], scale-free predictions.
        equal: bool[n], whether the stored bits are the predicted ones.
        distance: int64[n], units in the last place between the two.
        near: bool[n], whether rounding explains the residual.
    """

    standard: NDArray[np.float64]
    equal: NDArray[np.bool_]
    distance: NDArray[np.int64]
    near: NDArray[np.bool_]

    @property
    def exactness(self) -> Exactness:
        """Bit-exact counts."""
        return count(self.equal, self.distance)


def predict(origin: CpuOrigin, elements: Elements) -> CpuPrediction:
    """Predict elements and compare them with what is stored."""
    predicted = origin.stored(elements.indices)
    there = np.isfinite(predicted) & np.isfinite(elements.values)
    stored, wanted = np.where(there, elements.values, 0.0), np.where(there, predicted, 0.0)
    distance = np.where(there, ulps(stored, wanted, origin.dtype), _FAR)
    near = explained(stored, wanted, distance, origin.scale) & there
    return CpuPrediction(
        origin.standard(elements.indices), same_bits(elements.values, predicted), distance, near
    )


def score_decoys(origin: CpuOrigin, elements: Elements) -> Decoys:
    """Score false seeds at the same stream position on held-out elements."""
    some = elements.keep((origin.words(elements.indices) >= 0) & np.isfinite(elements.values))
    if len(some) > ELEMENTS:
        thinned = some.thinned(ELEMENTS)
        wide = int(thinned.indices[-1] - thinned.indices[0]) > SPAN
        some = some.keep(np.arange(len(some)) < ELEMENTS) if wide else thinned
    if len(some) < LEAST or np.all(some.values == some.values[0]):
        return Decoys(0, len(some), None, None, None, None, EDGES, (0,) * (len(EDGES) - 1))
    far = origin.index + int(some.indices[0]) > STEPPED
    seeds = decoy_seeds(DECOYS_FAR if far else DECOYS, origin.seed).astype(np.uint32)
    centred = some.values - some.values.mean()
    centred = centred / np.sqrt(np.einsum("i,i->", centred, centred))
    sigmas = np.empty(len(seeds))
    for start in range(0, len(seeds), _BATCH):
        part = seeds[start : start + _BATCH]
        drawn = standard_values(part, origin.distribution, origin.size, some.indices, origin.index)
        drawn = drawn - drawn.mean(axis=1, keepdims=True)
        length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
        sigmas[start : start + _BATCH] = np.einsum("ij,j->i", drawn, centred) / length * np.sqrt(len(some))
    counts, _ = np.histogram(np.clip(sigmas, EDGES[0], np.nextafter(EDGES[-1], 0.0)), bins=EDGES)
    r = correlation(some.values, origin.standard(some.indices))
    return Decoys(
        count=len(seeds),
        n=len(some),
        max_sigma=float(sigmas.max()),
        mean=float(sigmas.mean()),
        std=float(sigmas.std()),
        candidate_sigma=None if r is None else r * float(np.sqrt(len(some))),
        edges=EDGES,
        counts=tuple(int(each) for each in counts),
    )
