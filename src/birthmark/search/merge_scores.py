"""Which seeds correlate with survivors: a few low elements, in stages that drop most seeds early.

After each stage a seed goes on if its score is above what a draw of `LEAST_R` falls below in one case of 400.
The early stages are done once for all layouts that agree on their elements, the late ones for each layout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.hypothesis import Hypothesis
from birthmark.search.merge_kernel import NORMAL_STEPS, VALUE_STEPS, places_of, score_staged
from birthmark.survivors.split import Selection

#: The correlation that must not be missed: three draws of one size have 0.577 each.
LEAST_R: Final = 0.55
#: By so many standard deviations a draw may fall below its expectation before it is dropped.
SLACK: Final = 2.85
#: Elements that the stages end at: the first two under layouts that agree there, the last two one by one.
EARLY, LATE = (48, 96), (192, 384)
#: The stages take the lowest rows or columns that are this likely to be untouched, so many of them in turn.
SURE, UNITS = 0.9, 3
#: Survivors with fewer elements are not searched.
LEAST: Final = 128
#: Values farther out than this many standard deviations are brought there.
CLIP: Final = 4.0
#: Seeds that one thread scores at a time.
UNIT: Final = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class _Stages:
    """Elements with the limits of their stages."""

    values: NDArray[np.int32]
    ends: NDArray[np.int64]
    limits: NDArray[np.int64]


def promising(
    left: Selection, seeds: NDArray[np.uint64], hypotheses: Sequence[Hypothesis], workers: int, most: int
) -> list[int]:
    """The seeds that pass all stages under some layout, the best first.

    Args:
        left: survivors, or what draws that were taken away have left of them.
        seeds: 64-bit seeds.
        hypotheses: one for each layout.
        workers: threads.
        most: how many seeds to return.
    """
    order = _lowest(left)
    indices, steps = left.indices[order], _steps(left.values[order], left.unit[order])
    early, late = _stages(steps, EARLY), _stages(steps, (*EARLY, *LATE))
    kept: list[tuple[int, int]] = []
    with ThreadPoolExecutor(workers, thread_name_prefix="birthmark-merge") as pool:
        for group in _alike(hypotheses, indices[: early.ends[-1]]):
            passed = seeds[_scores(pool, seeds, group[0], indices, early)[1]]
            if not len(passed):
                continue
            for same in _alike(group, indices[: late.ends[-1]]):
                sums, there = _scores(pool, passed, same[0], indices, late)
                kept += zip(sums[there].tolist(), passed[there].tolist(), strict=True)
    return list(dict.fromkeys(seed for _, seed in sorted(kept, reverse=True)))[:most]


def miss_chance(elements: int) -> float:
    """No more than this is the chance that a draw of `LEAST_R` is dropped, of so many elements."""
    ends = np.array([end for end in (*EARLY, *LATE) if end <= elements], np.int64)
    sigma = (_limits(ends) - LEAST_R * np.sqrt(ends)) / math.sqrt(1.0 + LEAST_R**2)
    return float(min(1.0, ndtr(sigma).sum()))


def _lowest(left: Selection) -> NDArray[np.int64]:
    """Elements of a few low rows or columns in turn: most layouts agree there, and a bad row harms little."""
    sure = np.flatnonzero(left.probability >= SURE)
    if len(sure) < LEAST:
        sure = np.arange(len(left.indices))
    sure = sure[np.argsort(left.indices[sure], kind="stable")]
    _, first, number = np.unique(left.unit[sure], return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first, kind="stable"), kind="stable")[number]
    counts = np.bincount(place)
    few = max(UNITS, int(np.searchsorted(np.cumsum(counts), LATE[-1])) + 1)
    sure, place = sure[place < few], place[place < few]
    by_unit = np.argsort(place, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts[:few])[:-1]])
    rank = np.empty(len(sure), np.int64)
    rank[by_unit] = np.arange(len(sure)) - starts[place[by_unit]]
    chosen: NDArray[np.int64] = sure[np.lexsort((place, rank))][: LATE[-1]]
    return chosen


def _steps(values: NDArray[np.float64], unit: NDArray[np.int64]) -> NDArray[np.int32]:
    """Values in the kernel's steps, each row or column of one size: a bad one must not drown the others."""
    _, number, counts = np.unique(unit, return_inverse=True, return_counts=True)
    squares = np.bincount(number, weights=np.square(values)) / counts
    size = np.sqrt(np.where(squares > 0.0, squares, 1.0))[number]
    return np.rint(np.clip(values / size, -CLIP, CLIP) * VALUE_STEPS).astype(np.int32)


def _stages(steps: NDArray[np.int32], ends: Sequence[int]) -> _Stages:
    """The stages as far as there are elements."""
    there = np.array(sorted({min(end, steps.size) for end in ends}), np.int64)
    lengths = np.sqrt(np.cumsum(steps.astype(np.float64) ** 2)[there - 1])
    return _Stages(
        np.ascontiguousarray(steps[: there[-1]]),
        there,
        np.ceil(_limits(there) * lengths * NORMAL_STEPS).astype(np.int64),
    )


def _limits(ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sigma that each stage asks for; products of values with a correlation r have variance 1 + r^2."""
    limits: NDArray[np.float64] = LEAST_R * np.sqrt(ends) - SLACK * math.sqrt(1.0 + LEAST_R**2)
    return limits


def _alike(hypotheses: Sequence[Hypothesis], indices: NDArray[np.int64]) -> Iterator[list[Hypothesis]]:
    """Layouts that place all of these elements alike, together."""
    groups: dict[bytes, list[Hypothesis]] = {}
    for each in hypotheses:
        place = each.locate(indices)
        name = b"".join(part.tobytes() for part in (place.counter, place.thread, place.lane))
        groups.setdefault(name, []).append(each)
    yield from groups.values()


def _scores(
    pool: ThreadPoolExecutor,
    seeds: NDArray[np.uint64],
    hypothesis: Hypothesis,
    indices: NDArray[np.int64],
    stages: _Stages,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The sums of seeds under one layout, and which of them passed all stages."""
    places = places_of(hypothesis.locate(indices[: stages.ends[-1]]))
    sums, reached = np.zeros(len(seeds), np.int64), np.zeros(len(seeds), np.int64)

    def work(start: int) -> None:
        part = slice(start, start + UNIT)
        score_staged(
            seeds[part],
            places.first,
            places.second,
            places.third,
            places.fourth,
            places.later,
            places.turn,
            stages.values,
            stages.ends,
            stages.limits,
            sums[part],
            reached[part],
        )

    list(pool.map(work, range(0, len(seeds), UNIT)))
    return sums, reached == len(stages.ends)
