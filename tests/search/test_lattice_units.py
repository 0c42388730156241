"""Rows and columns on a CPU lattice, in tensors that were trained otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.search.lattice_units import HEAD, TOP, Heads, lattice_units, row_starts
from birthmark.survivors.survivor import Axis, Survivors

SHAPE = (90, 72)
BOUND = 1.0 / math.sqrt(72)


def found_in(values: NDArray[Any], nominals: tuple[float, ...] = ()) -> Survivors | None:
    """What is found in a matrix of float32 values."""
    matrix = values.astype(np.float32).astype(np.float64)
    starts = row_starts(matrix.shape)
    places = np.where(starts >= 0, starts, 0)[:, None] + np.arange(HEAD)
    heads = Heads(matrix.ravel()[places], starts, matrix[:TOP])

    def take(axis: Axis, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return matrix[ids] if axis == "row" else np.ascontiguousarray(matrix[:, ids].T)

    return lattice_units("w", matrix.shape, heads, take, nominals)


def drawn(distribution: Any, scale: float, shape: tuple[int, int] = SHAPE, **options: Any) -> NDArray[Any]:
    """A CPU draw."""
    parameters = (0.0, scale) if distribution == "normal" else (-scale, scale)
    size = math.prod(shape)
    return CpuDraw(distribution, parameters, size, 33, **options).values(5, np.arange(size)).reshape(shape)


def trained(values: NDArray[Any], axis: Axis, ids: list[int]) -> NDArray[Any]:
    """The same with all but some rows or columns moved a little."""
    moved = (values + 1e-3 * np.random.default_rng(1).normal(size=values.shape)).astype(np.float32)
    if axis == "row":
        moved[ids] = values[ids]
    else:
        moved[:, ids] = values[:, ids]
    return moved


@pytest.mark.parametrize("arithmetic", ["cpu-fused", "cpu-unfused"])
@pytest.mark.parametrize("axis", ["row", "column"])
def test_a_single_untouched_unit_of_a_default_layer_is_found(arithmetic: str, axis: Axis) -> None:
    """One row or column of a default linear layer, in either arithmetic."""
    found = found_in(trained(drawn("uniform", BOUND, arithmetic=arithmetic), axis, [41]))

    assert found is not None
    assert (found.axis, found.ids.tolist(), found.distribution) == (axis, [41], "uniform")
    assert found.scale == pytest.approx(BOUND, rel=1e-12)


@pytest.mark.parametrize("std", [1.0, 0.02])
def test_embeddings_that_never_occurred_are_found(std: float) -> None:
    """Rows of an embedding, which at a standard deviation of 1 no product of the scale could tell."""
    found = found_in(trained(drawn("normal", std), "row", [3, 4, 88]))

    assert found is not None
    assert (found.axis, found.ids.tolist(), found.scale) == ("row", [3, 4, 88], std)


def test_a_declared_scale_is_tried() -> None:
    """A scale that no rule gives is found where the model's files name it."""
    values = trained(drawn("normal", 0.0371), "row", [7])

    assert found_in(values) is None
    found = found_in(values, (0.0371,))
    assert found is not None
    assert found.ids.tolist() == [7]


def test_nothing_else_lies_on_the_lattice() -> None:
    """Trained values, GPU draws, NumPy's draws and constants have no such rows."""
    rng = np.random.default_rng(2)
    gpu = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 40_960).tensor(42).reshape(SHAPE)
    gpu_uniform = Hypothesis(Draw("uniform", (-BOUND, BOUND), SHAPE), 40_960).tensor(42).reshape(SHAPE)
    others = [
        trained(drawn("uniform", BOUND), "row", []),
        trained(drawn("normal", 0.02), "row", []),
        gpu,
        gpu_uniform,
        rng.normal(0.0, 0.02, SHAPE),
        rng.uniform(-BOUND, BOUND, SHAPE),
        np.full(SHAPE, 0.02),
        np.zeros(SHAPE),
    ]

    assert [found_in(values) for values in others] == [None] * len(others)


def test_narrow_tensors_are_left_alone() -> None:
    """With fewer than 40 values neither rows nor columns can tell."""
    assert found_in(drawn("uniform", 1.0 / math.sqrt(24), (24, 24))) is None


def test_blocks_of_rows_whose_width_is_no_multiple_of_sixteen() -> None:
    """The first whole block of a row starts at a multiple of 16 within it."""
    assert row_starts((3, 40)).tolist() == [0, 48, 80]
    assert row_starts((2, 20)).tolist() == [0, -1]


@pytest.mark.parametrize("width", [72, 75])
def test_dead_inputs_of_a_normal_layer_are_found_two_by_two(width: int) -> None:
    """Columns 8 apart share their words; a column whose partners were all trained cannot be told."""
    shape = (90, width)
    found = found_in(trained(drawn("normal", 0.02, shape), "column", [20, 28, 36, 50]))

    assert found is not None
    assert (found.axis, found.ids.tolist(), found.distribution) == ("column", [20, 28, 36], "normal")
