"""The rounding of compiled loops answers to the rounding of arrays."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.dtypes import interval, round_to
from birthmark.numerics.rounding import constants, rounded


@numba.njit  # type: ignore[untyped-decorator]
def all_rounded(
    x: NDArray[np.float32], floor: np.uint64, lift: np.uint64, greatest: np.float64
) -> NDArray[np.float32]:
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = rounded(x[i], floor, lift, greatest)
    return out


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_equals_the_rounding_of_arrays(dtype: str) -> None:
    """Random patterns, midpoints, subnormals, infinities and NaN round alike, down to the sign of zero."""
    random = np.random.default_rng(8).integers(0, 2**32, 300_000, dtype=np.uint32).view(np.float32)
    ordinary = np.random.default_rng(9).normal(size=100_000).astype(np.float32)
    ends = interval(round_to(ordinary, dtype), dtype)[0].astype(np.float32)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 65519.0, 65520.0, 65536.0, 2**-149, -(2**-149), 2**-25],
        np.float32,
    )
    values = np.concatenate([random, ordinary, ends, special])
    found, expected = all_rounded(values, *constants(dtype)), round_to(values, dtype)
    agree = (found.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(found) & np.isnan(expected))
    assert agree.all(), values[~agree][:5]
