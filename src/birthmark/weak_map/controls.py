"""What the true prediction is held against: false seeds, and the layouts of other devices.

Both are scored on a sample of each tensor, of whole rows, levelled as in the full pass. False seeds give the
measured background: their scores are standard normal if nothing but the birth favours the true one. Layouts
agree below one wave, so a wrong device still predicts much of a model; what explains it best is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.errors import BirthmarkError
from birthmark.evidence.decoys import decoy_seeds
from birthmark.evidence.measured import log10_p_measured
from birthmark.weak_map.bands import matrix
from birthmark.weak_map.births import Aim, Predicted
from birthmark.weak_map.levels import Levels
from birthmark.weak_map.moments import correlations
from birthmark.weak_map.pooling import pooled_z
from birthmark.weak_map.sharing import inflation, same_draws

#: Elements of a tensor in its sample, and rows that they lie in at most.
SAMPLE: Final = 4096
ROWS: Final = 64
#: Elements that all decoys may cost together, and how many there are at least and at most.
BUDGET: Final = 1 << 24
LEAST_DECOYS, MOST_DECOYS = 32, 1000
#: Tensors by which layouts are compared, the largest ones.
LARGEST: Final = 12
#: By how much another layout's sum of squared z must lie above the claimed one's, to count as better.
MARGIN: Final = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Some elements of a tensor.

    Attributes:
        aim: the tensor.
        size: elements of the whole tensor.
        indices: int64, C-order flat indices of those that are looked at.
        level: float64, their levelled values.
    """

    aim: Aim
    size: int
    indices: NDArray[np.int64]
    level: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Background:
    """The scores of false seeds.

    Attributes:
        count: false seeds.
        z: of all tensors pooled on their samples: that of the true seed, then mean, standard deviation and
            maximum of the false ones'.
        each: the true seed's z of each tensor on its sample, by the tensor's stored name.
        mean, std, largest: of the z's of all false seeds in single tensors.
        reached: false seeds whose pooled z is at least the true one's.
    """

    count: int
    z: float
    pooled_mean: float
    pooled_std: float
    pooled_largest: float
    each: dict[str, float]
    mean: float
    std: float
    largest: float
    reached: int

    @property
    def log10_p(self) -> float:
        """What counting alone says: (reached + 1) / (count + 1)."""
        return log10_p_measured(self.reached, self.count)


@dataclass(frozen=True, slots=True)
class Layouts:
    """What the layouts of the device table explain.

    Attributes:
        claimed: the sum of squared z's of the layout that is claimed.
        best: the G that explains most, and its sum.
        next: the best other G that explains less than the claimed one; None where there is none.
    """

    claimed: float
    best: tuple[int, float]
    next: tuple[int, float] | None
    same: tuple[int, ...]

    @property
    def refuted(self) -> bool:
        """Whether another layout explains the model better than the one that is claimed."""
        return self.best[1] > self.claimed + MARGIN


def sample_of(checkpoint: Checkpoint, aim: Aim, levels: Levels) -> Sample:
    """Evenly spaced rows of a tensor, levelled, and evenly spaced elements of those."""
    info = checkpoint.tensors[aim.stored]
    rows, columns = matrix(info.shape)
    outer = info.matrix_shape[0]
    wanted = min(outer, max(1, min(ROWS, SAMPLE // max(columns, 1))))
    chosen = np.unique(np.linspace(0, outer - 1, wanted).astype(np.int64))
    inner = rows // outer
    block = checkpoint.take(aim.stored, chosen).reshape(-1, columns)
    _, level, _ = levels.apply(block)
    places = (chosen[:, None] * inner + np.arange(inner)).reshape(-1)
    indices = (places[:, None] * columns + np.arange(columns)).reshape(-1)
    some = np.unique(np.linspace(0, indices.size - 1, min(indices.size, SAMPLE)).astype(np.int64))
    return Sample(aim, info.size, indices[some], level.reshape(-1)[some])


def background(
    predicted: Predicted, samples: Sequence[Sample], pool: Executor, count: int | None = None
) -> Background | None:
    """Score false seeds.

    Args:
        predicted: the true prediction.
        samples: of its tensors.
        pool: where seeds are worked on.
        count: false seeds; None for as many as a second or two allows.

    Returns:
        None where there is nothing to score, or every seed would cost a walk through the model.
    """
    used = [each for each in samples if len(each.indices) >= 4]
    elements = sum(len(each.indices) for each in used)
    if count is None:
        count = min(MOST_DECOYS, max(LEAST_DECOYS, BUDGET // max(elements, 1)))
    if not used or predicted.walks or not count:
        return None
    seeds = [int(seed) for seed in decoy_seeds(count, predicted.seed)]
    n = np.array([len(each.indices) for each in used], np.int64)
    rows = np.array(list(pool.map(lambda seed: _scores(predicted.of_seed(seed), used), seeds)))
    true = np.array([_scores(predicted, used)])
    wider = inflation(same_draws(predicted, used), used, n)
    pooled, own = pooled_z(rows, n, wider), float(pooled_z(true, n, wider)[0])
    single = np.nan_to_num(rows, nan=0.0) * np.sqrt(n)
    return Background(
        count,
        own,
        float(pooled.mean()),
        float(pooled.std()),
        float(pooled.max()),
        {
            each.aim.stored: float(r * math.sqrt(len(each.indices)))
            for each, r in zip(used, true[0].tolist(), strict=True)
            if not math.isnan(r)
        },
        float(single.mean()),
        float(single.std()),
        float(single.max()),
        int(np.count_nonzero(pooled >= own)),
    )


def layouts(predicted: Predicted, samples: Sequence[Sample], pool: Executor) -> Layouts | None:
    """Compare the layouts of the device table; None where the birth has none, or positions need a walk."""
    if predicted.threads is None or predicted.walks:
        return None
    largest = sorted(samples, key=lambda each: -each.size)[:LARGEST]
    every = sorted({predicted.threads, *table_threads()})
    sums = dict(
        zip(every, pool.map(lambda each: _sum(predicted.of_layout(each), largest), every), strict=True)
    )
    claimed = sums[predicted.threads]
    best = max(every, key=lambda each: (sums[each], each == predicted.threads))
    same = tuple(each for each in every if sums[each] == claimed)
    below = [each for each in every if sums[each] < claimed]
    after = max(below, key=lambda each: sums[each], default=None)
    return Layouts(claimed, (best, sums[best]), None if after is None else (after, sums[after]), same)


def _sum(predicted: Predicted, samples: Sequence[Sample]) -> float:
    """The sum of squared z's of all tensors that correlate the right way."""
    r = np.nan_to_num(np.array(_scores(predicted, samples)), nan=0.0)
    n = np.array([len(each.indices) for each in samples])
    return float((np.maximum(r, 0.0) ** 2 * n).sum())


def _scores(predicted: Predicted, samples: Sequence[Sample]) -> list[float]:
    """The correlation of each sample; NaN where there is none."""
    found = []
    for each in samples:
        try:
            y: NDArray[Any] = predicted.values(each.aim, each.indices).astype(np.float64)
        except BirthmarkError:  # what the claimed birth predicts can be out of another's reach
            found.append(math.nan)
            continue
        a, one = each.level, np.ones(1)
        sums = [one * len(a), *(one * part for part in (a.sum(), y.sum()))]
        squares = [one * float(np.einsum("i,i->", *pair)) for pair in ((a, a), (y, y), (a, y))]
        found.append(float(correlations(*sums, *squares)[0]))
    return found
