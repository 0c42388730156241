"""Integers from words: PyTorch's own transformations, which CPU and GPU share, then rules and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.integers import RANGES, Integers

COUNT = 4000
FULL = -(1 << 63)


def words(joined: bool) -> NDArray[Any]:
    """The words that torch's CPU generator with seed 42 gives out, one by one or joined in pairs."""
    drawn = np.random.RandomState(42).randint(0, 2**32, 2 * COUNT, dtype=np.uint32)
    if not joined:
        return drawn[:COUNT]
    return (drawn[::2].astype(np.uint64) << np.uint64(32)) | drawn[1::2]


def by_torch(dtype: str, low: int | None, high: int | None) -> NDArray[Any]:
    tensor = torch.empty(COUNT, dtype=getattr(torch, dtype))
    generator = torch.Generator().manual_seed(42)
    if low is None:
        tensor.random_(generator=generator)
    else:
        tensor.random_(low, high, generator=generator)
    wide = {"float16": torch.float32, "bfloat16": torch.float32}.get(dtype)
    if dtype in ("uint16", "uint32", "uint64"):
        wide = torch.int64
    found: NDArray[Any] = (tensor.to(wide) if wide else tensor).numpy()
    return found


BOUNDS: list[tuple[str, int | None, int | None]] = [
    ("int64", 0, 1000),
    ("int64", -7, 2**28 - 7),
    ("int64", -7, 2**28 - 8),
    ("int64", FULL, 2**63 - 1),
    ("int64", FULL, None),
    ("int64", 5, None),
    ("int32", -(2**31), 2**31 - 1),
    ("int32", 100, None),
    ("int16", -(2**15), 2**15),
    ("uint8", 3, None),
    ("int8", -128, 128),
    ("bool", 0, 2),
    ("uint16", 0, 2**16),
    ("uint32", 0, 2**32),
    ("uint64", 0, 2**62),
    ("float16", -3000, 3001),
    ("float16", 2049, 2053),
    ("float16", 0, 65504),
    ("float16", -65504, 65504),
    ("float16", 7, None),
    ("bfloat16", 0, 300),
    ("bfloat16", -1000, 999),
    ("bfloat16", FULL, None),
    ("float32", 2**24 + 1, 2**24 + 9),
    ("float32", 0, 2**40 + 1),
    ("float32", -3, None),
    ("float32", FULL, None),
    ("float64", 0, 2**60 + 1),
    ("float64", 2**53 + 1, 2**53 + 9),
    ("float64", FULL, None),
    *((dtype, None, None) for dtype in RANGES if not dtype.startswith("uint") or dtype == "uint8"),
    *((dtype, None, None) for dtype in ("float16", "bfloat16", "float32", "float64")),
]


@pytest.mark.filterwarnings("ignore:.*out of bounds:UserWarning")
@pytest.mark.parametrize(("dtype", "low", "high"), BOUNDS)
def test_values_of_words_are_torchs(dtype: str, low: int | None, high: int | None) -> None:
    """The words of torch's CPU generator become what it stores: range, path, moved bounds, rounding."""
    sampler = Integers(low, high, dtype)
    expected = by_torch(dtype, low, high)
    found = sampler.finish(words(sampler.unroll == 2))
    assert np.array_equal(found.astype(np.float64), expected.astype(np.float64))
    if found.dtype.kind == "i":
        assert np.array_equal(found, expected.astype(np.int64))
    twin = Integers(low, high, dtype).finish(words(sampler.unroll == 2)[::-1])
    assert not np.array_equal(twin, found)


def test_the_path_changes_at_the_release_s_range() -> None:
    """From 2.7 on 2^28 values take two words each, in every dtype; before, 2^32 in four dtypes."""
    for dtype in ("int64", "int32", "float64"):
        assert Integers(0, 2**28 - 1, dtype).unroll == 4
        assert Integers(0, 2**28, dtype).unroll == 2
        assert Integers(0, 2**28, dtype, "2.6-").unroll == 4
    assert Integers(0, 2**28, "float32").unroll == 4  # whose upper bound has moved inward
    assert Integers(0, 2**32 - 1, "int64", "2.6-").unroll == 4
    assert Integers(0, 2**32, "int64", "2.6-").unroll == 2
    assert Integers(0, 2**40, "float32", "2.6-").unroll == 2
    assert Integers(0, 2**32, "uint64", "2.6-").unroll == 4
    assert Integers(FULL, None, "int64", "2.6-").unroll == 2


def test_rules_differ_only_in_the_range_between() -> None:
    """A small range takes the same values by either rule, a large one others."""
    small, large = words(False), words(True)
    assert np.array_equal(Integers(0, 9).finish(small), Integers(0, 9, version="2.6-").finish(small))
    newer, older = Integers(0, 2**30), Integers(0, 2**30, version="2.6-")
    assert not np.array_equal(newer.finish(large), older.finish(small))


def test_widths_are_the_dtypes() -> None:
    """Bytes of an element, for the split of huge tensors."""
    assert [Integers(dtype=dtype).width for dtype in ("bool", "int16", "int32", "int64")] == [1, 2, 4, 8]
    assert [Integers(dtype=dtype).width for dtype in ("bfloat16", "float32", "float64")] == [2, 4, 8]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"dtype": "int128"}, UnknownName),
        ({"version": "2.7"}, UnknownName),
        ({"high": 5}, UsageError),
        ({"low": 5, "high": 5}, UsageError),
        ({"low": 0, "high": 257, "dtype": "uint8"}, UsageError),
        ({"low": -1, "high": 2, "dtype": "bool"}, UsageError),
        ({"low": FULL, "dtype": "int32"}, UsageError),
        ({"low": FULL, "dtype": "float16"}, UsageError),
        ({"low": 0, "high": 70_000, "dtype": "float16"}, UsageError),
        ({"dtype": "uint32"}, UsageError),
        ({"low": 2**64}, UsageError),
    ],
)
def test_impossible_draws_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """What torch would refuse, or birthmark does not know, is an error at once."""
    with pytest.raises(error):
        Integers(**change)
