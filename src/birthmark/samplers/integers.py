"""Integers from words: `random_`, `randint` and the keys of `randperm`, by dtype and by PyTorch version.

A range of r = high - low values takes one 32-bit word a value, or from some r on a 64-bit number of two: the
value is low + word mod r, so that large ranges are a little uneven. From PyTorch 2.7 on the change comes at
r = 2^28 for every dtype; before, at 2^32, and for int64, float64, float32 and bfloat16 alone. `random_()`
without bounds has a range of its own for every dtype. Float tensors hold integers too; their bounds move
inward to what the dtype can tell apart, and each value is rounded to the dtype.

Sources: pytorch `aten/src/ATen/native/DistributionTemplates.h`,
`aten/src/ATen/native/cuda/DistributionTemplates.h`, `aten/src/ATen/core/TransformationHelper.h`
(1.7.1 to 2.15.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import FORMATS, is_float, itemsize, round_to

VERSIONS: Final = ("2.7+", "2.6-")

#: Integer dtypes: bytes, least and greatest value that `random_` takes as a bound.
RANGES: Final[dict[str, tuple[int, int, int]]] = {
    "bool": (1, 0, 1),
    "uint8": (1, 0, 2**8 - 1),
    "int8": (1, -(2**7), 2**7 - 1),
    "int16": (2, -(2**15), 2**15 - 1),
    "uint16": (2, 0, 2**16 - 1),
    "int32": (4, -(2**31), 2**31 - 1),
    "uint32": (4, 0, 2**32 - 1),
    "int64": (8, -(2**63), 2**63 - 1),
    "uint64": (8, 0, 2**63 - 1),
}
#: The dtypes that `random_()` without a lower bound does not fill.
BOUNDED: Final = ("uint16", "uint32", "uint64")

#: From so many values on, a value takes two words: from PyTorch 2.7 on, and before.
WIDE: Final = {"2.7+": 1 << 28, "2.6-": 1 << 32}
#: The dtypes that could take two words before 2.7.
WIDE_DTYPES: Final = ("int64", "float64", "float32", "bfloat16")

_LEAST_64, _END_64 = -(1 << 63), 1 << 64


@dataclass(frozen=True, slots=True)
class Integers:
    """A draw of integers.

    Attributes:
        low: the least value; with `high` None, of `random_(low, None)`. None for `random_()`.
        high: the one after the greatest; None for the greatest that `random_` takes.
        dtype: of the tensor: a name of `RANGES`, or a float dtype, whose values are whole numbers.
        version: "2.7+" or "2.6-".
    """

    low: int | None = None
    high: int | None = None
    dtype: str = "int64"
    version: str = "2.7+"

    def __post_init__(self) -> None:
        if self.dtype not in RANGES and not is_float(self.dtype):
            raise UnknownName("dtype of integers", self.dtype, (*RANGES, *FORMATS))
        if self.version not in VERSIONS:
            raise UnknownName("version rule of integers", self.version, VERSIONS)
        if self.low is None and self.high is not None:
            raise UsageError(f"integers below {self.high}: give the lower bound too, 0 where there is none.")
        if self.low is None and self.dtype in BOUNDED:
            raise UsageError(f"random_() of {self.dtype}: torch fills that dtype between given bounds only.")
        if self.low is None:
            return
        least, greatest = _reach(self.dtype)
        last = greatest if self.high is None else self.high - 1
        if self.low < least or last > greatest:
            raise UsageError(
                f"integers from {self.low} to {last}: {self.dtype} takes those from {least} to {greatest}."
            )
        low, end = self._bounds()
        if low >= end:
            raise UsageError(
                f"integers from {self.low} up to {self.high}: expected {self.dtype} values between."
            )

    @property
    def source(self) -> Literal["words"]:
        """Integers are made from the words themselves."""
        return "words"

    @property
    def unroll(self) -> int:
        """Values a call: 2 where each takes two words."""
        return 2 if self._wide() else 4

    @property
    def width(self) -> int:
        """Bytes of a stored element."""
        return itemsize(self.dtype) if is_float(self.dtype) else RANGES[self.dtype][0]

    def finish(self, raw: NDArray[Any]) -> NDArray[Any]:
        """The values of words of any shape.

        Args:
            raw: uint32, or uint64 where `unroll` is 2.

        Returns:
            bool, int64, float32 for float dtypes, or float64 for float64.
        """
        words = raw.astype(np.uint64, copy=False)
        if self.low is None:
            return self._stored((words % np.uint64(_modulus(self.dtype))).astype(np.int64))
        low, end = self._bounds()
        if end - low == _END_64:
            return self._stored(words.astype(np.int64))
        return self._stored((words % np.uint64(end - low) + np.uint64(low % _END_64)).astype(np.int64))

    def _wide(self) -> bool:
        if self.low is None:
            return self.dtype in ("int64", "float64")
        low, end = self._bounds()
        if end - low == _END_64:  # a kernel of its own, which takes two words in every version
            return True
        return end - low >= WIDE[self.version] and (self.version == "2.7+" or self.dtype in WIDE_DTYPES)

    def _bounds(self) -> tuple[int, int]:
        """The least value and the one after the greatest, as torch moves them for float dtypes."""
        low = int(self.low or 0)
        if not is_float(self.dtype):
            end = RANGES[self.dtype][2] + 1 if self.high is None else self.high
            return low, end
        precision = FORMATS[self.dtype].precision
        if self.high is not None:
            return _inward(low, precision, self.dtype, 1), _inward(self.high, precision, self.dtype, -1)
        if low == _LEAST_64:
            return low, low + _END_64
        return _inward(low, precision, self.dtype, 1), (1 << precision) + 1

    def _stored(self, values: NDArray[np.int64]) -> NDArray[Any]:
        if self.dtype == "bool":
            return np.asarray(values != 0)
        if not is_float(self.dtype):
            return values
        if self.dtype == "float64":
            return values.astype(np.float64)
        # One rounding in float32 and another in 16 bits, as the conversion takes them.
        return round_to(values.astype(np.float32), self.dtype)


def _reach(dtype: str) -> tuple[int, int]:
    """Least and greatest value that `random_` accepts for a dtype."""
    if not is_float(dtype):
        return RANGES[dtype][1:]
    greatest = int(FORMATS[dtype].greatest)
    return max(-greatest, _LEAST_64), min(greatest, -_LEAST_64 - 1)


def _modulus(dtype: str) -> int:
    """How many values `random_()` without bounds has."""
    if is_float(dtype):
        return (1 << FORMATS[dtype].precision) + 1
    return 2 if dtype == "bool" else RANGES[dtype][2] + 1


def _inward(bound: int, precision: int, dtype: str, step: int) -> int:
    """A bound of a float draw, moved by `step` to the next value whose neighbour does not round across it."""
    beside = bound + step
    exact = np.asarray([beside], np.int64)
    rounded = int(
        exact.astype(np.float64)[0] if dtype == "float64" else round_to(exact.astype(np.float32), dtype)[0]
    )
    if rounded >= bound if step > 0 else rounded < bound:
        return bound
    power = abs(beside).bit_length() - 1
    return rounded + step * int(2 ** (power - precision + 1))
