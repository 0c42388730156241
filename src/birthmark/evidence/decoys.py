"""Decoys: seeds known to be false, scored exactly like the candidate, so that the background is measured.

If the theory holds, their scores are standard normal; if the values had some structure that favours any
seed, it would show here.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements
from birthmark.evidence.measured import log10_p_measured, statement
from birthmark.evidence.score import LEAST, correlation, dot
from birthmark.hypothesis import Hypothesis, Location
from birthmark.samplers.fill import standard_at

#: How many decoys are scored: some four million draws, a fraction of a second; four times that for traces.
COUNT = 4096
#: On how many elements at most, where the candidate's correlation is clear, and where it is a trace.
ELEMENTS = 1024
ELEMENTS_TRACE = 4096
#: Below this correlation the elements of a clear one would not lift a candidate above its decoys.
TRACE = 0.375
#: Decoys that are drawn together.
BATCH = 64
#: Bins of the histogram, in sigma.
EDGES = tuple(float(edge) for edge in np.arange(-5.0, 5.01, 0.5))
#: Seeds within this distance of the candidate are not decoys: neighbouring shards may use them.
NEAR = 4096


@dataclass(frozen=True, slots=True)
class Decoys:
    """The measured background.

    Attributes:
        count: decoys scored.
        n: elements that each was scored on.
        max_sigma: the highest score among them; None where there are none.
        mean, std: of their scores; close to 0 and 1 where the theory holds.
        candidate_sigma: the candidate's score on the same elements.
        edges: of the histogram, in sigma; the outer bins hold all that lies beyond.
        counts: decoys in each bin, one less than edges.
        reached: decoys that score at least as high as the candidate on the same elements.
    """

    count: int
    n: int
    max_sigma: float | None
    mean: float | None
    std: float | None
    candidate_sigma: float | None
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    reached: int = 0

    @property
    def log10_p_measured(self) -> float | None:
        """What the background gives by counting alone; None where nothing was compared."""
        if not self.count or self.candidate_sigma is None:
            return None
        return log10_p_measured(self.reached, self.count)

    @property
    def statement(self) -> str | None:
        """The same in words, with the point where an analytic tail takes over."""
        return None if self.log10_p_measured is None else statement(self.reached, self.count)


def reached_by(sigmas: NDArray[np.float64], candidate: float | None) -> int:
    """How many decoys score at least as high as a candidate; 0 where it has no score."""
    return 0 if candidate is None else int(np.count_nonzero(sigmas >= candidate))


def decoy_seeds(count: int, seed: int) -> NDArray[np.uint64]:
    """The first `count` 32-bit seeds of a fixed list of hashes, without those near the candidate."""
    found: list[int] = []
    number = 0
    while len(found) < count:
        value = int.from_bytes(
            blake2b(number.to_bytes(8, "little"), digest_size=4, person=b"decoy").digest(), "little"
        )
        number += 1
        if abs(value - seed) > NEAR:
            found.append(value)
    return np.array(found, dtype=np.uint64)


def score_decoys(hypothesis: Hypothesis, seed: int, elements: Elements, count: int = COUNT) -> Decoys:
    """Score decoy seeds on held-out elements.

    Args:
        hypothesis: the candidate's.
        seed: the candidate's, which no decoy is near to.
        elements: held-out elements; at most `ELEMENTS` (`ELEMENTS_TRACE`) of them, evenly spaced, are used.
        count: how many decoys.
    """
    some = elements.thinned(ELEMENTS_TRACE)
    r = _correlation(hypothesis, seed, some)
    if r is not None and r >= TRACE:
        some = elements.thinned(ELEMENTS)
        r = _correlation(hypothesis, seed, some)
    stored = some.values
    if len(some) < LEAST or np.all(stored == stored[0]):
        return Decoys(0, len(some), None, None, None, None, EDGES, (0,) * (len(EDGES) - 1))
    centred = stored / np.max(np.abs(stored))
    centred = centred - centred.mean()
    centred /= np.sqrt(dot(centred, centred))
    seeds = decoy_seeds(count, seed)
    place = hypothesis.locate(some.indices)
    sigmas = np.empty(count)
    for start in range(0, count, BATCH):
        sigmas[start : start + BATCH] = _sigmas(
            centred, _drawn(hypothesis, seeds[start : start + BATCH], place)
        )
    counts, _ = np.histogram(np.clip(sigmas, EDGES[0], np.nextafter(EDGES[-1], 0.0)), bins=EDGES)
    mine = None if r is None else r * float(np.sqrt(len(some)))
    return Decoys(
        count=count,
        n=len(some),
        max_sigma=float(sigmas.max()),
        mean=float(sigmas.mean()),
        std=float(sigmas.std()),
        candidate_sigma=mine,
        edges=EDGES,
        counts=tuple(int(bin_count) for bin_count in counts),
        reached=reached_by(sigmas, mine),
    )


def _correlation(hypothesis: Hypothesis, seed: int, elements: Elements) -> float | None:
    if len(elements) < LEAST:
        return None
    return correlation(elements.values, np.asarray(hypothesis.standard(seed, elements.indices), np.float64))


def _drawn(hypothesis: Hypothesis, seeds: NDArray[np.uint64], place: Location) -> NDArray[np.float64]:
    """Standard values of many seeds at the same places, one row a seed."""
    draw, sharding = hypothesis.draw, hypothesis.sharding
    keys = seeds[:, None] + (place.rank * sharding.seed_step).astype(np.uint64)[None, :]
    raw = standard_at(
        draw.source,
        keys.ravel(),
        np.tile(place.counter, seeds.size),
        np.tile(place.thread, seeds.size),
        np.tile(place.lane, seeds.size),
        hypothesis.arithmetic,
        double=draw.dtype == "float64",
    )
    return np.asarray(draw.standard(raw), np.float64).reshape(seeds.size, -1)


def _sigmas(centred: NDArray[np.float64], drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sigma, r sqrt(n), of each row of `drawn` with values of mean 0 and length 1."""
    drawn = drawn - drawn.mean(axis=1, keepdims=True)
    length = np.sqrt(np.einsum("ij,ij->i", drawn, drawn))
    along: NDArray[np.float64] = np.einsum("ij,j->i", drawn, centred)
    sigmas: NDArray[np.float64] = along / np.where(length > 0.0, length, 1.0) * np.sqrt(centred.size)
    return sigmas
