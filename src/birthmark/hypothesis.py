"""A hypothesis: everything but the seed, and random access to the values that it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Arithmetic = Literal["nvidia-volta+", "nvidia-pascal-", "amd"]


@dataclass(frozen=True, slots=True)
class Draw:
    """One random call during construction.

    Attributes:
        distribution: "normal" or "uniform".
        parameters: (mean, std) of a normal, (low, high) of a uniform, as the caller passed them.
        shape: extents of the tensor that the call fills, before any sharding.
        dtype: the dtype at draw time: "float32", "float16", "bfloat16" or "float64".
    """

    distribution: Literal["normal", "uniform"]
    parameters: tuple[float, float]
    shape: tuple[int, ...]
    dtype: str = "float32"
