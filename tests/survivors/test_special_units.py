"""Rows that hold no draw of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.survivors.special_units import special_units
from birthmark.survivors.statistics import measure
from birthmark.survivors.units import RowUnits


def special(checkpoint: Checkpoint) -> dict[str, list[int]]:
    """The special rows of the tensor w."""
    units = RowUnits(checkpoint, checkpoint.tensors["w"])
    return {kind: ids.tolist() for kind, ids in special_units(units, measure(units)).items()}


def test_every_kind_is_named_once(in_memory: Callable[..., Checkpoint]) -> None:
    """Zeros, constants, copies, means and values that are not finite are told apart."""
    random = np.random.default_rng(0)
    values = (random.standard_normal((2000, 32)) + 0.5).astype(np.float32)
    values[3] = 0.0
    values[4] = 0.25
    values[9, 1] = np.nan
    values[20] = values[10]
    values[50] = values[10]
    values[1990:] = np.nanmean(values[:1990], axis=0) * random.uniform(0.99, 1.01, (10, 32))

    assert special(in_memory({"w": values})) == {
        "not-finite": [9],
        "zero": [3],
        "constant": [4],
        "duplicate": [10, 20, 50],
        "mean-filled": list(range(1990, 2000)),
    }


def test_ordinary_rows_are_not_special(in_memory: Callable[..., Checkpoint]) -> None:
    """A fresh draw has no special row, in coarse dtypes as well."""
    values = np.random.default_rng(1).standard_normal((3000, 16)).astype(np.float32)

    assert special(in_memory({"w": values}, "bfloat16")) == {}
    assert special(in_memory({"w": values}, "float16")) == {}


def test_rows_alike_in_their_ends_are_no_copies(in_memory: Callable[..., Checkpoint]) -> None:
    """One differing value anywhere makes two rows different."""
    values = np.random.default_rng(2).standard_normal((8, 64)).astype(np.float32)
    values[5] = values[1]
    values[5, 13] = np.nextafter(values[5, 13], np.float32(9))

    assert special(in_memory({"w": values})) == {}


def test_tiny_survivors_are_not_mean_filled(in_memory: Callable[..., Checkpoint]) -> None:
    """A row far smaller than the mean lies no nearer to it than zero does."""
    random = np.random.default_rng(3)
    values = (random.standard_normal((100, 64)) + 1.0).astype(np.float32)
    values[7] = 1e-12 * random.standard_normal(64)

    assert special(in_memory({"w": values})) == {}
