"""Writing a safetensors file tensor by tensor and block by block, whole or not at all.

The header says where every tensor lies, so names, shapes and dtypes are settled first; the values then follow
in the order of the header, in as small pieces as memory asks for. The format's own library wants all values
at once. Source: huggingface/safetensors, README.md ("Format").
"""

from __future__ import annotations

import json
import math
import os
import secrets
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import OutputError, UnknownName, UsageError
from birthmark.numerics.dtypes import encode, is_float

#: The format's names of dtypes, and bytes of an element.
DTYPES: Final = {
    "float64": ("F64", 8), "float32": ("F32", 4), "float16": ("F16", 2), "bfloat16": ("BF16", 2),
    "int64": ("I64", 8), "int32": ("I32", 4), "int16": ("I16", 2), "int8": ("I8", 1), "uint8": ("U8", 1),
    "bool": ("BOOL", 1),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor to come: its name, extents and dtype by torch's name."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """How many it takes."""
        if self.dtype not in DTYPES:
            raise UnknownName("dtype of a safetensors file", self.dtype, DTYPES)
        return math.prod(self.shape) * DTYPES[self.dtype][1]


class SafetensorsWriter:
    """A file that is being written; use it in a `with` statement, and call `finish` at the end."""

    def __init__(self, path: str | Path, entries: Sequence[Entry], metadata: Mapping[str, str]) -> None:
        """Begin a file.

        Args:
            path: where it will appear.
            entries: the tensors, in the order in which their values will come.
            metadata: texts for the header.

        Raises:
            OutputError: it cannot be written there.
        """
        self._target = Path(path)
        if self._target.is_dir() or (self._target.exists() and not self._target.is_file()):
            raise OutputError(f"cannot write {path}: it is no ordinary file.", advice="Name another one.")
        self._partial = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}")
        self._left = sum(entry.bytes for entry in entries)
        header: dict[str, Any] = {"__metadata__": dict(metadata)}
        at = 0
        for entry in entries:
            code, _ = DTYPES[entry.dtype]
            header[entry.name] = {
                "dtype": code, "shape": list(entry.shape), "data_offsets": [at, at + entry.bytes]
            }  # fmt: skip
            at += entry.bytes
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        try:
            self._file: BinaryIO | None = self._partial.open("xb")
            self._write(struct.pack("<Q", len(text)) + text)
        except OSError as error:
            raise self._refused(error) from error

    def add(self, values: NDArray[Any], dtype: str) -> None:
        """The next values, decoded, as a dtype holds them.

        Raises:
            OutputError: they cannot be written.
            UsageError: they are more than the header has room for.
        """
        data = encode(values, dtype) if is_float(dtype) else np.ascontiguousarray(values)
        raw = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
        self._left -= len(raw)
        if self._left < 0:
            raise UsageError(f"{-self._left} bytes more than the file's header has room for.")
        try:
            self._write(raw)
        except OSError as error:
            raise self._refused(error) from error

    def finish(self) -> None:
        """Put the file in its place.

        Raises:
            UsageError: values are missing.
            OutputError: it cannot be put there.
        """
        if self._left:
            raise UsageError(f"{self._left} bytes that the file's header announces did not come.")
        assert self._file is not None
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            self._partial.replace(self._target)
        except OSError as error:
            raise self._refused(error) from error

    def __enter__(self) -> SafetensorsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        self._partial.unlink(missing_ok=True)

    def _write(self, raw: bytes) -> None:
        assert self._file is not None
        self._file.write(raw)

    def _refused(self, error: OSError) -> OutputError:
        return OutputError(
            f"cannot write {self._target}: {error.strerror or type(error).__name__}.",
            advice="Choose a folder that exists and can be written to.",
        )
