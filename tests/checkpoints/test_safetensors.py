"""Safetensors files: against the reference implementation, and every way a header can lie."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from birthmark.checkpoints.safetensors import open_safetensors
from birthmark.checkpoints.sources import FileBytes, MemoryBytes
from birthmark.errors import BirthmarkError, MalformedFile, UnsupportedFormat

F32 = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool]


def opened(data: bytes, **options: int) -> Any:
    return open_safetensors(MemoryBytes("it", len(data), lambda: data), **options)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text("abc.", min_size=1, max_size=5),
        st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 4), max_size=3)),
        max_size=5,
    ),
    st.integers(0, 2**31),
)
def test_files_of_the_reference_implementation_are_read_exactly(
    layout: dict[str, tuple[torch.dtype, list[int]]], seed: int
) -> None:
    """Names, shapes, dtypes and every value are those that were saved."""
    torch.manual_seed(seed)
    tensors = {name: (torch.randn(shape) * 9).to(dtype) for name, (dtype, shape) in layout.items()}

    checkpoint = opened(save(tensors))

    assert set(checkpoint.tensors) == set(tensors)
    for name, tensor in tensors.items():
        info = checkpoint.tensors[name]
        assert info.shape == tuple(tensor.shape)
        assert f"torch.{info.dtype}" == str(tensor.dtype)
        assert info.strides is None
        if tensor.dtype.is_floating_point:
            expected = (tensor if tensor.dtype == torch.float64 else tensor.float()).numpy()
            rows = checkpoint.rows(name, 0, info.matrix_shape[0])
            assert np.array_equal(expected.reshape(info.matrix_shape), rows)
            assert rows.dtype == expected.dtype


def test_tensors_come_in_the_order_of_their_bytes(safetensors_bytes: Any) -> None:
    """The order is that of the data, not of the JSON."""
    header = {
        "late": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        "early": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
    }

    checkpoint = opened(safetensors_bytes(header, struct.pack("<2f", 1.0, 2.0)))

    assert list(checkpoint.tensors) == ["early", "late"]
    assert checkpoint.rows("late", 0, 1).tolist() == [[2.0]]


@pytest.mark.parametrize("metadata", [{}, {"format": "pt"}, None])
def test_metadata_may_be_empty_present_or_null(safetensors_bytes: Any, metadata: object) -> None:
    """An empty __metadata__ is no fault."""
    assert list(opened(safetensors_bytes({"__metadata__": metadata, "a": F32}, bytes(24))).tensors) == ["a"]


def test_metadata_may_be_absent_and_the_header_padded(safetensors_bytes: Any) -> None:
    """Spaces behind the JSON belong to the header."""
    data = safetensors_bytes(json.dumps({"a": F32}).encode() + b"   ", bytes(24))

    assert list(opened(data).tensors) == ["a"]


def test_a_file_without_tensors_is_sound(safetensors_bytes: Any) -> None:
    """No tensors, no data: nothing to complain about."""
    assert dict(opened(safetensors_bytes({})).tensors) == {}


def test_dtypes_that_are_not_decoded_are_listed_and_sized(safetensors_bytes: Any) -> None:
    """fp8, packed and unknown dtypes are listed, but give no values."""
    header = {
        "eight": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]},
        "four": {"dtype": "F4", "shape": [4], "data_offsets": [4, 6]},
        "new": {"dtype": "Q9", "shape": [3], "data_offsets": [6, 11]},
        "ints": {"dtype": "I32", "shape": [2], "data_offsets": [11, 19]},
    }

    checkpoint = opened(safetensors_bytes(header, bytes(19)))

    assert [info.dtype for info in checkpoint.tensors.values()] == [
        "float8_e4m3fn",
        "float4_e2m1fn",
        "Q9",
        "int32",
    ]
    with pytest.raises(UnsupportedFormat, match="int32"):
        checkpoint.rows("ints", 0, 1)
    with pytest.raises(UnsupportedFormat, match="Q9"):
        checkpoint.elements("new", np.array([0]))


def changed(**parts: object) -> dict[str, object]:
    return {"a": {**F32, **parts}}


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (changed(data_offsets=[0, 20]), "2 x 3 float32: it needs 24 bytes, its offsets give 20"),
        (changed(shape=[2, 2]), "needs 16 bytes"),
        (changed(dtype="F64"), "needs 48 bytes"),
        (changed(dtype="F4", shape=[3]), "needs 1 bytes"),
        (changed(data_offsets=[0, 25]), "not inside the 24 bytes"),
        (changed(data_offsets=[24, 0]), "not inside"),
        (changed(data_offsets=[-24, 0]), "two non-negative integers"),
        (changed(data_offsets=[0, 24, 24]), "two non-negative integers"),
        (changed(data_offsets=[0.0, 24.0]), "two non-negative integers"),
        (changed(data_offsets="0:24"), "two non-negative integers"),
        (changed(data_offsets=[0, 2**64]), "two non-negative integers"),
        (changed(shape=[2, -3]), "list of non-negative integers"),
        (changed(shape=[2, True]), "list of non-negative integers"),
        (changed(shape=[2, "3"]), "list of non-negative integers"),
        (changed(shape=6), "list of non-negative integers"),
        (changed(shape=[1] * 65), "list of non-negative integers"),
        (changed(dtype=7), "not a name"),
        (changed(dtype=None), "not a name"),
        ({"a": {"dtype": "F32", "shape": [2, 3]}}, "has no data_offsets"),
        ({"a": {"shape": [2, 3], "data_offsets": [0, 24]}}, "has no dtype"),
        ({"a": [1, 2]}, "not an object"),
        ({"a\n\x1b[31m": F32}, "unprintable"),
        ({"__metadata__": [1], "a": F32}, "__metadata__"),
        ({}, "the last 24 bytes"),
    ],
)
def test_a_header_that_lies_is_refused_with_what_it_says(
    safetensors_bytes: Any, header: dict[str, object], reason: str
) -> None:
    """Sizes, offsets, shapes and dtypes are checked before anything is read."""
    with pytest.raises(MalformedFile, match=reason):
        opened(safetensors_bytes(header, bytes(24)))


def span(start: int, stop: int) -> dict[str, object]:
    return {"dtype": "U8", "shape": [stop - start], "data_offsets": [start, stop]}


def test_overlaps_name_both_tensors(safetensors_bytes: Any) -> None:
    """Two tensors that share bytes are both named."""
    with pytest.raises(MalformedFile, match="'left' and 'right' of it overlap"):
        opened(safetensors_bytes({"right": span(6, 10), "left": span(0, 8)}, bytes(10)))


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"a": span(0, 4), "b": span(6, 10)}, "bytes 4 to 6"),
        ({"a": span(2, 10)}, "bytes 0 to 2"),
        ({"a": span(0, 8)}, "the last 2 bytes"),
    ],
)
def test_bytes_that_belong_to_no_tensor_are_refused(
    safetensors_bytes: Any, header: dict[str, object], reason: str
) -> None:
    """Holes before, between and behind tensors are named."""
    with pytest.raises(MalformedFile, match=reason):
        opened(safetensors_bytes(header, bytes(10)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "has 0 bytes: too short"),
        (b"\x02\x00\x00", "has 3 bytes: too short"),
        (struct.pack("<Q", 2**60) + b"{}", "1,152,921,504,606,846,976 bytes; the limit is 100,000,000"),
        (struct.pack("<Q", 512) + b"{}", "cut short: its header is said to have 512 bytes, but 2 follow"),
        (struct.pack("<Q", 2) + b"[]", "does not begin with"),
        (struct.pack("<Q", 0), "does not begin with"),
    ],
)
def test_a_file_without_a_header_is_refused(data: bytes, reason: str) -> None:
    """The announced length is checked against the limit and the file before it is read."""
    with pytest.raises(MalformedFile, match=reason):
        opened(data)


def test_the_longest_header_can_be_set(safetensors_bytes: Any) -> None:
    """A header exactly at the limit is read, one byte more is not."""
    data = safetensors_bytes({"a": F32}, bytes(24))
    length = int.from_bytes(data[:8], "little")

    assert list(opened(data, max_header=length).tensors) == ["a"]
    with pytest.raises(MalformedFile, match=f"the limit is {length - 1}"):
        opened(data, max_header=length - 1)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files_give_a_clear_error_or_a_reading(data: Any) -> None:
    """Flipped, removed or added bytes never give another exception."""
    whole = bytearray(
        save({"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(4, dtype=torch.bfloat16)}, {"k": "v"})
    )
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if action == "flip":
            whole[place] = data.draw(st.integers(0, 255))
        elif action == "cut":
            del whole[place : place + data.draw(st.integers(1, 40))]
        else:
            whole[place:place] = data.draw(st.binary(min_size=1, max_size=8))
        if not whole:
            break

    def message() -> str:
        try:
            checkpoint = opened(bytes(whole))
            for name, info in checkpoint.tensors.items():
                if info.is_float:
                    assert checkpoint.rows(name, 0, info.matrix_shape[0]).size == info.size
        except BirthmarkError as error:
            return str(error)
        return "a reading"

    assert "\n" not in message()


def test_only_the_asked_rows_are_read(tmp_path: Path, safetensors_bytes: Any) -> None:
    """Rows of a 4 GiB tensor cost their own bytes and the header's."""
    rows, columns = 2**16, 2**15
    header = {"a": {"dtype": "BF16", "shape": [rows, columns], "data_offsets": [0, 2 * rows * columns]}}
    start = safetensors_bytes(header)
    path = tmp_path / "model.safetensors"
    with path.open("wb") as handle:
        # A sparse file: no disk is used for the zeros.
        handle.write(start)
        handle.truncate(len(start) + 2 * rows * columns)

    checkpoint = open_safetensors(FileBytes(path, path.name))
    assert checkpoint.bytes_read == len(start)
    assert checkpoint.rows("a", rows - 2, rows).shape == (2, columns)
    assert checkpoint.take("a", np.array([rows - 1, 0])).shape == (2, columns)
    assert checkpoint.elements("a", np.array([rows * columns - 1, 5])).tolist() == [0.0, 0.0]
    assert checkpoint.bytes_read == len(start) + 2 * (4 * columns) + 4
