"""Normal draws of PyTorch's CPU generator on fewer than 16 values: pairs in double, one kept for later.

Source: pytorch `aten/src/ATen/core/DistributionsHelper.h` (`normal_distribution<double>`), 1.13.1 to
2.15.0. Each pair takes four words: u1 gives the angle, u2 the radius. The first value leaves at once. The
second stays in the generator until the next scalar draw, of whatever tensor, even past vectorised draws in
between; seeding clears it. Tensors that are not contiguous take this path at any size. The functions are
the C library's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError

#: Words behind one pair of values.
WORDS_A_PAIR = 4

_STEP = 2.0**-53
_MASK = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class ScalarDraw:
    """What a scalar draw made.

    Attributes:
        values: float32, the values in order.
        consumed: the words that were taken.
        kept: the standard normal that stays in the generator; None if none does.
    """

    values: NDArray[np.float32] = field(repr=False)
    consumed: int
    kept: float | None


def consumed(size: int, *, kept: bool) -> tuple[int, bool]:
    """(words that a scalar draw of `size` values takes, whether a value stays in the generator afterwards).

    Args:
        size: the number of values.
        kept: whether a value was left in the generator before the draw.
    """
    missing = size - (1 if kept and size > 0 else 0)
    remaining = kept if size == 0 else missing % 2 == 1
    return WORDS_A_PAIR * -(-missing // 2), remaining


def draw(
    words: NDArray[np.uint32], size: int, mean: float, std: float, kept: float | None = None
) -> ScalarDraw:
    """What `normal_(mean, std)` makes of words on a float32 tensor of fewer than 16 values.

    Args:
        words: uint32, from the draw's first word on; unused ones are allowed.
        size: how many values.
        mean: as the caller passed it.
        std: as the caller passed it.
        kept: the standard normal that an earlier scalar draw left in the generator.

    Raises:
        UsageError: too few words.
    """
    needed, _ = consumed(size, kept=kept is not None)
    if len(words) < needed:
        raise UsageError(f"{len(words)} words for a scalar draw of {size} values; expected {needed}.")
    values = np.empty(size, np.float32)
    at = 0
    for i in range(size):
        if kept is None:
            standard, kept = pair([int(word) for word in words[at : at + WORDS_A_PAIR]])
            at += WORDS_A_PAIR
        else:
            standard, kept = kept, None
        values[i] = standard * std + mean
    return ScalarDraw(values, at, kept)


def pair(words: list[int]) -> tuple[float, float]:
    """The two standard normals of four words, the first to leave first."""
    u1 = (words[0] << 32 | words[1]) & _MASK
    u2 = (words[2] << 32 | words[3]) & _MASK
    radius = math.sqrt(-2.0 * math.log1p(-u2 * _STEP))
    angle = 2.0 * math.pi * (u1 * _STEP)
    return radius * math.cos(angle), radius * math.sin(angle)
