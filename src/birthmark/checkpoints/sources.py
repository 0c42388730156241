"""Where the bytes of a checkpoint lie: a file on disk, a part of one, or memory.

Readers of formats see only `ByteSource`: a size, a contiguous read, and a gather of equal-sized items. A file
is opened for each call and its identity checked, so nothing stays open between calls, and a file that
changes under the reader is noticed instead of mixing two versions. Gathers map the window that they touch,
so a large tensor costs the pages of its wanted rows only.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import CheckpointError, MalformedFile

Bytes = NDArray[np.uint8]

#: Most bytes that a gather copies from one mapped window; a window of this span may be touched freely.
GATHER_BYTES: Final = 32 * 2**20

#: Most items of a window that spans more: each may bring 64 KiB of pages into memory.
SPARSE_ITEMS: Final = 2048


class ByteSource(Protocol):
    """Bytes that can be read at any position.

    Attributes:
        name: how messages call the source.
        size: in bytes.
        bytes_read: bytes asked for so far.
    """

    name: str
    size: int
    bytes_read: int

    def read(self, start: int, stop: int) -> Bytes:
        """The bytes start <= i < stop as a new array; MalformedFile beyond the end."""
        ...

    def gather(self, base: int, width: int, positions: NDArray[np.int64]) -> Bytes:
        """Items of `width` bytes at base + width * position, as a new (len(positions), width) array."""
        ...


def check_range(source: ByteSource, start: int, stop: int) -> None:
    """Raise MalformedFile unless 0 <= start <= stop <= size."""
    if not 0 <= start <= stop <= source.size:
        raise MalformedFile(
            f"{source.name} ends at byte {source.size:,}, but bytes {start:,} to {stop:,} are needed."
        )


class FileBytes:
    """A regular file on disk.

    Args:
        path: the file.
        name: how messages call it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.bytes_read = 0
        try:
            status = path.stat()
        except OSError as error:
            raise CheckpointError(f"cannot read {name}: {error.strerror or error}.") from None
        # A pipe or a device would block or never end.
        if not stat.S_ISREG(status.st_mode):
            raise CheckpointError(f"{name} is not a regular file.")
        self.size = status.st_size
        self._identity = (status.st_size, status.st_mtime_ns)

    @contextmanager
    def _open(self) -> Iterator[FileIO]:
        try:
            with self.path.open("rb", buffering=0) as handle:
                status = os.fstat(handle.fileno())
                if (status.st_size, status.st_mtime_ns) != self._identity:
                    raise CheckpointError(f"{self.name} changed while it was being read; start again.")
                yield handle
        except OSError as error:
            raise CheckpointError(f"cannot read {self.name}: {error.strerror or error}.") from None

    def read(self, start: int, stop: int) -> Bytes:
        """The bytes start <= i < stop as a new array; MalformedFile beyond the end."""
        check_range(self, start, stop)
        data = np.empty(stop - start, np.uint8)
        target = data.data
        done = 0
        with self._open() as handle:
            handle.seek(start)
            while done < len(target):
                got = handle.readinto(target[done:])
                if not got:
                    raise CheckpointError(f"{self.name} became shorter while it was being read; start again.")
                done += got
        self.bytes_read += len(data)
        return data

    def gather(self, base: int, width: int, positions: NDArray[np.int64]) -> Bytes:
        """Items of `width` bytes at base + width * position, as a new (len(positions), width) array."""
        data = np.empty((len(positions), width), np.uint8)
        if data.size == 0:
            return data
        low, high = int(positions.min()), int(positions.max()) + 1
        check_range(self, base + width * low, base + width * high)
        with self._open() as handle:
            if width * (high - low) <= GATHER_BYTES:
                data[:] = _pick_mapped(handle, base, width, positions, low, high)
            else:
                # In ascending order every page is touched once, and windows are short.
                order = np.argsort(positions, kind="stable")
                done = 0
                for part in _windows(positions[order], width):
                    low, high = int(part[0]), int(part[-1]) + 1
                    data[order[done : done + len(part)]] = _pick_mapped(handle, base, width, part, low, high)
                    done += len(part)
        self.bytes_read += data.size
        return data


