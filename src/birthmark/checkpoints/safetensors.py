"""Safetensors files: an 8-byte header length, a JSON header, and the tensors' bytes.

Everything the header says is checked before a byte of a tensor is read: its length before it is allocated,
keys, dtypes, shapes, sizes, and that the tensors cover the data exactly once.

Format: https://github.com/huggingface/safetensors, README, "Format".
"""

from __future__ import annotations

import math
from typing import Any, Final

from birthmark.checkpoints.dtypes import BITS, SAFETENSORS
from birthmark.checkpoints.interface import FileInfo, TensorInfo
from birthmark.checkpoints.sources import ByteSource
from birthmark.checkpoints.stored import StoredCheckpoint, StoredTensor
from birthmark.checkpoints.strict_json import parse_object, shown
from birthmark.errors import MalformedFile

#: Longest header read by default, in bytes: the limit of the reference implementation.
MAX_HEADER: Final = 100_000_000

#: Bytes of the header length.
PREFIX: Final = 8

METADATA: Final = "__metadata__"


def open_safetensors(source: ByteSource, *, max_header: int = MAX_HEADER) -> StoredCheckpoint:
    """Read the header of a safetensors file.

    Args:
        source: the file.
        max_header: the longest header to accept, in bytes.

    Returns:
        The tensors in the order of their bytes.

    Raises:
        MalformedFile: the file contradicts itself or the format; the message says where.
    """
    header, data_start = _read_header(source, max_header)
    what = f"the header of {source.name}"
    metadata = header.pop(METADATA, None)
    if metadata is not None and not isinstance(metadata, dict):
        raise MalformedFile(f"{METADATA} in {what} is not an object.")
    data_size = source.size - data_start
    entries = [_entry(name, entry, data_size, source.name) for name, entry in header.items()]
    entries.sort(key=lambda entry: (entry[1], entry[2], entry[0].name))
    _check_cover([(info.name, start, stop) for info, start, stop in entries], data_size, source.name)
    return StoredCheckpoint(
        source.name,
        [FileInfo(source.name, source.size)],
        [StoredTensor(info, source, data_start + start) for info, start, _ in entries],
        [source],
    )


def _read_header(source: ByteSource, max_header: int) -> tuple[dict[str, Any], int]:
    """The parsed header and the position at which the data start."""
    name = source.name
    if source.size < PREFIX:
        raise MalformedFile(
            f"{name} has {source.size} bytes: too short for the {PREFIX}-byte header length of safetensors."
        )
    length = int.from_bytes(source.read(0, PREFIX).tobytes(), "little")
    present = source.size - PREFIX
    if length > max_header:
        raise MalformedFile(
            f"the header of {name} is said to have {length:,} bytes; the limit is {max_header:,} "
            f"and the file has {source.size:,}."
        )
    if length > present:
        raise MalformedFile(
            f"{name} is cut short: its header is said to have {length:,} bytes, but {present:,} follow."
        )
    raw = source.read(PREFIX, PREFIX + length).tobytes()
    if not raw.startswith(b"{"):
        raise MalformedFile(f"the header of {name} does not begin with '{{': this is not a safetensors file.")
    return parse_object(raw, f"the header of {name}"), PREFIX + length


def _entry(name: str, entry: object, data_size: int, file: str) -> tuple[TensorInfo, int, int]:
    """One tensor of the header, checked by itself: (info, first byte, byte after the last one)."""
    where = f"the tensor {shown(name)} of {file}"
    if not name.isprintable():
        raise MalformedFile(f"{file} holds a tensor whose name has unprintable characters: {shown(name)}.")
    if not isinstance(entry, dict):
        raise MalformedFile(f"{where} is described by something that is not an object.")
    missing = [key for key in ("dtype", "shape", "data_offsets") if key not in entry]
    if missing:
        raise MalformedFile(f"{where} has no {missing[0]}.")
    tag, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(tag, str) or not tag.isprintable():
        raise MalformedFile(f"the dtype of {where} is not a name.")
    if not _naturals(shape):
        raise MalformedFile(f"the shape of {where} is not a list of non-negative integers.")
    if not _naturals(offsets) or len(offsets) != 2:
        raise MalformedFile(f"the data_offsets of {where} are not two non-negative integers.")
    start, stop = offsets
    if not start <= stop <= data_size:
        raise MalformedFile(
            f"the bytes {start:,} to {stop:,} of {where} are not inside the {data_size:,} bytes of data; "
            "is the file cut short?"
        )
    dtype = SAFETENSORS.get(tag, tag)
    if dtype in BITS:
        needed, rest = divmod(math.prod(shape) * BITS[dtype], 8)
        if rest or needed != stop - start:
            raise MalformedFile(
                f"{where} is {' x '.join(map(str, shape)) or 'a scalar'} {dtype}: it needs {needed:,} bytes, "
                f"its offsets give {stop - start:,}."
            )
    return TensorInfo(name, tuple(shape), dtype, file), start, stop


def _naturals(value: object) -> bool:
    """Whether a JSON value is a short list of integers that fit 63 bits."""
    return (
        isinstance(value, list)
        and len(value) <= 64
        and all(type(item) is int and 0 <= item < 2**63 for item in value)
    )


def _check_cover(spans: list[tuple[str, int, int]], data_size: int, file: str) -> None:
    """Every byte of the data belongs to exactly one tensor; the spans come sorted."""
    covered = 0
    last = ""
    for name, start, stop in spans:
        if start < covered:
            raise MalformedFile(
                f"the tensors {shown(last)} and {shown(name)} of {file} overlap: "
                f"one ends at byte {covered:,}, the other starts at {start:,}."
            )
        if start > covered:
            raise MalformedFile(f"the bytes {covered:,} to {start:,} of {file}'s data belong to no tensor.")
        covered = stop
        last = name
    if covered != data_size:
        raise MalformedFile(f"the last {data_size - covered:,} bytes of {file} belong to no tensor.")
