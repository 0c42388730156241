"""Which seeds correlate with survivors: a few low elements, in stages that drop most seeds early.

After each stage a seed goes on if its score is above what a draw of `LEAST_R` falls below in one case of 400.
A stage is done once for all layouts that agree on its elements and those before: the first elements are so
low that nearly all layouts do.
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
from birthmark.search.merge_kernel import NORMAL_STEPS, VALUE_STEPS, places_of, score_seeds
from birthmark.survivors.split import Selection

#: The correlation that must not be missed: three draws of one size have 0.577 each.
LEAST_R: Final = 0.55
#: By so many standard deviations a draw may fall below its expectation before it is dropped.
SLACK: Final = 2.85
#: Elements that the stages end at.
ENDS: Final = (32, 64, 96, 192, 384)
#: The first elements are those of the lowest rows or columns that are this likely to be untouched: so many
#: of them in turn, where they lie in the first wave of every layout, or else the lowest alone.
SURE, SURER, UNITS = 0.9, 0.99, 3
HEAD: Final = ENDS[1]
#: Survivors with fewer elements are not searched.
LEAST: Final = 128
#: Values farther out than this many standard deviations are brought there.
CLIP: Final = 4.0
#: Seeds that one thread scores at a time.
UNIT: Final = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """The elements that are looked at, in their order.

    Attributes:
        indices: int64, flat.
        steps: int32, the values in the kernel's steps.
        lengths: root of the sum of squares of the steps up to each of `ends`.
        ends: where the stages end, as far as there are elements.
    """

    indices: NDArray[np.int64]
    steps: NDArray[np.int32]
    lengths: NDArray[np.float64]
    ends: tuple[int, ...]


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
    look = _look(left, min(each.threads for each in hypotheses))
    found: dict[int, float] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="birthmark-merge") as pool:
        _refine(pool, look, 0, list(hypotheses), seeds, np.zeros(len(seeds), np.int64), found)
    return sorted(found, key=lambda seed: (-found[seed], seed))[:most]


def _refine(
    pool: ThreadPoolExecutor,
    look: _Look,
    stage: int,
    hypotheses: list[Hypothesis],
    seeds: NDArray[np.uint64],
    sums: NDArray[np.int64],
    found: dict[int, float],
) -> None:
    """One stage for layouts that agree so far, and the later ones for what it leaves."""
    begin, end = ([0, *look.ends][stage], look.ends[stage])
    for group in _alike(hypotheses, look.indices[begin:end]):
        after = sums + _scores(pool, seeds, group[0], look.indices[begin:end], look.steps[begin:end])
        sigma = after / (look.lengths[stage] * NORMAL_STEPS)
        passed = sigma > _limits(np.array([end]))[0]
        if not passed.any():
            continue
        if stage + 1 < len(look.ends):
            _refine(pool, look, stage + 1, group, seeds[passed], after[passed], found)
            continue
        for seed, score in zip(seeds[passed].tolist(), sigma[passed].tolist(), strict=True):
            found[seed] = max(score, found.get(seed, score))


def miss_chance(elements: int) -> float:
    """No more than this is the chance that a draw of `LEAST_R` is dropped, of so many elements."""
    ends = np.array([end for end in ENDS if end <= elements], np.int64)
    sigma = (_limits(ends) - LEAST_R * np.sqrt(ends)) / math.sqrt(1.0 + LEAST_R**2)
    return float(min(1.0, ndtr(sigma).sum()))


def _look(left: Selection, smallest: int) -> _Look:
    """The elements that are looked at: of the lowest rows or columns, where most layouts agree.

    Args:
        left: survivors.
        smallest: the smallest G.
    """
    for least in (SURER, SURE, 0.0):
        sure = np.flatnonzero(left.probability >= least)
        if len(sure) >= min(ENDS[-1], len(left.indices)):
            break
    sure = sure[np.argsort(left.indices[sure], kind="stable")]
    _, first, number = np.unique(left.unit[sure], return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first, kind="stable"), kind="stable")[number]
    counts = np.bincount(place)
    inside = np.array(
        [left.indices[sure[place == each]].max() < smallest for each in range(min(UNITS, counts.size))]
    )
    alike = max(1, int(inside.argmin()) if not inside.all() else inside.size)
    head = _in_turn(place, max(alike, _enough(counts, HEAD)))[:HEAD]
    rest = _in_turn(place, max(UNITS, _enough(counts, ENDS[-1])))
    order = np.concatenate([head, rest[~np.isin(rest, head)]])[: ENDS[-1]]
    chosen = sure[order]
    steps = _steps(left.values[chosen], left.unit[chosen])
    ends = tuple(sorted({min(end, len(chosen)) for end in ENDS}))
    lengths = np.sqrt(np.cumsum(steps.astype(np.float64) ** 2)[np.array(ends) - 1])
    return _Look(left.indices[chosen], steps, np.maximum(lengths, 1.0), ends)


def _enough(counts: NDArray[np.int64], elements: int) -> int:
    """How many of the first units have so many elements together."""
    return int(np.searchsorted(np.cumsum(counts), elements)) + 1


def _in_turn(place: NDArray[np.int64], few: int) -> NDArray[np.int64]:
    """Positions of the elements of the first few units, one of each unit after the other."""
    there = np.flatnonzero(place < few)
    by_unit = there[np.argsort(place[there], kind="stable")]
    counts = np.bincount(place[there], minlength=few)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.arange(len(by_unit)) - starts[place[by_unit]]
    order: NDArray[np.int64] = by_unit[np.lexsort((place[by_unit], rank))]
    return order


def _steps(values: NDArray[np.float64], unit: NDArray[np.int64]) -> NDArray[np.int32]:
    """Values in the kernel's steps, each row or column of one size: a bad one must not drown the others."""
    _, number, counts = np.unique(unit, return_inverse=True, return_counts=True)
    squares = np.bincount(number, weights=np.square(values)) / counts
    size = np.sqrt(np.where(squares > 0.0, squares, 1.0))[number]
    return np.rint(np.clip(values / size, -CLIP, CLIP) * VALUE_STEPS).astype(np.int32)


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
    steps: NDArray[np.int32],
) -> NDArray[np.int64]:
    """The sums of seeds over some elements under one layout."""
    places = places_of(hypothesis.locate(indices))
    sums = np.zeros(len(seeds), np.int64)

    def work(start: int) -> None:
        part = slice(start, start + UNIT)
        score_seeds(
            seeds[part],
            places.first,
            places.second,
            places.third,
            places.fourth,
            places.later,
            places.turn,
            steps,
            sums[part],
        )

    list(pool.map(work, range(0, len(seeds), UNIT)))
    return sums
