"""Reading rows and elements, and refusing what is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.checkpoints import stored as module
from birthmark.checkpoints.interface import FileInfo, TensorInfo
from birthmark.checkpoints.sources import FileBytes, MemoryBytes
from birthmark.checkpoints.stored import StoredCheckpoint, StoredTensor, joined
from birthmark.checkpoints.strided import span
from birthmark.errors import CheckpointError, UnknownName, UnsupportedFormat, UsageError

NUMBERS = np.arange(1000, dtype=np.float32)


def checkpoint_of(*infos: TensorInfo) -> StoredCheckpoint:
    source = MemoryBytes("numbers", NUMBERS.nbytes, NUMBERS.tobytes)
    files = [FileInfo(info.file, 1) for info in infos]
    return StoredCheckpoint("here", files, [StoredTensor(info, source, 8) for info in infos], [source])


MATRIX = TensorInfo("m", (4, 3, 2), "float32", "f")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_way_of_reading_gives_the_logical_values(data: Any) -> None:
    """Rows, taken rows and elements of any strided view are numpy's, whatever the chunk."""
    axes = data.draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 20)), min_size=1, max_size=4))
    shape, strides = tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes)
    expected = np.lib.stride_tricks.as_strided(NUMBERS[2:], shape, [4 * stride for stride in strides])
    assert span(shape, strides) < len(NUMBERS)
    info = TensorInfo("m", shape, "float32", "f", strides)
    rows, columns = info.matrix_shape
    matrix = expected.reshape(rows, columns)
    checkpoint = checkpoint_of(info)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", data.draw(st.integers(1, 9)))
        start = data.draw(st.integers(0, rows))
        stop = data.draw(st.integers(start, rows))
        assert np.array_equal(matrix[start:stop], checkpoint.rows("m", start, stop))
        ids = np.array(data.draw(st.lists(st.integers(0, rows - 1), max_size=6)), np.int64)
        assert np.array_equal(matrix[ids], checkpoint.take("m", ids))
        flat = np.array(data.draw(st.lists(st.integers(0, matrix.size - 1), max_size=30)), np.int64)
        assert np.array_equal(matrix.reshape(-1)[flat], checkpoint.elements("m", flat))


@pytest.mark.parametrize(
    ("shape", "matrix"),
    [((), (1, 1)), ((5,), (1, 5)), ((4, 3), (4, 3)), ((4, 3, 2), (4, 6)), ((0, 3), (0, 3)), ((3, 0), (3, 0))],
)
def test_a_tensor_is_a_matrix(shape: tuple[int, ...], matrix: tuple[int, int]) -> None:
    """The first dimension are the rows; a vector is one row, a scalar one element."""
    checkpoint = checkpoint_of(TensorInfo("m", shape, "float32", "f"))

    assert checkpoint.tensors["m"].matrix_shape == matrix
    assert checkpoint.rows("m", 0, matrix[0]).shape == matrix
    assert checkpoint.take("m", np.arange(matrix[0])).shape == matrix
    assert checkpoint.elements("m", np.empty(0, np.int64)).shape == (0,)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (0, 5), (3, 2)])
def test_rows_outside_are_refused(start: int, stop: int) -> None:
    """A range must lie inside the tensor."""
    with pytest.raises(UsageError, match="not inside the 4 rows of 'm'"):
        checkpoint_of(MATRIX).rows("m", start, stop)


@pytest.mark.parametrize("ids", [[4], [0, -1], [[0]], [0.5]])
def test_ids_outside_are_refused(ids: Any) -> None:
    """Negative numbers do not count from the end; fractions and tables are no ids."""
    with pytest.raises(UsageError):
        checkpoint_of(MATRIX).take("m", np.array(ids))
    with pytest.raises(UsageError):
        checkpoint_of(MATRIX).elements("m", np.array(ids) * 6)


def test_unknown_names_give_the_nearest() -> None:
    """A mistyped name is answered with the ones it may mean."""
    with pytest.raises(UnknownName, match=r"Nearest: model\.embed"):
        checkpoint_of(TensorInfo("model.embed", (2,), "float32", "f")).rows("model.embd", 0, 1)


def test_other_dtypes_are_refused() -> None:
    """Integers are listed and not read."""
    with pytest.raises(UnsupportedFormat, match="int64"):
        checkpoint_of(TensorInfo("m", (2,), "int64", "f")).rows("m", 0, 1)


def test_a_closed_checkpoint_is_not_read() -> None:
    """After the `with` statement the tensors are still listed, but give no values."""
    with checkpoint_of(MATRIX) as checkpoint:
        checkpoint.rows("m", 0, 1)
    assert list(checkpoint.tensors) == ["m"]
    with pytest.raises(UsageError, match="closed"):
        checkpoint.rows("m", 0, 1)


def test_files_are_sorted_and_joined_checkpoints_keep_everything() -> None:
    """Joining keeps tensors in order, files sorted by name, and counts all bytes."""
    first = checkpoint_of(TensorInfo("z", (2,), "float32", "2.safetensors"))
    second = checkpoint_of(TensorInfo("a", (2,), "float32", "1.safetensors"))

    both = joined("here", [first, second], notes=["note"])

    assert list(both.tensors) == ["z", "a"]
    assert [file.name for file in both.files] == ["1.safetensors", "2.safetensors"]
    assert both.notes == ("note",)
    both.rows("a", 0, 1)
    both.elements("z", np.array([1]))
    assert both.bytes_read == 12


def test_joined_checkpoints_must_not_share_names() -> None:
    """Two tensors of one name are refused with both files."""
    first = checkpoint_of(TensorInfo("a", (2,), "float32", "1.pt"))
    second = checkpoint_of(TensorInfo("a", (2,), "float32", "2.pt"))

    with pytest.raises(CheckpointError, match=r"'a' is in two files, '1\.pt' and '2\.pt'"):
        joined("here", [first, second])


def test_nothing_stays_open(tmp_path: Path) -> None:
    """No file is held open between calls."""
    path = tmp_path / "m"
    path.write_bytes(NUMBERS.tobytes())
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0
    source = FileBytes(path, "m")
    checkpoint = StoredCheckpoint("m", [], [StoredTensor(MATRIX, source, 0)], [source])
    checkpoint.rows("m", 0, 2)
    checkpoint.take("m", np.array([3, 1]))
    after = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0

    assert before == after
