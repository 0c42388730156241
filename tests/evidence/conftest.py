"""Cases made from predictions: what a search would hand over if it had found, or missed, the draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, FileInfo, TensorInfo, Values
from birthmark.devices.catalogue import table_threads
from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements, matrix_shape, units_of
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.survivors.split import held_out

Change = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[Any]]
MakeCase = Callable[..., Case]

SHAPE = (8192, 144)
H100 = 270336


def case_of(
    *,
    seed: int = 42,
    threads: int = H100,
    shape: tuple[int, ...] = SHAPE,
    scale: float = 0.02,
    distribution: str = "normal",
    drawn: str = "float32",
    stored: str = "bfloat16",
    arithmetic: str = "nvidia-volta+",
    rows: NDArray[np.int64] | None = None,
    change: Change | None = None,
    searched: dict[str, Any] | None = None,
    trials: int = 10**11,
    **hypothesis: Any,
) -> Case:
    """A case whose values are the predictions of one hypothesis, and whose candidate may be another.

    `change` is applied to the drawn values, with their row numbers, before they are stored. `searched`
    replaces fields of the hypothesis (or "seed") in the candidate.
    """
    parameters = (0.0, scale) if distribution == "normal" else (-scale, scale)
    truth = Hypothesis(Draw(distribution, parameters, shape, drawn), threads, arithmetic, **hypothesis)  # type: ignore[arg-type]
    height, width = matrix_shape(shape)
    if rows is None:
        rows = np.sort(np.random.default_rng(7).choice(height, 40, replace=False)).astype(np.int64)
    indices = (rows[:, None] * width + np.arange(width)).ravel()
    unit = units_of(indices, shape, "row")
    values: NDArray[Any] = truth.values(seed, indices).astype(np.float64)
    if change is not None:
        values = change(values, unit)
    elements = Elements(indices, round_to(values, stored).astype(np.float64), unit)
    hidden = np.repeat(held_out("embedding", rows), width)
    other = dict(searched or {})
    claimed = int(other.pop("seed", seed))
    spread = (
        float(elements.values.std()) if distribution == "normal" else float(np.abs(elements.values).max())
    )
    guess = (0.0, spread) if distribution == "normal" else (-spread, spread)
    # A search does not know the arithmetic, nor the draw's exact parameters.
    fields: dict[str, Any] = {
        "arithmetic": "nvidia-volta+",
        "draw": replace(truth.draw, parameters=guess),
        **other,
    }
    candidate = replace(truth, **fields)
    return Case(
        tensor="embedding",
        shape=shape,
        dtype=stored,
        axis="row",
        scale=spread,
        hypothesis=candidate,
        seed=claimed,
        selection=elements.keep(~hidden),
        holdout=elements.keep(hidden),
        trials=trials,
        holdout_trials=1,
        layouts=table_threads(),
    )


class MemoryCheckpoint(Checkpoint):
    """One tensor in memory behind the readers' interface."""

    def __init__(self, name: str, values: NDArray[Any], dtype: str) -> None:
        self.source = "memory"
        self.files = (FileInfo("memory", values.nbytes),)
        self.tensors = {name: TensorInfo(name, values.shape, dtype, "memory")}
        self.notes = ()
        self._values = round_to(values, dtype)

    def _matrix(self) -> Values:
        matrix: Values = self._values.reshape(matrix_shape(self._values.shape))
        return matrix

    def rows(self, name: str, start: int, stop: int) -> Values:
        return self.take(name, np.arange(start, stop))

    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        assert name in self.tensors
        taken: Values = self._matrix()[rows].copy()
        return taken

    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        assert name in self.tensors
        taken: Values = self._values.ravel()[indices]
        return taken

    @property
    def bytes_read(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing to release."""


@pytest.fixture(scope="session")
def in_memory() -> type[MemoryCheckpoint]:
    """A checkpoint of one tensor, in memory."""
    return MemoryCheckpoint


@pytest.fixture(scope="session")
def make_case() -> MakeCase:
    """Make a case; see `case_of`."""
    return case_of
