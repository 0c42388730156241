"""Coin flips of one probability, `bernoulli_(p)`: true where a uniform in (0, 1] lies below p.

The uniforms are float32 for every dtype of the tensor but float64, and so is p, rounded. The dtype also
decides where a huge tensor is split. Source: pytorch `aten/src/ATen/native/cuda/DistributionTemplates.h` and
`ATen/core/TransformationHelper.h` (1.7.1 to 2.15.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.numerics.dtypes import FORMATS, is_float, itemsize
from birthmark.samplers.integers import BOUNDED, RANGES


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """A draw of truth values.

    Attributes:
        p: the probability of true, 0 to 1.
        dtype: of the tensor: "bool", an integer or a float dtype.
    """

    p: float = 0.5
    dtype: str = "float32"

    def __post_init__(self) -> None:
        known = [name for name in (*RANGES, *FORMATS) if name not in BOUNDED]
        if self.dtype not in known:
            raise UnknownName("dtype of a bernoulli draw", self.dtype, known)
        if not 0 <= self.p <= 1:
            raise UsageError(f"a bernoulli draw of probability {self.p}: expected 0 to 1.")

    @property
    def source(self) -> Literal["uniform"]:
        """Truth values are made from uniforms in (0, 1]."""
        return "uniform"

    @property
    def unroll(self) -> int:
        """Values a call."""
        return 2 if self.dtype == "float64" else 4

    @property
    def width(self) -> int:
        """Bytes of a stored element."""
        return itemsize(self.dtype) if is_float(self.dtype) else RANGES[self.dtype][0]

    def finish(self, raw: NDArray[Any]) -> NDArray[np.bool_]:
        """The truth values of uniforms of any shape."""
        below: NDArray[np.bool_] = raw < raw.dtype.type(self.p)
        return below
