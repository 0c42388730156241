"""Arrays as bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import PackError
from birthmark.numerics.dtypes import round_to
from birthmark.packs.columns import pack_indices, pack_values, unpack_indices, unpack_values


@given(st.sets(st.integers(0, 500)))
def test_indices_come_back(chosen: set[int]) -> None:
    """Runs and scattered indices alike survive."""
    indices = np.array(sorted(chosen), np.int64)

    encoding, data = pack_indices(indices)

    assert np.array_equal(unpack_indices(data, encoding, indices.size, 501), indices)


def test_rows_are_short_as_runs() -> None:
    """A row of any length costs sixteen bytes, scattered elements eight each."""
    assert pack_indices(np.arange(1000, 9000))[0] == "runs"
    assert len(pack_indices(np.arange(1000, 9000))[1]) == 16
    assert pack_indices(np.arange(0, 100, 7))[0] == "list"


@pytest.mark.parametrize(
    ("rows", "encoding", "count"),
    [
        ([[0, 5]], "runs", 4),
        ([[0, -5], [9, 9]], "runs", 4),
        ([[0, 2**62], [9, 2**62]], "runs", 4),
        ([[5, 2], [0, 2]], "runs", 4),
        ([[0, 3], [2, 1]], "runs", 4),
        ([[98, 4]], "runs", 4),
        ([[-2, 4]], "runs", 4),
        ([3, 2], "list", 2),
        ([3, 3], "list", 2),
        ([3, 100], "list", 2),
        ([-1, 3], "list", 2),
        ([1, 2, 3], "list", 2),
        ([1], "list", 2**40),
        ([1], "list", -1),
    ],
)
def test_impossible_indices_are_refused(rows: list[object], encoding: str, count: int) -> None:
    """Overlaps, disorder, wrong counts and positions outside the tensor are refused, allocating little."""
    data = np.array(rows, "<i8").tobytes()

    with pytest.raises(PackError):
        unpack_indices(data, encoding, count, 100)  # type: ignore[arg-type]


def test_ragged_bytes_are_refused() -> None:
    """Bytes that are no whole number of entries are refused."""
    with pytest.raises(PackError):
        unpack_indices(b"123", "list", 1, 100)
    with pytest.raises(PackError):
        unpack_values(b"123", "bfloat16", 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_come_back_to_the_bit(dtype: str) -> None:
    """Stored bits survive, minus zero and subnormals among them."""
    rng = np.random.default_rng(0)
    values = round_to(np.concatenate([rng.normal(size=100), [0.0, -0.0, 1e-7, -6e-8]]), dtype).astype(
        np.float64
    )

    again = unpack_values(pack_values(values, dtype), dtype, values.size)

    assert np.array_equal(again, values)
    assert np.array_equal(np.signbit(again), np.signbit(values))


def test_values_that_are_not_finite_are_refused() -> None:
    """NaN in a pack is refused."""
    with pytest.raises(PackError):
        unpack_values(np.array([np.nan], "<f4").tobytes(), "float32", 1)
