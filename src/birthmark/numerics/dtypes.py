"""The floating dtypes of checkpoints and draws: bytes to values, one rounding, intervals and distances.

A dtype is known by torch's name for it and described by two numbers, its significand bits and its least exponent,
so that a new one is one more line. Values of a dtype travel decoded, as float32 (float64 for "float64").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating format.

    Attributes:
        bits: width in storage.
        precision: bits of the significand, the hidden one included.
        least: exponent of the smallest normal number.
    """

    bits: int
    precision: int
    least: int

    @property
    def greatest(self) -> float:
        """The largest finite value."""
        return (2.0 - 2.0 ** (1 - self.precision)) * 2.0 ** (1 - self.least)


FORMATS: Final[dict[str, Format]] = {
    "float16": Format(16, 11, -14),
    "bfloat16": Format(16, 8, -126),
    "float32": Format(32, 24, -126),
    "float64": Format(64, 53, -1022),
}


def _format(dtype: str) -> Format:
    try:
        return FORMATS[dtype]
    except KeyError:
        raise UnknownName("float dtype", dtype, FORMATS) from None


def is_float(dtype: str) -> bool:
    """Whether a dtype name is one of the floating dtypes that birthmark reads."""
    return dtype in FORMATS


def itemsize(dtype: str) -> int:
    """Bytes of one stored value."""
    return _format(dtype).bits // 8


def round_to(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Values rounded once to the nearest of a dtype, ties to even."""
    form = _format(dtype)
    if dtype == "float64":
        return np.array(values, np.float64)
    if dtype == "float32":
        return np.array(values, np.float32)
    wide = np.asarray(values, np.float64)
    _, exponent = np.frexp(wide)
    quantum = np.maximum(exponent - form.precision, form.least - form.precision + 1)
    return np.ldexp(np.rint(np.ldexp(wide, -quantum)), quantum).astype(np.float32)
