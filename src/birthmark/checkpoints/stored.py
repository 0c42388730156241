"""A checkpoint whose tensors lie in byte sources: the one implementation behind every file format.

A format's reader only says where each tensor starts and how it is strided; reading rows and elements and
decoding them is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints import strided
from birthmark.checkpoints.interface import Checkpoint, FileInfo, TensorInfo, Values
from birthmark.checkpoints.sources import Bytes, ByteSource
from birthmark.checkpoints.strict_json import shown
from birthmark.errors import CheckpointError, UnknownName, UnsupportedFormat, UsageError
from birthmark.numerics.dtypes import decode, itemsize

#: Most elements whose storage positions are computed at a time.
CHUNK: Final = 2**21


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor and where its bytes lie.

    Attributes:
        info: what users see.
        source: the bytes.
        start: position of the first element in the source, in bytes.
    """

    info: TensorInfo
    source: ByteSource
    start: int


class StoredCheckpoint(Checkpoint):
    """Tensors in byte sources.

    Args:
        source: what the user named.
        files: the files that were read.
        tensors: in file order; names are distinct.
        sources: the byte sources, for the count of bytes read.
        notes: what the user should know.
        settings: seeds and scales that the files keep beside the tensors.
    """

    def __init__(
        self,
        source: str,
        files: Iterable[FileInfo],
        tensors: Iterable[StoredTensor],
        sources: Iterable[ByteSource],
        notes: Sequence[str] = (),
        settings: Mapping[str, int | float] | None = None,
    ) -> None:
        self.source = source
        self.files = tuple(sorted(files, key=lambda file: file.name))
        self.stored: Mapping[str, StoredTensor] = {tensor.info.name: tensor for tensor in tensors}
        self.tensors = MappingProxyType({name: tensor.info for name, tensor in self.stored.items()})
        self.sources = tuple(sources)
        self.notes = tuple(notes)
        self.settings = MappingProxyType(dict(settings or {}))
        self._closed = False

    @property
    def bytes_read(self) -> int:
        """Bytes of tensor data and headers that have been asked for so far."""
        return sum(source.bytes_read for source in self.sources)

    def close(self) -> None:
        """Release the files; reading afterwards is an error."""
        self._closed = True
        self.stored = {}

    def rows(self, name: str, start: int, stop: int) -> Values:
        """Rows start <= i < stop of a tensor's matrix view, decoded, as a new C-contiguous array.

        Raises:
            UsageError: the range is not inside the tensor, the name is unknown, or the checkpoint is closed.
            UnsupportedFormat: the stored dtype is not a float that birthmark decodes.
            CheckpointError: the file cannot be read any more.
        """
        tensor = self._float(name)
        rows, columns = tensor.info.matrix_shape
        if not 0 <= start <= stop <= rows:
            raise UsageError(f"rows {start} to {stop} are not inside the {rows:,} rows of {shown(name)}.")
        if tensor.info.strides is None:
            width = itemsize(tensor.info.dtype) * columns
            raw = tensor.source.read(tensor.start + width * start, tensor.start + width * stop)
        else:
            low, high = start * columns, stop * columns
            chunks = (np.arange(i, min(i + CHUNK, high), dtype=np.int64) for i in range(low, high, CHUNK))
            raw = _gather(tensor, high - low, chunks)
        return decode(raw, tensor.info.dtype).reshape(stop - start, columns)

    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        """The given rows of a tensor's matrix view, decoded, in the given order; errors as for `rows`."""
        tensor = self._float(name)
        count, columns = tensor.info.matrix_shape
        wanted = _checked(rows, count, "row", name)
        if tensor.info.strides is None:
            raw = tensor.source.gather(tensor.start, itemsize(tensor.info.dtype) * columns, wanted)
        else:
            step = max(1, CHUNK // max(columns, 1))
            starts = (wanted[i : i + step, None] * np.int64(columns) for i in range(0, len(wanted), step))
            chunks = ((start + np.arange(columns, dtype=np.int64)).reshape(-1) for start in starts)
            raw = _gather(tensor, len(wanted) * columns, chunks)
        return decode(raw.reshape(-1), tensor.info.dtype).reshape(len(wanted), columns)

    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        """The elements at the given C-order flat indices, decoded, in the given order; errors as for rows."""
        tensor = self._float(name)
        wanted = _checked(indices, tensor.info.size, "element", name)
        chunks = (wanted[i : i + CHUNK] for i in range(0, len(wanted), CHUNK))
        return decode(_gather(tensor, len(wanted), chunks), tensor.info.dtype)

    def _float(self, name: str) -> StoredTensor:
        if self._closed:
            raise UsageError(f"the checkpoint {self.source} is closed.")
        if name not in self.stored:
            raise UnknownName("tensor", name, self.stored)
        tensor = self.stored[name]
        if not tensor.info.is_float:
            raise UnsupportedFormat(
                f"the tensor {shown(name)} holds {tensor.info.dtype}, which is not decoded."
            )
        return tensor


def _gather(tensor: StoredTensor, count: int, chunks: Iterable[NDArray[np.int64]]) -> Bytes:
    """The raw bytes of `count` elements, one after another; their flat indices come in chunks."""
    info = tensor.info
    width = itemsize(info.dtype)
    raw = np.empty((count, width), np.uint8)
    done = 0
    for indices in chunks:
        place = indices if info.strides is None else strided.positions(indices, info.shape, info.strides)
        raw[done : done + len(place)] = tensor.source.gather(tensor.start, width, place)
        done += len(place)
    return raw.reshape(-1)


def _checked(ids: NDArray[np.int64], count: int, what: str, name: str) -> NDArray[np.int64]:
    """The ids as int64, all of them inside 0 <= id < count."""
    given = np.asarray(ids)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise UsageError(f"{what} numbers must be a vector of integers.")
    if given.size and (int(given.min()) < 0 or int(given.max()) >= count):
        worst = int(given.min()) if int(given.min()) < 0 else int(given.max())
        raise UsageError(f"{what} {worst} is not among the {count:,} of the tensor {shown(name)}.")
    return given.astype(np.int64, copy=False)


def joined(
    source: str, parts: Sequence[StoredCheckpoint], files: Iterable[FileInfo] = (), notes: Sequence[str] = ()
) -> StoredCheckpoint:
    """Several checkpoints as one, in the given order.

    Args:
        source: what the user named.
        parts: the checkpoints of the single files.
        files: further files that were read, such as an index.
        notes: come before the notes of the parts.

    Raises:
        CheckpointError: two parts hold a tensor of the same name.
    """
    tensors: dict[str, StoredTensor] = {}
    for part in parts:
        for name, tensor in part.stored.items():
            if name in tensors:
                first, second = tensors[name].info.file, tensor.info.file
                raise CheckpointError(
                    f"the tensor {shown(name)} is in two files, {shown(first)} and {shown(second)}.",
                    advice="Name the one file that you mean.",
                )
            tensors[name] = tensor
    return StoredCheckpoint(
        source,
        [*files, *(file for part in parts for file in part.files)],
        tensors.values(),
        [each for part in parts for each in part.sources],
        [*notes, *(note for part in parts for note in part.notes)],
        {way: value for part in parts for way, value in part.settings.items()},
    )
