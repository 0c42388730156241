"""Normal draws of PyTorch's CPU generator one pair at a time: in double, the second value kept for later.

So are made normals of fewer than 16 values, those of tensors that are not contiguous, and log-normals.
Source: pytorch `aten/src/ATen/core/DistributionsHelper.h` (`normal_distribution<double>`), 1.13.1 to 2.15.0.
Each pair takes four words: u1 gives the angle, u2 the radius, by log1p(-u2), up to 1.13 by log(1 - u2). The
first value leaves at once. The second stays in the generator until the next such draw, of whatever tensor,
even past vectorised draws in between; seeding clears it. The functions are the C library's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import fma, kernel
from birthmark.samplers.cpu_call import CpuCall, Read, Values, stored
from birthmark.samplers.cpu_uniform import unit64

#: Words behind one pair of values.
WORDS_A_PAIR = 4

_TWO_PI = np.float64(2.0 * math.pi)
_MINUS_TWO = np.float64(-2.0)
_ONE = np.float64(1.0)


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
    call = CpuCall("normal", (mean, std), size)
    standard, left = following(words[:needed], size, kept)
    return ScalarDraw(finish(standard, call), needed, left)


def pairs(words: NDArray[np.uint32], *, one_minus: bool = False) -> NDArray[np.float64]:
    """The two standard normals of each four words, in the order in which they leave.

    Args:
        words: uint32[..., 4].
        one_minus: take the logarithm of 1 - u, as PyTorch up to 1.13 does.

    Returns:
        float64[..., 2].
    """
    flat = np.ascontiguousarray(words, np.uint32).reshape(-1, WORDS_A_PAIR)
    out = np.empty((len(flat), 2), np.float64)
    _pairs_all(flat, one_minus, out)
    return out.reshape(*words.shape[:-1], 2)


def following(
    words: NDArray[np.uint32], size: int, kept: float | None, *, one_minus: bool = False
) -> tuple[NDArray[np.float64], float | None]:
    """(the next `size` standard normals of a generator, what it keeps afterwards).

    Args:
        words: exactly the words that they take, see `consumed`.
        size: how many.
        kept: what it kept before.
        one_minus: as for `pairs`.
    """
    fresh = pairs(words.reshape(-1, WORDS_A_PAIR), one_minus=one_minus).ravel()
    known = fresh if kept is None else np.concatenate([[kept], fresh])
    return known[:size], float(known[size]) if len(known) > size else None


def finish(standard: NDArray[np.float64], call: CpuCall) -> Values:
    """What a draw stores for its standard normals: scaled in double, exponentiated if log-normal, rounded."""
    mean, std = call.bounds
    out = np.empty(standard.size, np.float64)
    exponential = call.distribution == "log-normal"
    _finish_all(standard.ravel(), np.float64(mean), np.float64(std), call.fused, exponential, out)
    return stored(out.reshape(standard.shape), call)


@dataclass(frozen=True, slots=True)
class ScalarNormal:
    """The sampler of normals pair by pair.

    Attributes:
        call: a normal or log-normal draw.
        kept_at: where the generator keeps a value from before: the position of the first of that pair's
            four words, counted from this draw's first word and so negative; None if it keeps none.
    """

    call: CpuCall
    kept_at: int | None = None

    def __post_init__(self) -> None:
        _, std = self.call.bounds
        if std < 0 or (std == 0 and self.call.distribution == "log-normal"):
            raise UsageError(
                f"a {self.call.distribution} draw with standard deviation {std}; expected more than 0."
            )

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return consumed(self.call.size, kept=self.kept_at is not None)[0]

    @property
    def keeps_at(self) -> int | None:
        """`kept_at` for what comes after, counted from this draw's first word."""
        taken, keeps = consumed(self.call.size, kept=self.kept_at is not None)
        if not keeps:
            return None
        return self.kept_at if self.call.size == 0 else taken - WORDS_A_PAIR

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements, decoded."""
        order = np.asarray(indices, np.int64) - (0 if self.kept_at is None else 1)
        first = WORDS_A_PAIR * (order >> 1)
        if self.kept_at is not None:
            first = np.where(order < 0, self.kept_at, first)
        both = pairs(read(first[..., None] + np.arange(WORDS_A_PAIR)), one_minus=self.call.rules.one_minus)
        return finish(np.where(order & 1, both[..., 1], both[..., 0]), self.call)


@kernel()
def _pairs_all(words: NDArray[np.uint32], one_minus: bool, out: NDArray[np.float64]) -> None:
    for i in range(len(words)):
        u1 = unit64(words[i, 0], words[i, 1])
        u2 = unit64(words[i, 2], words[i, 3])
        logarithm = math.log(_ONE - u2) if one_minus else math.log1p(-u2)
        radius = math.sqrt(_MINUS_TWO * logarithm)
        angle = _TWO_PI * u1
        out[i, 0] = radius * math.cos(angle)
        out[i, 1] = radius * math.sin(angle)


@kernel()
def _finish_all(
    standard: NDArray[np.float64],
    mean: np.float64,
    std: np.float64,
    fused: bool,
    exponential: bool,
    out: NDArray[np.float64],
) -> None:
    for i in range(len(standard)):
        value = fma(standard[i], std, mean) if fused else np.float64(standard[i] * std) + mean
        out[i] = math.exp(value) if exponential else value
