"""Fixtures for checkpoints: bytes in memory, hand-made safetensors files, zip archives and pickles."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from birthmark.checkpoints.containers import CONTAINERS
from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.numpy_objects import ARRAYS
from birthmark.checkpoints.pickled import Flat
from birthmark.checkpoints.sources import MemoryBytes
from birthmark.checkpoints.unpickler import Unpickled, unpickle

InMemory = Callable[[bytes], MemoryBytes]
Header = Callable[..., bytes]
ZipFile = Callable[..., Path]
Unpickle = Callable[[bytes], Unpickled]


@pytest.fixture(scope="session")
def memory() -> InMemory:
    """Makes a byte source of bytes."""
    return lambda data: MemoryBytes("memory", len(data), lambda: data)


@pytest.fixture(scope="session")
def safetensors_bytes() -> Header:
    """Makes the bytes of a safetensors file from its header, as an object or raw, and its data."""

    def make(header: Mapping[str, Any] | bytes, data: bytes = b"", *, length: int | None = None) -> bytes:
        raw = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(raw) if length is None else length) + raw + data

    return make


@pytest.fixture
def torch_zip(tmp_path: Path) -> ZipFile:
    """Writes a zip archive like PyTorch's from a pickle and further members."""

    def write(
        pickle: bytes | None,
        members: Mapping[str, bytes] | None = None,
        *,
        compression: int = zipfile.ZIP_STORED,
    ) -> Path:
        path = tmp_path / "model.pt"
        with zipfile.ZipFile(path, "w", compression) as archive:
            if pickle is not None:
                archive.writestr("archive/data.pkl", pickle)
            for name, data in (members or {}).items():
                archive.writestr(name, data)
        return path

    return write


@pytest.fixture(scope="session")
def run(memory: InMemory) -> Unpickle:
    """Runs a pickle that may build containers and arrays."""
    return lambda data: unpickle(Cursor(memory(data)), {**CONTAINERS, **ARRAYS})


@pytest.fixture(scope="session")
def plain() -> Callable[[object], object]:
    """Turns what a pickle built back into Python's own containers."""

    def turn(value: object) -> object:
        if isinstance(value, Flat):
            pairs = zip(value[::2], value[1::2], strict=True)
            return {turn(key): turn(each) for key, each in pairs}
        if isinstance(value, list):
            return [turn(each) for each in value]
        if isinstance(value, tuple):
            return tuple(turn(each) for each in value)
        return value

    return turn