class MemoryBytes:
    """Bytes that some other source yields at the first use: inflated or decoded data.

    Args:
        name: how messages call it.
        size: in bytes, known beforehand.
        produce: gives exactly `size` bytes.
    """

    def __init__(self, name: str, size: int, produce: Callable[[], bytes | Bytes]) -> None:
        self.name = name
        self.size = size
        self.bytes_read = 0
        self._produce = produce
        self._data: Bytes | None = None

    def _all(self) -> Bytes:
        if self._data is None:
            produced = self._produce()
            data = np.frombuffer(produced, np.uint8) if isinstance(produced, bytes) else produced
            if len(data) != self.size:
                raise MalformedFile(f"{self.name} holds {len(data):,} bytes, expected {self.size:,}.")
            self._data = data
        return self._data

    def read(self, start: int, stop: int) -> Bytes:
        """The bytes start <= i < stop as a new array; MalformedFile beyond the end."""
        check_range(self, start, stop)
        self.bytes_read += stop - start
        return self._all()[start:stop].copy()

    def gather(self, base: int, width: int, positions: NDArray[np.int64]) -> Bytes:
        """Items of `width` bytes at base + width * position, as a new (len(positions), width) array."""
        if len(positions) == 0 or width == 0:
            return np.empty((len(positions), width), np.uint8)
        high = int(positions.max()) + 1
        check_range(self, base + width * int(positions.min()), base + width * high)
        self.bytes_read += width * len(positions)
        return _pick(self._all(), base, width, positions, high)


class Slice:
    """A part of another source, seen as a source of its own; reads are counted by the whole."""

    def __init__(self, whole: ByteSource, start: int, size: int, name: str) -> None:
        self.name = name
        self.size = size
        self.bytes_read = 0
        self._whole = whole
        self._start = start

    def read(self, start: int, stop: int) -> Bytes:
        """The bytes start <= i < stop as a new array; MalformedFile beyond the end."""
        check_range(self, start, stop)
        return self._whole.read(self._start + start, self._start + stop)

    def gather(self, base: int, width: int, positions: NDArray[np.int64]) -> Bytes:
        """Items of `width` bytes at base + width * position, as a new (len(positions), width) array."""
        if len(positions) and width:
            check_range(self, base + width * int(positions.min()), base + width * (int(positions.max()) + 1))
        return self._whole.gather(self._start + base, width, positions)


def _windows(ascending: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """Runs of positions, each to be served by one mapped window."""
    done = 0
    while done < len(ascending):
        near = int(np.searchsorted(ascending, int(ascending[done]) + GATHER_BYTES // width, side="right"))
        stop = max(near, min(done + SPARSE_ITEMS, done + 1 + GATHER_BYTES // width))
        yield ascending[done:stop]
        done = min(stop, len(ascending))


def _pick_mapped(
    handle: FileIO, base: int, width: int, positions: NDArray[np.int64], low: int, high: int
) -> Bytes:
    """Copy items, all of low <= position < high, out of a file through a mapped window."""
    start, stop = base + width * low, base + width * high
    aligned = start - start % mmap.ALLOCATIONGRANULARITY
    with mmap.mmap(handle.fileno(), stop - aligned, access=mmap.ACCESS_READ, offset=aligned) as window:
        return _pick(window, start - aligned, width, positions - low, high - low)


def _pick(
    buffer: mmap.mmap | Bytes, start: int, width: int, positions: NDArray[np.int64], count: int
) -> Bytes:
    """Copy items out of a buffer; the view of the buffer does not outlive this call."""
    if width in (1, 2, 4, 8):
        # One machine word an item; numpy copies unaligned words too.
        words = np.ndarray((count,), f"u{width}", buffer=buffer, offset=start)
        return words[positions].view(np.uint8).reshape(-1, width)
    items = np.ndarray((count, width), np.uint8, buffer=buffer, offset=start)
    return items[positions]
