"""Checkpoints in memory, and embeddings as training leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from birthmark.checkpoints.interface import Checkpoint, FileInfo, TensorInfo
from birthmark.numerics.dtypes import itemsize, round_to

Array = NDArray[np.float32]
Make = Callable[..., Checkpoint]


class InMemory(Checkpoint):
    """Arrays as a checkpoint; it counts the bytes that are asked for."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], dtype: str | None = None) -> None:
        self.source = "memory"
        self.files = (FileInfo("memory", 0),)
        self.notes = ()
        self._arrays = {
            name: np.asarray(round_to(values, dtype) if dtype else values) for name, values in arrays.items()
        }
        self.tensors = {
            name: TensorInfo(name, values.shape, dtype or str(values.dtype), "memory")
            for name, values in self._arrays.items()
        }
        self._read = 0

    def rows(self, name: str, start: int, stop: int) -> Any:
        return self._counted(name, self._matrix(name)[start:stop].copy())

    def take(self, name: str, rows: NDArray[np.int64]) -> Any:
        return self._counted(name, self._matrix(name)[rows])

    def elements(self, name: str, indices: NDArray[np.int64]) -> Any:
        return self._counted(name, self._arrays[name].reshape(-1)[indices])

    def _matrix(self, name: str) -> NDArray[Any]:
        return self._arrays[name].reshape(self.tensors[name].matrix_shape)

    def _counted(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        self._read += values.size * itemsize(self.tensors[name].dtype)
        return values

    @property
    def bytes_read(self) -> int:
        return self._read

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Small matrices on one thread, as in a survey."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def in_memory() -> Make:
    """A checkpoint of the given arrays, stored in the given dtype."""
    return InMemory


@dataclass(frozen=True)
class Trained:
    """An embedding and an output head as training leaves them.

    Attributes:
        embedding: float32[rows, width].
        head: float32[rows, width]; rows of ids that never occurred lie around one common point.
        untouched: ids that never occurred, ascending.
    """

    embedding: Array
    head: Array
    untouched: NDArray[np.int64]


@pytest.fixture(scope="session")
def trained() -> Callable[..., Trained]:
    """Make an embedding in which a few rows were never touched and others only lightly."""

    def make(
        rows: int = 2000,
        width: int = 96,
        survivors: int = 40,
        *,
        std: float = 0.02,
        factor: float = 1.0,
        lightly: float = 0.02,
        seed: int = 0,
        uniform: bool = False,
    ) -> Trained:
        random = np.random.default_rng(seed)

        def initial() -> NDArray[np.float64]:
            if uniform:
                bound = std * float(np.sqrt(3.0))
                return random.uniform(-bound, bound, (rows, width))
            return random.standard_normal((rows, width)) * std

        def touch() -> NDArray[np.float64]:
            # Few directions hold most of the energy of what training adds.
            strength = 1.0 / np.sqrt(1.0 + np.arange(width))
            basis = np.linalg.qr(random.standard_normal((width, width)))[0]
            added = (random.standard_normal((rows, width)) * strength) @ basis.T
            return np.asarray(added * np.sqrt(width / (strength**2).sum()) * std)

        untouched = np.sort(random.choice(rows, survivors, replace=False))
        amount = random.uniform(0.6, 2.5, rows)
        light = random.random(rows) < lightly
        amount[light] = random.uniform(0.2, 0.6, int(light.sum()))
        amount[untouched] = 0.0
        moved = np.minimum(1.2 * amount, 2.0)
        push = random.standard_normal(width) * 6.0 * std
        head = initial() + push * np.clip(1.0 - amount, 0.0, 1.0)[:, None] + touch() * moved[:, None]
        embedding = factor * (initial() + touch() * amount[:, None])
        return Trained(embedding.astype(np.float32), head.astype(np.float32), untouched)

    return make
