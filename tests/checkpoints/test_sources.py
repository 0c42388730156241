"""Bytes in files, in memory, and in parts of either."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.checkpoints import sources
from birthmark.checkpoints.sources import ByteSource, FileBytes, MemoryBytes, Slice
from birthmark.errors import BirthmarkError, CheckpointError, MalformedFile

DATA = np.random.default_rng(7).bytes(100_000)


@pytest.fixture(params=["file", "memory", "slice of a file", "slice of memory"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> ByteSource:
    """The same bytes, kept in four ways."""
    path = tmp_path / "data"
    if request.param == "file":
        path.write_bytes(DATA)
        return FileBytes(path, "data")
    if request.param == "memory":
        return MemoryBytes("data", len(DATA), lambda: DATA)
    path.write_bytes(b"before" + DATA + b"behind")
    if request.param == "slice of a file":
        return Slice(FileBytes(path, "whole"), 6, len(DATA), "data")
    return Slice(MemoryBytes("whole", len(DATA) + 12, path.read_bytes), 6, len(DATA), "data")


def test_reads_are_the_bytes(source: ByteSource) -> None:
    """A read gives exactly the bytes between its ends, as an array of its own."""
    for start, stop in [(0, 0), (0, 10), (17, 4242), (len(DATA) - 3, len(DATA)), (0, len(DATA))]:
        assert source.read(start, stop).tobytes() == DATA[start:stop]
    source.read(0, 10)[:] = 0
    assert source.read(0, 10).tobytes() == DATA[:10]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 24, 1000])
@pytest.mark.parametrize("base", [0, 1, 5])
def test_gathers_are_the_items_in_the_order_asked(source: ByteSource, width: int, base: int) -> None:
    """Items come in the given order, repeated where asked, whatever their width and alignment."""
    count = (len(DATA) - base) // width
    places = np.random.default_rng(1).integers(0, count, 50)

    expected = [DATA[base + width * place : base + width * (place + 1)] for place in places]

    assert expected == [item.tobytes() for item in source.gather(base, width, places)]


@pytest.mark.parametrize(("start", "stop"), [(0, len(DATA) + 1), (-1, 3), (5, 4)])
def test_reads_beyond_the_ends_are_refused(source: ByteSource, start: int, stop: int) -> None:
    """No read leaves the source."""
    with pytest.raises(MalformedFile):
        source.read(start, stop)


@pytest.mark.parametrize("places", [[0, len(DATA) // 4], [-1, 2]])
def test_gathers_beyond_the_ends_are_refused(source: ByteSource, places: list[int]) -> None:
    """No gather leaves the source."""
    with pytest.raises(MalformedFile):
        source.gather(1, 4, np.array(places))


def test_nothing_gathered_is_an_empty_array(source: ByteSource) -> None:
    """No positions, or no width, give an empty result of the right shape."""
    assert source.gather(0, 4, np.empty(0, np.int64)).shape == (0, 4)
    assert source.gather(0, 0, np.array([1, 2])).shape == (2, 0)


@pytest.mark.parametrize(
    "make", [lambda path: FileBytes(path, "data"), lambda _: MemoryBytes("d", 9, lambda: b"x" * 9)]
)
def test_bytes_read_are_counted(make: Callable[[Path], ByteSource], tmp_path: Path) -> None:
    """The count is the sum of what reads and gathers asked for."""
    (tmp_path / "data").write_bytes(b"x" * 9)
    source = make(tmp_path / "data")
    source.read(2, 7)
    source.gather(1, 2, np.array([0, 3, 3]))

    assert source.bytes_read == 5 + 6


@pytest.fixture(scope="module")
def data_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bytes as a file that several examples share."""
    path = tmp_path_factory.mktemp("windows") / "data"
    path.write_bytes(DATA)
    return path


@settings(max_examples=60, deadline=None)
@given(
    places=st.lists(st.integers(0, 24_999), max_size=60),
    sparse=st.integers(1, 5),
    window=st.integers(4, 4000),
)
def test_windows_do_not_change_what_is_gathered(
    data_file: Path, places: list[int], sparse: int, window: int
) -> None:
    """Many small mapped windows give the same items as one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "GATHER_BYTES", window)
        patch.setattr(sources, "SPARSE_ITEMS", sparse)
        items = FileBytes(data_file, "data").gather(0, 4, np.array(places, np.int64))

    assert items.tobytes() == b"".join(DATA[4 * place : 4 * place + 4] for place in places)


def test_a_file_that_changes_under_the_reader_is_noticed(tmp_path: Path) -> None:
    """Bytes of two versions of a file are never mixed."""
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = FileBytes(path, "data")
    path.write_bytes(DATA[:100])

    with pytest.raises(CheckpointError, match="changed while it was being read"):
        source.read(0, 10)
    with pytest.raises(CheckpointError, match="changed while it was being read"):
        source.gather(0, 1, np.array([1]))


def test_a_file_that_vanishes_is_one_clear_error(tmp_path: Path) -> None:
    """A file removed after opening gives a line, not a traceback."""
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = FileBytes(path, "data")
    path.unlink()

    with pytest.raises(CheckpointError, match="cannot read data: No such file"):
        source.read(0, 10)


def test_files_that_are_no_files_are_refused(tmp_path: Path) -> None:
    """Missing files, folders and pipes are refused at once; a pipe would block for ever."""
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", ".", "pipe"):
        with pytest.raises(CheckpointError):
            FileBytes(tmp_path / name, name)


def test_a_file_that_may_not_be_read_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused permission is said in the system's words."""
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = FileBytes(path, "data")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BirthmarkError, match="Permission denied"):
        source.read(0, 10)


def test_memory_that_is_not_of_its_announced_size_is_refused() -> None:
    """What a producer yields must have the size that was announced."""
    with pytest.raises(MalformedFile, match="holds 3 bytes, expected 4"):
        MemoryBytes("it", 4, lambda: b"abc").read(0, 1)
