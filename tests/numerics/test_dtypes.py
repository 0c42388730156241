"""Decoding, rounding, intervals and distances of every float dtype, against stock torch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from birthmark.errors import MalformedFile, UnknownName
from birthmark.numerics.dtypes import (
    FAR,
    FORMATS,
    decode,
    encode,
    interval,
    is_float,
    itemsize,
    round_to,
    ulps,
)

NARROW = ("bfloat16", "float16")
ALL_16 = np.arange(1 << 16, dtype=np.uint16)
SINGLES = arrays(np.uint32, 64, elements=st.integers(0, 2**32 - 1)).map(lambda a: a.view(np.float32))
DOUBLES = arrays(np.uint64, 64, elements=st.integers(0, 2**64 - 1)).map(lambda a: a.view(np.float64))
#: Doubles near the values of the narrow dtypes, where roundings happen.
MODERATE = arrays(np.float64, 64, elements=st.floats(-1e6, 1e6))


def same(a: NDArray[np.floating], b: NDArray[np.floating]) -> bool:
    """Equal bit for bit, all NaN alike."""
    width = {4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    return a.dtype == b.dtype and bool(np.all((a.view(width) == b.view(width)) | (np.isnan(a) & np.isnan(b))))


def every(dtype: str) -> NDArray[np.float32]:
    """All values of a 16-bit dtype."""
    return decode(ALL_16.astype("<u2"), dtype)


def finite(dtype: str) -> NDArray[np.float32]:
    """All finite values of a 16-bit dtype, ascending, with one zero."""
    return np.unique(every(dtype)[np.isfinite(every(dtype))] + np.float32(0))


@pytest.mark.parametrize("dtype", NARROW)
def test_every_16_bit_pattern_decodes_as_torch_does(dtype: str) -> None:
    """All 65,536 patterns mean what torch says they mean."""
    stored = torch.from_numpy(ALL_16.view(np.int16).copy()).view(getattr(torch, dtype))
    assert same(every(dtype), stored.float().numpy())


@settings(max_examples=50, deadline=None)
@given(SINGLES, DOUBLES)
def test_wide_dtypes_decode_to_themselves(single: NDArray[np.float32], double: NDArray[np.float64]) -> None:
    """Float32 and float64 bytes come back bit for bit."""
    assert same(decode(single.astype("<f4").tobytes(), "float32"), single)
    assert same(decode(double.astype("<f8").tobytes(), "float64"), double)


def test_decoded_arrays_are_fresh_and_keep_their_rows() -> None:
    """A result is writable, contiguous and has the bytes' shape but for the last axis."""
    raw = np.frombuffer(bytes(range(48)), np.uint8).reshape(2, 24)
    for dtype, columns in (("float16", 12), ("bfloat16", 12), ("float32", 6), ("float64", 3)):
        values = decode(raw, dtype)
        assert values.shape == (2, columns)
        assert values.flags.writeable
        assert values.flags.c_contiguous
    assert decode(b"", "float32").shape == (0,)
    assert decode(memoryview(b"\x80\x3f"), "bfloat16").tolist() == [1.0]


def test_unaligned_bytes_decode() -> None:
    """A slice that starts at an odd byte decodes like an aligned one."""
    raw = np.frombuffer(b"\0" + np.array([1.5, -2.25], np.float32).astype("<f4").tobytes(), np.uint8)[1:]
    assert decode(raw, "float32").tolist() == [1.5, -2.25]


@pytest.mark.parametrize("dtype", FORMATS)
def test_half_a_value_is_refused(dtype: str) -> None:
    """Bytes that end inside a value are malformed, in a flat buffer and in each row."""
    with pytest.raises(MalformedFile, match="whole number"):
        decode(bytes(itemsize(dtype) + 1), dtype)
    with pytest.raises(MalformedFile, match="whole number"):
        decode(np.zeros((itemsize(dtype), itemsize(dtype) + 1), np.uint8), dtype)


def test_names() -> None:
    """Float dtypes are known by torch's names, and others are refused with the nearest."""
    assert [itemsize(name) for name in ("float16", "bfloat16", "float32", "float64")] == [2, 2, 4, 8]
    assert is_float("bfloat16")
    assert not is_float("int32")
    with pytest.raises(UnknownName, match="bfloat16"):
        itemsize("bfloat61")


@pytest.mark.parametrize("dtype", NARROW)
@settings(max_examples=100, deadline=None)
@given(values=SINGLES | MODERATE.map(lambda a: a.astype(np.float32)))
def test_float32_rounds_as_torch_does(dtype: str, values: NDArray[np.float32]) -> None:
    """Rounding any float32 equals torch's cast, overflow and subnormals included."""
    assert same(
        round_to(values, dtype), torch.from_numpy(values.copy()).to(getattr(torch, dtype)).float().numpy()
    )


