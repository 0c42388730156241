"""The hypotheses of a search: layouts and shardings, those that predict the selection alike taken as one.

Below one wave layouts agree, and in the first shard shardings do. What cannot be told apart by the selection
is one prediction: searched once, and counted once among the trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.hypothesis import Draw, Hypothesis, Location
from birthmark.numerics.dtypes import itemsize, round_to
from birthmark.recipes.sharding import Sharding
from birthmark.search.families import Family, own_family
from birthmark.survivors.split import Selection

#: Vocabulary-parallel ways that are tried.
WAYS = (1, 2, 4, 8, 16)
#: Elements by which predictions are compared: two that differ anywhere differ at the farthest elements.
_SAMPLES = 64
#: Rows from which a wholly untouched matrix can be a vocabulary's.
LEAST_VOCABULARY = 1024


@dataclass(frozen=True, slots=True)
class Prediction:
    """Hypotheses that locate every element of a selection alike.

    Attributes:
        hypothesis: one of them, with the smallest G.
        threads: their G's, ascending.
    """

    hypothesis: Hypothesis
    threads: tuple[int, ...]


def effective_dtype(selection: Selection) -> str:
    """The narrowest float dtype that holds every stored value: a cast to a wider one cannot hide it."""
    for dtype in ("bfloat16", "float16", "float32"):
        if itemsize(dtype) > itemsize(selection.dtype):
            break
        if np.array_equal(round_to(selection.values, dtype).astype(np.float64), selection.values):
            return dtype
    return selection.dtype


def shardings(selection: Selection, ways: Iterable[int] = WAYS) -> tuple[Sharding, ...]:
    """The shardings that the tensor allows: only the rows of a matrix can be a vocabulary's."""
    found = []
    for count in sorted(set(ways)):
        sharding = Sharding(count, "single" if count == 1 else "megatron")
        vocabulary = len(selection.shape) == 2 and (
            selection.axis == "row" or (selection.axis == "tensor" and selection.shape[0] >= LEAST_VOCABULARY)
        )
        if count == 1 or (vocabulary and sharding.fits(selection.shape)):
            found.append(sharding)
    return tuple(found)


def draws(selection: Selection, cut: Sharding, family: Family | None = None) -> tuple[Draw, ...]:
    """The calls that may have filled the tensor: the dtype matters only where it splits a huge tensor."""
    family = family or own_family(selection)
    dtype = effective_dtype(selection)
    drawn = [dtype]
    if itemsize(dtype) < 4:
        huge = math.prod(cut.local_shape(selection.shape)) * 4 > 2**31 - 1
        # A plain draw's values do not depend on its dtype; of a truncated one's, float32 lies nearest to all.
        drawn = [dtype, "float32"] if huge else [dtype if family.plain else "float32"]
    return tuple(family.draw(selection, each) for each in drawn)


def predictions(
    selection: Selection,
    layouts: Sequence[int],
    cuts: Sequence[Sharding],
    offset: int = 0,
    family: Family | None = None,
) -> tuple[Prediction, ...]:
    """The distinct predictions of all layouts and shardings, whole tensors first, G ascending.

    `family` says what may have drawn the values; None is what they were taken for.
    """
    classes: dict[bytes, tuple[Hypothesis, list[int]]] = {}
    for cut in cuts:
        indices, where = _telling(selection, cut), repr(_where(selection, cut)).encode()
        for draw in draws(selection, cut, family):
            for threads in sorted(set(layouts)):
                hypothesis = Hypothesis(draw, threads, offset=offset, sharding=cut)
                first, same = classes.setdefault(
                    _signature(hypothesis.locate(indices)) + where,
                    (hypothesis, []),
                )
                if first.sharding == cut and first.draw == draw:
                    same.append(threads)
    return tuple(Prediction(hypothesis, tuple(same)) for hypothesis, same in classes.values())


def _telling(selection: Selection, cut: Sharding) -> NDArray[np.int64]:
    """The elements that lie farthest inside their shards, the last ones, and evenly spaced others."""
    indices = selection.indices
    _, local, _ = cut.locate(selection.shape, indices)
    farthest = np.argsort(local, kind="stable")[-_SAMPLES:]
    spaced = np.linspace(0, len(indices) - 1, _SAMPLES).astype(np.int64)
    telling: NDArray[np.int64] = indices[np.unique(np.concatenate([farthest, spaced]))]
    return telling


def _where(selection: Selection, cut: Sharding) -> tuple[int, ...]:
    """Empty where every element lies in the first shard, for there a sharding predicts what none does."""
    rank, _, _ = cut.locate(selection.shape, selection.indices)
    return () if not rank.any() else (cut.ways,)


def _signature(place: Location) -> bytes:
    return b"".join(part.tobytes() for part in (place.rank, place.counter, place.thread, place.lane))
