"""Integer draws of PyTorch's CPU generator: `random_`, and so `randint`.

A word, or two with the first as the high half, modulo the size of the range, plus its lower end. Two where
the range is wide: from 2.7 on from 2^28 values on, before that from 2^32 on and only in int64 and the float
types but float16. Without bounds the range is the dtype's own: all non-negative integers, or 0 to 2^24 in
float32 and correspondingly. Sources: pytorch `aten/src/ATen/core/DistributionsHelper.h`,
`TransformationHelper.h`, `aten/src/ATen/native/DistributionTemplates.h`, 1.13.1 to 2.14.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.dtypes import FORMATS
from birthmark.samplers.cpu_call import INTEGERS, CpuCall, Read, Values, carried
from birthmark.samplers.cpu_versions import CpuVersion

#: Before, bounds that a float type does not hold were taken as they are.
_INWARD_SINCE: Final = CpuVersion(1, 5)
_LEAST: Final = -(1 << 63)
_END: Final = 1 << 63


class Range(NamedTuple):
    """What integers are drawn from.

    Attributes:
        base: the smallest.
        span: how many there are, at most 2^64.
        wide: whether each takes two words.
    """

    base: int
    span: int
    wide: bool


@dataclass(frozen=True, slots=True)
class Integers:
    """The sampler of integers."""

    call: CpuCall

    def __post_init__(self) -> None:
        self.range  # noqa: B018 - refuses what cannot be drawn

    @property
    def range(self) -> Range:
        """The range, and how it is drawn.

        Raises:
            UsageError: bounds that are no integers, out of order, or beyond the dtype.
        """
        call = self.call
        if not call.parameters:
            return _own_range(call.dtype)
        if any(value != int(value) for value in call.parameters):
            raise UsageError(f"integers from {call.parameters}; expected whole bounds.")
        low, high = (0, *call.parameters)[-2:]
        first, last = int(low), int(high)
        if call.dtype in FORMATS:
            first, last = _representable(first, last, FORMATS[call.dtype].precision)
            if call.rules < _INWARD_SINCE and max(abs(first), abs(last)) > 1 << FORMATS[call.dtype].precision:
                raise UsageError(
                    f"integers up to {last} in {call.dtype} of PyTorch {call.version} are not known; "
                    "expected bounds that the dtype holds, or 1.5 or later."
                )
        lowest, highest = _limits(call.dtype)
        if not lowest <= first < last <= highest + 1:
            raise UsageError(
                f"integers from {first} up to and without {last} in {call.dtype}; expected a range within "
                f"{lowest} to {highest}."
            )
        span = last - first
        return Range(first, span, call.rules.wide(span, call.dtype))

    @property
    def consumed(self) -> int:
        """Words that the draw takes."""
        return self.call.size * (2 if self.range.wide else 1)

    def values(self, read: Read, indices: NDArray[np.int64]) -> Values:
        """The values of elements: the dtype's own integers, or floats decoded."""
        base, span, wide = self.range
        if wide:
            pairs = read(2 * indices[..., None] + np.arange(2)).astype(np.uint64)
            drawn = (pairs[..., 0] << np.uint64(32)) | pairs[..., 1]
        else:
            drawn = read(indices).astype(np.uint64)
        if span < 1 << 64:
            drawn = drawn % np.uint64(span)
        integers = (drawn + np.uint64(base % (1 << 64))).view(np.int64)
        if self.call.dtype in INTEGERS:
            return integers.astype(self.call.dtype)
        if self.call.dtype == "float64":
            return integers.astype(np.float64)
        return carried(integers.astype(np.float32), self.call.dtype)


def _own_range(dtype: str) -> Range:
    """The range of `random_()` without bounds."""
    if dtype in FORMATS:
        return Range(0, (1 << FORMATS[dtype].precision) + 1, dtype == "float64")
    return Range(0, _limits(dtype)[1] + 1, dtype == "int64")


def _limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer that bounds may name."""
    if dtype == "bool":
        return 0, 1
    if dtype in INTEGERS:
        facts = np.iinfo(dtype)
        return int(facts.min), int(facts.max)
    reach = int(min(FORMATS[dtype].greatest, float(_END)))
    return max(-reach, _LEAST), min(reach, _END - 1)


def _representable(low: int, high: int, digits: int) -> tuple[int, int]:
    """Bounds moved inwards where a float type of so many significant bits does not hold them."""

    def nearest(value: int) -> int:
        excess = max(abs(value).bit_length() - digits, 0)
        kept, rest = divmod(abs(value), 1 << excess)
        half = (1 << excess) >> 1
        kept += rest > half or (excess > 0 and rest == half and kept & 1)
        return (kept << excess) * (-1 if value < 0 else 1)

    above = nearest(low + 1)
    if above < low:
        low = above + (1 << (abs(low + 1).bit_length() - digits))
    below = nearest(high - 1)
    if below >= high:
        high = below - (1 << (abs(high - 1).bit_length() - digits))
    return low, high