@pytest.mark.parametrize("dtype", NARROW)
def test_midpoints_round_to_even(dtype: str) -> None:
    """All midpoints between neighbours, and the doubles just beside them, round the right way."""
    values = finite(dtype)
    middle = (values[:-1].astype(np.float64) + values[1:]) / 2
    assert np.array_equal(round_to(np.nextafter(middle, -np.inf), dtype), values[:-1])
    assert np.array_equal(round_to(np.nextafter(middle, np.inf), dtype), values[1:])
    even = encode(values[:-1], dtype) % 2 == 0
    assert np.array_equal(round_to(middle, dtype), np.where(even, values[:-1], values[1:]))


def test_float64_is_not_rounded_twice() -> None:
    """A double just above a midpoint goes up, although float32 would have put it on the midpoint."""
    just_above = np.array([1 + 2**-8 + 2**-40], np.float64)
    assert round_to(just_above, "bfloat16").tolist() == [1 + 2**-7]
    assert round_to(just_above.astype(np.float32), "bfloat16").tolist() == [1.0]
    assert round_to(just_above, "float64") is not just_above


@pytest.mark.parametrize("dtype", NARROW)
def test_beyond_the_largest_is_infinity(dtype: str) -> None:
    """Half a step above the largest value is infinity, anything below it is the largest."""
    top = FORMATS[dtype].greatest
    _, limit = interval(np.array([top], np.float64), dtype)
    values = np.array(
        [top, np.nextafter(limit[0], 0), limit[0], -limit[0], np.inf, 1e300, -np.inf], np.float64
    )
    assert round_to(values, dtype).tolist() == [top, top, np.inf, -np.inf, np.inf, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [*NARROW, "float32"])
def test_interval_is_what_rounds_to_the_value(dtype: str) -> None:
    """Just inside both ends a real rounds to the value, just outside to its neighbour."""
    if dtype == "float32":
        random = np.random.default_rng(3).integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
        edges = np.array(
            [0.0, -0.0, 1.0, -2.0, 2**-126, 2**-149, -(2**-149), np.finfo(np.float32).max], np.float32
        )
        values = np.concatenate([random[np.isfinite(random)], edges])
    else:
        values = every(dtype)[np.isfinite(every(dtype))]
    lo, hi = interval(values, dtype)
    assert np.all(lo < hi)
    for end, inwards in ((lo, np.inf), (hi, -np.inf)):
        inside, outside = np.nextafter(end, inwards), np.nextafter(end, -inwards)
        assert np.array_equal(round_to(inside, dtype), values)
        assert not np.any(round_to(outside, dtype) == values)


def test_interval_of_special_values() -> None:
    """Infinity begins half a step above the largest value, NaN has no interval, float64 has neighbours."""
    lo, hi = interval(np.array([np.inf, -np.inf, np.nan], np.float32), "float16")
    assert (lo[0], hi[0], lo[1], hi[1]) == (65520.0, np.inf, -np.inf, -65520.0)
    assert np.isnan(lo[2])
    assert np.isnan(hi[2])
    lo, hi = interval(np.array([1.0], np.float64), "float64")
    assert (lo[0], hi[0]) == (np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0))


@pytest.mark.parametrize("dtype", NARROW)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_ulps_count_the_values_between(dtype: str, data: st.DataObject) -> None:
    """The distance of two values is how far apart they stand in the sorted list of all values."""
    values = finite(dtype)
    i, j = data.draw(st.tuples(*[st.integers(0, values.size - 1)] * 2))
    assert ulps(values[[i]], values[[j]], dtype).tolist() == [abs(i - j)]


def test_ulps_of_wide_dtypes() -> None:
    """Neighbours are one apart, zeros are equal, and nothing overflows or makes NaN near."""
    assert ulps(
        np.array([1.0, 0.0, -0.0], np.float32),
        np.array([np.nextafter(np.float32(1), 2), -0.0, 2**-149], np.float32),
        "float32",
    ).tolist() == [
        1,
        0,
        1,
    ]
    big = np.finfo(np.float64).max
    assert ulps(
        np.array([1.0, -big, np.nan], np.float64), np.array([1 - 2**-53, big, 0.0], np.float64), "float64"
    ).tolist() == [
        1,
        FAR,
        FAR,
    ]
    assert ulps(np.zeros((3, 1), np.float32), np.ones(2, np.float32), "bfloat16").shape == (3, 2)


@settings(max_examples=50, deadline=None)
@given(MODERATE)
def test_rounding_is_nearest_among_rationals(values: NDArray[np.float64]) -> None:
    """No bfloat16 beside the rounded one is nearer to the double, by exact arithmetic."""
    ladder = finite("bfloat16")
    for value, result in zip(values[:8], round_to(values[:8], "bfloat16"), strict=True):
        rung = int(np.searchsorted(ladder, result))
        own = abs(Fraction(float(result)) - Fraction(float(value)))
        assert ladder[rung] == result
        for other in ladder[[rung - 1, rung + 1]]:
            assert own <= abs(Fraction(float(other)) - Fraction(float(value)))
