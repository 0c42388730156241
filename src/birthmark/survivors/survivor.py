"""What a survey of a tensor yields: which rows or columns still hold initial values, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Axis = Literal["row", "column", "tensor"]
Distribution = Literal["normal", "uniform"]


@dataclass(frozen=True, slots=True, eq=False)
class Survivors:
    """Rows or columns of one tensor (or all of it) that may still hold their initial values.

    Attributes:
        tensor: the tensor's name.
        shape: its extents.
        dtype: its stored dtype.
        axis: what the ids count: rows or columns of the matrix view, or "tensor": ids are all rows.
        ids: int64, ascending.
        probability: float64 in [0, 1], one for each id: that it still holds its initial values
            (exactly, or scaled by one common factor).
        distribution: the shape of the values.
        scale: the standard deviation (normal) or the bound B of uniform(-B, B), as stored.
        scale_error: relative standard error of `scale`.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    axis: Axis
    ids: NDArray[np.int64]
    probability: NDArray[np.float64]
    distribution: Distribution
    scale: float
    scale_error: float

    def likely(self, threshold: float = 0.5) -> NDArray[np.int64]:
        """The ids whose probability is at least `threshold`."""
        return self.ids[self.probability >= threshold]


@dataclass(frozen=True, slots=True, eq=False)
class TensorSurvey:
    """What was seen in one tensor.

    Attributes:
        tensor: the tensor's name.
        shape: its extents.
        dtype: its stored dtype.
        survivors: None where nothing seems to have survived.
        special: ids of rows that hold no draw of their own, by kind: "zero", "constant", "duplicate",
            "mean-filled", "not-finite".
        reason: why there are no survivors, in words; None where there are.
        sampled: whether only a sample of the rows was looked at.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    survivors: Survivors | None
    special: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    reason: str | None = None
    sampled: bool = False
