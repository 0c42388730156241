"""Exponentials: the value at both ends, roundings by dtype, rules, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.exponential import Exponential

ENDS = np.array([1.0, 1 - 2.0**-24, 1 - 2.0**-23, 0.5, 2.0**-33], np.float32)


def test_uniforms_near_one_become_the_least_exponential() -> None:
    """From 1.10 on half an epsilon over the rate stands for 1 and the float below; before, that float did."""
    found = Exponential(2.0).finish(ENDS)
    assert found[0] == found[1] == 2.0**-25
    assert found[2] > found[1]
    assert found[3] == np.float32(0.5 * np.float32(np.log(2)))
    older = Exponential(2.0, version="1.9-").finish(ENDS)
    assert older[0] == older[1] > 0
    assert np.array_equal(older[2:], found[2:])


def test_double_ends() -> None:
    """The same in double precision, where the logarithm is the library's."""
    ends = np.array([1.0, 1 - 2.0**-53, 0.25])
    assert Exponential(1.0, "float64").finish(ends).tolist() == [2.0**-53, 2.0**-53, -np.log(0.25)]
    older = Exponential(1.0, "float64", "1.9-").finish(ends)
    assert older[0] == older[1] == -np.log(1 - 2.0**-53)


def test_narrow_dtypes_round_once() -> None:
    """16-bit values are float32 ones rounded, of the same words."""
    units = np.random.default_rng(1).random((40, 5)).astype(np.float32)
    wide = Exponential(0.7).finish(units)
    assert wide.shape == (40, 5)
    half = Exponential(0.7, "float16").finish(units)
    assert np.array_equal(half, wide.astype(np.float16).astype(np.float32))
    assert not np.array_equal(half, wide)


def test_values_are_close_to_the_formula() -> None:
    """Within the error of a rounded log2; another rate scales them."""
    units = np.random.default_rng(2).random(10_000).astype(np.float32)
    exact = -np.log(units.astype(np.float64)) / 3
    assert np.allclose(Exponential(3.0).finish(units), exact, rtol=2e-7)
    assert not np.allclose(Exponential(3.1).finish(units), exact, rtol=0.01)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"rate": 0.0}, UsageError),
        ({"rate": float("nan")}, UsageError),
        ({"rate": float("inf")}, UsageError),
        ({"dtype": "int32"}, UnknownName),
        ({"version": "2.1+"}, UnknownName),
    ],
)
def test_impossible_draws_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """A rate, dtype or rule that cannot be is an error at once."""
    with pytest.raises(error):
        Exponential(**change)
