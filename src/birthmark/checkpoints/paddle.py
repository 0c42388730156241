"""PaddlePaddle's variables: one tensor a file, or several one after another in a file of all parameters.

Each is a version (4 bytes, 0), the number of levels of detail (8 bytes) with their tables, a version again
(4 bytes, 0), the size of a description (4 bytes), the description (a protocol buffer of dtype and extents)
and the elements. Names are not in it: a single one is called by its file.

Source: Paddle, `paddle/fluid/framework/lod_tensor.cc` (SerializeToStream), `tensor_util.cc` (TensorToStream),
`framework.proto` (VarType.TensorDesc), 1.6 to 2.6.
"""

from __future__ import annotations

import math
from typing import Final

from birthmark.checkpoints.dtypes import BITS
from birthmark.checkpoints.interface import FileInfo, TensorInfo
from birthmark.checkpoints.sources import ByteSource
from birthmark.checkpoints.stored import StoredCheckpoint, StoredTensor
from birthmark.errors import MalformedFile, UnsupportedFormat

#: VarType.Type numbers of the dtypes that tensors have.
DTYPES: Final = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 20: "uint8",
    21: "int8", 22: "bfloat16",
}  # fmt: skip
#: Levels of detail, dimensions and tensors of a file, at most, and bytes of a description.
MOST_LEVELS: Final = 8
MOST_DIMENSIONS: Final = 16
MOST_TENSORS: Final = 1 << 16
MOST_DESCRIPTION: Final = 256
#: Bytes that a variable without levels takes before its description.
FIXED: Final = 20


def is_paddle(head: bytes, size: int) -> bool:
    """Whether a file begins with a variable: versions of 0, no level of detail, a description that fits.

    Args:
        head: the first bytes, 276 where the file has them.
        size: of the file.
    """
    if len(head) < FIXED or any(head[:16]):
        return False
    length = int.from_bytes(head[16:20], "little")
    if not 0 < length <= MOST_DESCRIPTION or len(head) < FIXED + length:
        return False
    try:
        dtype, shape = _described(head[FIXED : FIXED + length])
    except ValueError:
        return False
    return FIXED + length + math.prod(shape) * BITS[dtype] // 8 <= size


def open_paddle(source: ByteSource) -> StoredCheckpoint:
    """Read the variables of a file.

    Raises:
        MalformedFile: cut short, or it contradicts itself.
        UnsupportedFormat: a dtype or version that is not known.
    """
    tensors: list[StoredTensor] = []
    position = 0
    while position < source.size:
        if len(tensors) == MOST_TENSORS:
            raise MalformedFile(f"{source.name} holds more than {MOST_TENSORS:,} variables.")
        dtype, shape, start = _header(source, position)
        name = source.name if not tensors else f"{source.name}#{len(tensors) + 1}"
        position = start + math.prod(shape) * BITS[dtype] // 8
        if position > source.size:
            raise MalformedFile(
                f"{source.name} is cut short: its variable {len(tensors) + 1} ends at byte {position:,} of "
                f"{source.size:,}."
            )
        tensors.append(StoredTensor(TensorInfo(name, shape, dtype, source.name), source, start))
    files = [FileInfo(source.name, source.size)]
    return StoredCheckpoint(source.name, files, tensors, [source])


def _header(source: ByteSource, position: int) -> tuple[str, tuple[int, ...], int]:
    """(dtype, shape, position of the first element) of the variable that starts at a position."""
    version, position = _number(source, position, 4)
    levels, position = _number(source, position, 8)
    if version or levels > MOST_LEVELS:
        raise UnsupportedFormat(f"{source.name} holds a variable of version {version}; 0 is read.")
    for _ in range(levels):
        size, position = _number(source, position, 8)
        position += size
    version, position = _number(source, position, 4)
    length, position = _number(source, position, 4)
    if version or not 0 < length <= MOST_DESCRIPTION or position + length > source.size:
        raise MalformedFile(f"{source.name} does not describe its variable at byte {position:,}.")
    try:
        dtype, shape = _described(source.read(position, position + length).tobytes())
    except ValueError as error:
        raise MalformedFile(f"{source.name} describes a variable that cannot be: {error}.") from None
    return dtype, shape, position + length


def _number(source: ByteSource, position: int, width: int) -> tuple[int, int]:
    if position + width > source.size:
        raise MalformedFile(f"{source.name} is cut short: it ends within a variable.")
    return int.from_bytes(source.read(position, position + width).tobytes(), "little"), position + width


def _described(data: bytes) -> tuple[str, tuple[int, ...]]:
    """(dtype, shape) of a description: field 1 the dtype, field 2 each extent.

    Raises:
        ValueError: it is none.
    """
    dtype: str | None = None
    shape: list[int] = []
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        value, position = _varint(data, position)
        if tag == 0x08 and value in DTYPES and dtype is None:
            dtype = DTYPES[value]
        elif tag == 0x10 and value < 2**40 and len(shape) < MOST_DIMENSIONS:
            shape.append(value)
        else:
            raise ValueError(f"field {tag} with {value}")
    if dtype is None or math.prod(shape) >= 2**48:
        raise ValueError(f"a dtype of {dtype} and extents of {shape}")
    return dtype, tuple(shape)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 63, 7):
        if position >= len(data):
            raise ValueError("it ends within a number")
        byte = data[position]
        value, position = value | (byte & 127) << shift, position + 1
        if byte < 128:
            return value, position
    raise ValueError("a number of more than 63 bits")
