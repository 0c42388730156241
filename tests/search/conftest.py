"""Selections whose seed and layout are known, made by the same rules that a GPU follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.recipes.sharding import Sharding
from birthmark.survivors.split import Selection


@dataclass(frozen=True)
class Planted:
    """How the values of a selection came about; the defaults are a small embedding of an H100."""

    seed: int = 777
    threads: int = 270_336
    shape: tuple[int, int] = (8192, 144)
    rows: Sequence[int] = field(default_factory=lambda: (20, 60, 100, *range(8160, 8190)))
    distribution: Any = "normal"
    stored: str = "bfloat16"
    ways: int = 1
    offset: int = 0
    #: Rows that training touched, and what is left of their correlation with the initial values.
    impostors: int = 0
    kept: float = 0.93
    #: Share of elements that were altered afterwards.
    altered: float = 0.0
    #: The survey's probability of every row.
    probability: float = 0.97
    arithmetic: Any = "nvidia-volta+"

    def hypothesis(self) -> Hypothesis:
        scale = 0.02
        parameters = (0.0, scale) if self.distribution == "normal" else (-scale, scale)
        dtype = "float64" if self.stored == "float64" else "float32"
        sharding = Sharding(self.ways, "single" if self.ways == 1 else "megatron")
        draw = Draw(self.distribution, parameters, self.shape, dtype)
        return Hypothesis(draw, self.threads, self.arithmetic, offset=self.offset, sharding=sharding)

    def indices(self) -> NDArray[np.int64]:
        rows, width = np.array(self.rows, np.int64), self.shape[1]
        return (rows[:, None] * width + np.arange(width)).ravel()

    def values(self) -> NDArray[np.float64]:
        chance = np.random.default_rng(5)
        indices = self.indices()
        values = np.asarray(self.hypothesis().values(self.seed, indices), np.float64)
        touched = chance.choice(len(self.rows), self.impostors, replace=False)
        where = np.isin(indices // self.shape[1], np.array(self.rows)[touched])
        noise = chance.normal(0, values.std(), len(values))
        values[where] = self.kept * values[where] + np.sqrt(1 - self.kept**2) * noise[where]
        spots = chance.random(len(values)) < self.altered
        values[spots] += noise[spots]
        return np.asarray(round_to(values, self.stored), np.float64)

    def selection(self, values: NDArray[np.float64] | None = None) -> Selection:
        indices = self.indices()
        stored = self.values() if values is None else values
        normal = self.distribution == "normal"
        scale = float(stored.std() if normal else np.abs(stored).max())
        error = 1 / np.sqrt(2 * len(stored)) if normal else 1 / len(stored)
        return Selection(
            tensor="embed.weight",
            shape=self.shape,
            dtype=self.stored,
            axis="row",
            distribution=self.distribution,
            scale=scale,
            scale_error=float(error),
            indices=indices,
            values=stored,
            unit=indices // self.shape[1],
            probability=np.full(len(indices), self.probability),
        )


@pytest.fixture(scope="session")
def planted() -> Callable[..., Planted]:
    """Makes `Planted` values; keyword arguments as in the class."""
    return Planted
