"""PyTorch files before 1.6: five pickles one after another, then the storages.

In order: a magic number, a protocol version, facts about the writer's machine, the saved object, the keys of
its storages; then for each key the number of elements (8 bytes) and the elements.

Source: pytorch, `torch/serialization.py` (`_legacy_save`, `_legacy_load`).
"""

from __future__ import annotations

import re
from typing import Final

from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.dtypes import BITS
from birthmark.checkpoints.interface import FileInfo
from birthmark.checkpoints.pickled import Flat, text
from birthmark.checkpoints.pickled_tensors import Region, read_tensors
from birthmark.checkpoints.settings import settings_of
from birthmark.checkpoints.sources import ByteSource
from birthmark.checkpoints.stored import StoredCheckpoint
from birthmark.checkpoints.strict_json import shown
from birthmark.checkpoints.torch_objects import Storage, Storages
from birthmark.checkpoints.torch_zip import BUILDERS
from birthmark.checkpoints.unpickler import unpickle
from birthmark.errors import MalformedFile, UnsupportedFormat

#: The first pickle: the number 0x1950A86A20F9469CFC6C, at any binary protocol.
MAGIC: Final = re.compile(rb"\x80[\x02-\x05](\x95.{8})?\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19\.", re.DOTALL)

#: The only protocol version there ever was.
VERSION: Final = 1001

#: Bytes of the number of elements before each storage.
COUNT: Final = 8


def is_torch_legacy(head: bytes) -> bool:
    """Whether a file begins with PyTorch's magic number."""
    return MAGIC.match(head) is not None


def open_torch_legacy(source: ByteSource) -> StoredCheckpoint:
    """Read the pickles of a legacy PyTorch file and find its storages.

    Raises:
        MalformedFile: cut short, or it contradicts itself.
        UnsafePickle: a pickle asks for something that could run.
        UnsupportedFormat: another version, or numbers of the other byte order.
    """
    cursor = Cursor(source)
    unpickle(cursor, {})
    version = unpickle(cursor, {}).root
    if version != VERSION:
        raise UnsupportedFormat(
            f"{source.name} has the protocol version {shown(version)}; {VERSION} is read."
        )
    _check_order(unpickle(cursor, {}).root, source.name)
    storages = Storages()
    made = unpickle(cursor, BUILDERS, storages)
    keys = unpickle(cursor, {}).root
    regions, end = _regions(source, cursor.position, keys, storages)

    def locate(storage: Storage) -> Region:
        return regions[storage.key]

    tensors, notes = read_tensors(made, source, source.name, locate)
    if end < source.size:
        notes.append(f"{source.name}: {source.size - end:,} bytes behind the last storage were not looked at")
    files = [FileInfo(source.name, source.size)]
    return StoredCheckpoint(source.name, files, tensors, [source], notes, settings_of(made.root))


def _check_order(facts: object, name: str) -> None:
    """Refuse numbers of a big-endian machine."""
    if not isinstance(facts, Flat):
        raise MalformedFile(f"{name} does not say what machine wrote it, as a PyTorch file does.")
    if facts.entries().get("little_endian") is not True:
        raise UnsupportedFormat(f"{name} was written on a big-endian machine, which birthmark does not read.")


def _regions(
    source: ByteSource, position: int, keys: object, storages: Storages
) -> tuple[dict[str, Region], int]:
    """Where each storage lies, and where the last one ends."""
    name = source.name
    if not isinstance(keys, list) or isinstance(keys, Flat):
        raise MalformedFile(f"{name} has no list of its storages behind its pickle.")
    widths: dict[str, int] = {}
    for storage in storages.known.values():
        widths.setdefault(storage.key, BITS[storage.dtype] // 8)
    regions: dict[str, Region] = {}
    for item in keys:
        key = text(item) if not isinstance(item, int) else str(item)
        if key not in widths or key in regions:
            raise MalformedFile(f"{name} lists the storage {shown(item)} twice or without need.")
        start = position + COUNT
        if start > source.size:
            raise MalformedFile(f"{name} is cut short before its storage {shown(key)}.")
        size = widths[key] * int.from_bytes(source.read(position, start).tobytes(), "little")
        if size > source.size - start:
            raise MalformedFile(
                f"{name} is cut short: its storage {shown(key)} needs {size:,} bytes, "
                f"{source.size - start:,} are left."
            )
        regions[key] = Region(source, start, size)
        position = start + size
    missing = [key for key in widths if key not in regions]
    if missing:
        raise MalformedFile(f"{name} lacks the storage {shown(missing[0])} that its pickle names.")
    return regions, position
