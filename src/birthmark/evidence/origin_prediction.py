"""What an origin predicts for stored values, how closely, and how well wrong seeds do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.decoys import EDGES, Decoys, decoy_seeds, reached_by
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import COUNTED_ULPS, Exactness, count, explained, same_bits
from birthmark.evidence.score import LEAST, correlation
from birthmark.numerics.dtypes import ulps
from birthmark.search.origin import Origin

#: Decoys are scored on so many elements at most.
ELEMENTS: Final = 1024
_BATCH: Final = 64
_FAR: Final = COUNTED_ULPS[-1] + 1


@dataclass(frozen=True, slots=True, eq=False)
class OriginPrediction:
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


def predict(origin: Origin, elements: Elements) -> OriginPrediction:
    """Predict elements and compare them with what is stored."""
    predicted = origin.stored(elements.indices)
    there = np.isfinite(predicted) & np.isfinite(elements.values)
    stored, wanted = np.where(there, elements.values, 0.0), np.where(there, predicted, 0.0)
    distance = np.where(there, ulps(stored, wanted, origin.dtype), _FAR)
    near = explained(stored, wanted, distance, origin.scale)
    near = (near | (np.abs(stored - wanted) <= origin.tolerance(wanted))) & there
    return OriginPrediction(
        origin.standard(elements.indices), same_bits(elements.values, predicted), distance, near
    )


def score_decoys(origin: Origin, elements: Elements) -> Decoys:
    """Score false seeds at the same place on held-out elements."""
    predicted = origin.standard(elements.indices)
    there = np.isfinite(predicted) & np.isfinite(elements.values)
    some, predicted = elements.keep(there), predicted[there]
    if len(some) < LEAST or np.all(some.values == some.values[0]):
        return Decoys(0, len(some), None, None, None, None, EDGES, (0,) * (len(EDGES) - 1))
    how_many, first = origin.affordable(some.indices)
    chosen = np.arange(min(len(some), ELEMENTS))
    if len(some) > ELEMENTS and not first:
        chosen = np.linspace(0, len(some) - 1, ELEMENTS).astype(np.int64)
    values, predicted = some.values[chosen], predicted[chosen]
    seeds = decoy_seeds(how_many, origin.seed)
    centred = values - values.mean()
    centred = centred / np.sqrt(np.einsum("i,i->", centred, centred))
    sigmas = np.empty(len(seeds))
    for start in range(0, len(seeds), _BATCH):
        drawn = origin.decoys(seeds[start : start + _BATCH], some.indices[chosen])
        drawn = drawn - drawn.mean(axis=1, keepdims=True)
        length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
        scores = np.einsum("ij,j->i", drawn, centred) / np.where(length > 0.0, length, 1.0)
        sigmas[start : start + _BATCH] = scores * np.sqrt(len(values))
    counts, _ = np.histogram(np.clip(sigmas, EDGES[0], np.nextafter(EDGES[-1], 0.0)), bins=EDGES)
    r = correlation(values, predicted)
    mine = None if r is None else r * float(np.sqrt(len(values)))
    return Decoys(
        count=len(seeds),
        n=len(values),
        max_sigma=float(sigmas.max()),
        mean=float(sigmas.mean()),
        std=float(sigmas.std()),
        candidate_sigma=mine,
        edges=EDGES,
        counts=tuple(int(each) for each in counts),
        reached=reached_by(sigmas, mine),
    )
