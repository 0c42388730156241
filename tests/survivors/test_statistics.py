"""The first pass over all units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from birthmark.checkpoints.interface import Checkpoint
from birthmark.survivors import units as units_module
from birthmark.survivors.statistics import measure
from birthmark.survivors.units import ColumnUnits, RowUnits


def test_statistics_are_those_of_numpy(in_memory: Callable[..., Checkpoint]) -> None:
    """Energy, mean, kurtosis and largest magnitude agree with their definitions."""
    values = np.random.default_rng(0).standard_normal((50, 33)).astype(np.float32)
    checkpoint = in_memory({"w": values})

    seen = measure(RowUnits(checkpoint, checkpoint.tensors["w"]))

    exact = values.astype(np.float64)
    np.testing.assert_allclose(seen.energy, (exact**2).mean(1), rtol=1e-5)
    np.testing.assert_allclose(seen.mean, exact.mean(1), atol=1e-6)
    np.testing.assert_allclose(seen.kurtosis, (exact**4).mean(1) / (exact**2).mean(1) ** 2, rtol=1e-5)
    np.testing.assert_array_equal(seen.largest, np.abs(values).max(1))
    np.testing.assert_allclose(seen.centre, exact.mean(0), atol=1e-7)


def test_parts_do_not_show(in_memory: Callable[..., Checkpoint], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers come out however few values are held in memory at a time."""
    values = np.random.default_rng(1).standard_normal((40, 16)).astype(np.float32)
    checkpoint = in_memory({"w": values})
    units = RowUnits(checkpoint, checkpoint.tensors["w"])
    whole = measure(units)

    monkeypatch.setattr(units_module, "CHUNK", 48)
    parts = measure(units)

    np.testing.assert_array_equal(parts.energy, whole.energy)
    np.testing.assert_allclose(parts.centre, whole.centre, rtol=1e-12)


def test_tiny_survivors_do_not_underflow(in_memory: Callable[..., Checkpoint]) -> None:
    """Rows decayed to 1e-23 keep their energy and shape beside rows of ordinary size."""
    values = np.random.default_rng(2).standard_normal((20, 64)).astype(np.float32)
    values[7] *= np.float32(1e-23)
    checkpoint = in_memory({"w": values}, "bfloat16")

    seen = measure(RowUnits(checkpoint, checkpoint.tensors["w"]))

    assert 0.3e-46 < seen.energy[7] < 3e-46
    assert 1.5 < seen.kurtosis[7] < 6.0


def test_rows_that_are_not_finite_stand_apart(in_memory: Callable[..., Checkpoint]) -> None:
    """NaN and infinity spoil their own row and nothing else."""
    values = np.ones((4, 8), dtype=np.float32)
    values[1, 3], values[2, 0] = np.nan, np.inf
    checkpoint = in_memory({"w": values})

    seen = measure(RowUnits(checkpoint, checkpoint.tensors["w"]))

    assert seen.finite.tolist() == [True, False, False, True]
    assert np.isnan(seen.energy[[1, 2]]).all()
    np.testing.assert_array_equal(seen.centre, np.ones(8))


def test_columns_are_the_rows_of_the_transpose() -> None:
    """Columns in memory are read as rows are."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    columns = ColumnUnits(values)

    np.testing.assert_array_equal(columns.take(np.array([2])), [[2, 6, 10]])
    np.testing.assert_array_equal(columns.read(0, 2), values.T[:2])
    assert (columns.count, columns.width) == (4, 3)
