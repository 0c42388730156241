"""Tensors that are predicted by the same numbers: layers or experts that were each seeded alike.

Under a wrong prediction the scores of such tensors are not independent: where their stored values are alike
as well (and they are, if they were born alike), their scores are, and a pooled score of k of them spreads up
to the root of k too widely. So the pooled variance has a term for each such pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import BirthmarkError

if TYPE_CHECKING:
    from birthmark.weak_map.births import Predicted
    from birthmark.weak_map.controls import Sample

#: Predicted values by which tensors are compared, and how many they must have.
COMPARED, LEAST = 64, 16
#: Decimals of these values, in units of their root mean square: a factor between tensors does not matter.
DECIMALS: Final = 4
#: Standard errors that are added to how alike stored values are.
ERRORS: Final = 2.0


def same_draws(predicted: Predicted, samples: Sequence[Sample]) -> tuple[tuple[int, ...], ...]:
    """Which samples are of tensors that begin with the same predicted values, in groups of two or more.

    Args:
        predicted: the initial values.
        samples: of its tensors.
    """
    groups: dict[bytes, list[int]] = {}
    for number, sample in enumerate(samples):
        count = min(COMPARED, sample.size)
        try:
            first = np.asarray(predicted.values(sample.aim, np.arange(count)), np.float64)
        except BirthmarkError:
            continue
        size = math.sqrt(float(np.mean(first * first))) if count >= LEAST else 0.0
        if size > 0.0 and math.isfinite(size):
            groups.setdefault(np.round(first[:LEAST] / size, DECIMALS).tobytes(), []).append(number)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def inflation(
    groups: Sequence[Sequence[int]], samples: Sequence[Sample], n: Sequence[int] | NDArray[np.int64]
) -> float:
    """By what factor the variance of a pooled score is larger than that of independent tensors, 1 or more.

    Args:
        groups: of `same_draws`.
        samples: levelled values of each tensor.
        n: values of each tensor that are pooled.
    """
    weight = np.maximum(np.asarray(n, np.float64) - 3.0, 0.0)
    total = float(weight.sum())
    if total <= 0.0:
        return 1.0
    pairs = sum(
        2.0 * _alike(samples[one], samples[other]) * math.sqrt(weight[one] * weight[other])
        for group in groups
        for place, one in enumerate(group)
        for other in group[place + 1 :]
    )
    return 1.0 + pairs / total


def _alike(one: Sample, other: Sample) -> float:
    """How alike the stored values of two tensors are, 0 to 1; 1 where other places were sampled."""
    if not np.array_equal(one.indices, other.indices):
        return 1.0
    squares = float(one.level @ one.level) * float(other.level @ other.level)
    r = float(one.level @ other.level) / math.sqrt(squares) if squares > 0.0 else 0.0
    return float(np.clip(r + ERRORS / math.sqrt(len(one.indices)), 0.0, 1.0))
