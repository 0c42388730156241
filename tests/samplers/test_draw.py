"""Draws by themselves: sources, standard and stored values, bounds, and what cannot be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import BirthmarkError, UnknownName, UsageError
from birthmark.samplers.draw import Draw

SHAPE = (10, 10)


def test_sources() -> None:
    """Truncated normals are made from uniforms up to torch 2.11, and from normals since."""
    assert Draw("normal", (0.0, 1.0), SHAPE).source == "normal"
    assert Draw("uniform", (0.0, 1.0), SHAPE).source == "uniform"
    for version, source in (
        ("2.1+", "uniform"),
        ("2.1+cuda13", "uniform"),
        ("2.0-", "uniform"),
        ("2.12+", "normal"),
    ):
        assert Draw("truncated-normal", (0.0, 1.0, -2.0, 2.0), SHAPE, version=version).source == source


@pytest.mark.parametrize(
    ("std", "bound", "dtype", "redraws"),
    [
        (1.0, 2.0, "float32", True),
        (1.0, 6.7, "float32", True),
        (1.0, 6.8, "float32", False),
        (1.0, 6.8, "float64", True),
        (1.0, 8.7, "float64", False),
        (0.02, 2.0, "bfloat16", False),
    ],
)
def test_far_bounds_never_redraw(std: float, bound: float, dtype: str, redraws: bool) -> None:
    """From 2.12 on bounds beyond the largest normal that the generator makes have no effect."""
    draw = Draw("truncated-normal", (0.0, std, -bound, bound), SHAPE, dtype, "2.12+")
    assert draw.redraws is redraws
    older = Draw("truncated-normal", (0.0, std, -bound, bound), SHAPE, dtype)
    assert not older.redraws


def test_standard_and_stored_values_of_plain_draws() -> None:
    """Raw values of normals and uniforms are their standard values."""
    raw = np.array([[0.25, 1.0]], np.float32)
    assert Draw("uniform", (-1.0, 1.0), SHAPE).standard(raw) is raw
    assert Draw("normal", (1.0, 2.0), SHAPE).finish(raw).tolist() == [[1.5, 3.0]]
    truncated = Draw("truncated-normal", (1.0, 2.0, -1.0, 3.0), SHAPE)
    assert truncated.standard(raw).shape == truncated.finish(raw).shape == raw.shape
    assert truncated.finish(np.array([0.5], np.float32)).tolist() == [1.0]


def test_outside_compares_what_is_stored() -> None:
    """A value that rounds to the rounded bound lies within it."""
    draw = Draw("truncated-normal", (0.0, 1.0, -0.8, 0.8), SHAPE, "bfloat16", "2.12+")
    low, high = draw.limits
    assert (low, high) == (-0.80078125, 0.80078125)
    assert draw.outside(np.array([0.80078125, 0.8046875, -0.9], np.float32)).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"parameters": (0.0, 1.0)}, UsageError),
        ({"parameters": (0.0, 0.0, -2.0, 2.0)}, UsageError),
        ({"parameters": (0.0, -1.0, -2.0, 2.0)}, UsageError),
        ({"parameters": (0.0, 1.0, 2.0, -2.0)}, UsageError),
        ({"parameters": (0.0, 1.0, -2.0, float("inf"))}, UsageError),
        ({"parameters": (0.0, 1.0, -2.0, 1e39)}, UsageError),
        ({"version": "2.12"}, UnknownName),
        ({"version": "2.0-", "dtype": "bfloat16"}, UsageError),
        ({"version": "2.12+", "parameters": (0.0, 1.0, -0.3, 0.3)}, UsageError),
        ({"distribution": "normal"}, UsageError),
    ],
)
def test_impossible_truncated_draws_are_refused(change: dict[str, Any], error: type[BirthmarkError]) -> None:
    """What torch would refuse, does not do, or birthmark does not predict, is an error at once."""
    given = {
        "distribution": "truncated-normal",
        "parameters": (0.0, 1.0, -2.0, 2.0),
        "shape": SHAPE,
        **change,
    }
    with pytest.raises(error):
        Draw(**given)
