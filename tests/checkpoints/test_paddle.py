"""PaddlePaddle's variables."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import CheckpointError, MalformedFile

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4) / 7


def varint(value: int) -> bytes:
    """A number as protocol buffers write it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def variable(values: np.ndarray, kind: int = 5, shape: tuple[int, ...] | None = None) -> bytes:
    """A variable as Paddle writes it."""
    extents = values.shape if shape is None else shape
    described = b"\x08" + varint(kind) + b"".join(b"\x10" + varint(each) for each in extents)
    return bytes(16) + len(described).to_bytes(4, "little") + described + values.tobytes()


def test_a_single_variable_is_called_by_its_file(tmp_path: Path) -> None:
    """Shape, dtype and values of a table, whatever the name of its file."""
    (tmp_path / "word_emb").write_bytes(variable(VALUES))
    with open_checkpoint(tmp_path / "word_emb") as checkpoint:
        (info,) = checkpoint.tensors.values()
        assert (info.name, info.shape, info.dtype) == ("word_emb", (3, 4), "float32")
        assert np.array_equal(checkpoint.rows("word_emb", 0, 3), VALUES)


def test_several_variables_in_one_file(tmp_path: Path) -> None:
    """All parameters of a model, one after another, of several dtypes."""
    half = VALUES.astype(np.float16)
    (tmp_path / "params").write_bytes(variable(VALUES) + variable(half, 4) + variable(np.arange(5), 3))
    with open_checkpoint(tmp_path / "params") as checkpoint:
        dtypes = {name: info.dtype for name, info in checkpoint.tensors.items()}
        assert dtypes == {"params": "float32", "params#2": "float16", "params#3": "int64"}
        assert np.array_equal(checkpoint.rows("params#2", 0, 3), half)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(1, 90))
def test_a_cut_file_is_refused(tmp_path: Path, cut: int) -> None:
    """However much is missing, the answer is an error of one line."""
    data = variable(VALUES) + variable(VALUES)
    (tmp_path / "w").write_bytes(data[:-cut])
    if cut == len(data) // 2:
        return
    with pytest.raises(CheckpointError), open_checkpoint(tmp_path / "w"):
        pass


def test_a_description_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """Extents beyond all reason in a second variable are malformed."""
    (tmp_path / "w").write_bytes(variable(VALUES) + variable(VALUES, shape=(2**39, 2**39)))
    with pytest.raises(MalformedFile, match="cannot be"), open_checkpoint(tmp_path / "w"):
        pass


@pytest.mark.parametrize(
    "head", [bytes(64), bytes(16) + b"\x09\0\0\0" + bytes(40), b"\0" * 20 + b"\xff" * 40]
)
def test_zeros_are_no_variable(tmp_path: Path, head: bytes) -> None:
    """A file that only begins with zeros is of an unknown kind."""
    (tmp_path / "w").write_bytes(head)
    with pytest.raises(CheckpointError, match=r"unknown|no"), open_checkpoint(tmp_path / "w"):
        pass


def test_size_is_what_is_described() -> None:
    """The helper writes what the format says: header, description, elements."""
    assert len(variable(VALUES)) == 16 + 4 + 6 + 4 * math.prod(VALUES.shape)
