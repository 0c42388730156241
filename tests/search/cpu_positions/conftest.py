"""Draws of the CPU generator of which a few values are left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.dtypes import round_to
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.cpu_positions.conditions import Conditions, conditions_of


@dataclass(frozen=True)
class Left:
    """What is left of a draw; the defaults are twelve float32 uniforms at a known bound."""

    seed: int = 77_000_000
    index: int = 123_456
    distribution: Literal["normal", "uniform"] = "uniform"
    parameter: float = 0.03
    shape: tuple[int, ...] = (300, 400)
    places: Sequence[int] = tuple(range(0, 1200, 100))
    stored: str = "float32"
    scale: tuple[float, float] | None = None
    #: Whether all values are of one row.
    one_unit: bool = False
    trust: float = 1.0

    def indices(self) -> NDArray[np.int64]:
        return np.array(self.places, np.int64)

    def values(self) -> NDArray[np.float64]:
        low = 0.0 if self.distribution == "normal" else -self.parameter
        size = int(np.prod(self.shape))
        drawn = CpuDraw(self.distribution, (low, self.parameter), size, self.index).values(
            self.seed, self.indices()
        )
        return np.asarray(round_to(drawn, self.stored), np.float64)

    def conditions(self, values: NDArray[np.float64] | None = None) -> Conditions:
        indices = self.indices()
        return conditions_of(
            self.values() if values is None else values,
            indices,
            self.shape,
            self.distribution,
            self.scale or (self.parameter, self.parameter),
            dtype=self.stored,
            unit=np.zeros(len(indices), np.int64) if self.one_unit else None,
            trust=np.full(len(indices), self.trust),
        )


@pytest.fixture(scope="session")
def left() -> Callable[..., Any]:
    """Makes `Left` draws; keyword arguments as in the class."""
    return Left
