"""Zip archives, read just far enough to find members in place, with every number checked before it is used.

PyTorch stores members uncompressed, so a tensor can be read where it lies. Written here because the standard
library reads a central directory of any length into memory and does not say where a member's bytes are.

Format: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from birthmark.checkpoints.sources import ByteSource, MemoryBytes, Slice
from birthmark.checkpoints.strict_json import shown
from birthmark.errors import MalformedFile, UnsupportedFormat

#: Longest central directory, in bytes (about 150,000 storages).
MAX_DIRECTORY: Final = 16 * 2**20

#: Most bytes that the compressed members of one archive may inflate to.
MAX_INFLATED: Final = 256 * 2**20

STORED: Final = 0
DEFLATED: Final = 8

_END_MARK: Final = b"PK\x05\x06"
_END: Final = struct.Struct("<4s4H2LH")
_END64_LOCATOR: Final = struct.Struct("<4sLQL")
_END64: Final = struct.Struct("<4sQ2H2L4Q")
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive, as the central directory describes it.

    Attributes:
        name: with slashes.
        flags: bit 0 says that it is encrypted.
        method: 0 stored, 8 deflated.
        crc: CRC-32 of the contents.
        packed: bytes in the archive.
        size: bytes of the contents.
        header: position of its local header.
    """

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    header: int


class Archive:
    """The members of a zip archive.

    Args:
        source: the archive.

    Raises:
        MalformedFile: cut short, or it contradicts itself.
    """

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self.members: dict[str, Member] = {}
        self._inflated = 0
        start, size, self._directory_start = self._find_directory()
        raw = source.read(start, start + size).tobytes()
        position = 0
        while position < size:
            member, position = self._entry(raw, position)
            if member.name in self.members:
                raise MalformedFile(f"{source.name} holds the member {shown(member.name)} twice.")
            self.members[member.name] = member

    def open(self, name: str) -> ByteSource:
        """The contents of a member: in place where stored, inflated at the first use where deflated.

        Raises:
            MalformedFile: the member does not lie inside the archive.
            UnsupportedFormat: encrypted, another compression, or beyond the limit for inflating.
        """
        member = self.members[name]
        what = f"the member {shown(name)} of {self.source.name}"
        if member.flags & 1:
            raise UnsupportedFormat(f"{what} is encrypted.")
        start = self._data_start(member, what)
        packed = Slice(self.source, start, member.packed, what)
        if member.method == STORED:
            if member.size != member.packed:
                raise MalformedFile(f"{what} is stored, but its two sizes differ.")
            return packed
        if member.method != DEFLATED:
            raise UnsupportedFormat(
                f"{what} is compressed by method {member.method}; stored and deflated are read."
            )
        self._inflated += member.size
        if self._inflated > MAX_INFLATED:
            raise UnsupportedFormat(
                f"the compressed members of {self.source.name} inflate to {self._inflated:,} bytes or more; "
                f"the limit is {MAX_INFLATED:,}.",
                advice="PyTorch stores tensors uncompressed; unpack the archive and store it again.",
            )
        return MemoryBytes(what, member.size, lambda: _inflate(packed, member, what))

    def _find_directory(self) -> tuple[int, int, int]:
        """(start, size, end of all members) of the central directory."""
        source, name = self.source, self.source.name
        end = self._find_end()
        closing = source.read(end, end + _END.size).tobytes()
        _, disk, first_disk, _, _, size, start, _ = _END.unpack(closing)
        if disk != first_disk:
            raise UnsupportedFormat(f"{name} is one of several parts of a zip archive.")
        locator = end - _END64_LOCATOR.size
        if locator >= 0:
            raw = source.read(locator, end).tobytes()
            if raw.startswith(b"PK\x06\x07"):
                end = _END64_LOCATOR.unpack(raw)[2]
                if not 0 <= end <= locator - _END64.size:
                    raise MalformedFile(f"the zip64 record of {name} does not lie inside the file.")
                record = _END64.unpack(source.read(end, end + _END64.size).tobytes())
                if record[0] != b"PK\x06\x06":
                    raise MalformedFile(f"the zip64 record of {name} is missing.")
                size, start = record[8], record[9]
        if start + size != end:
            raise MalformedFile(f"the directory of the zip archive {name} is not where the archive says.")
        if size > MAX_DIRECTORY:
            raise MalformedFile(
                f"the directory of {name} has {size:,} bytes; the limit is {MAX_DIRECTORY:,}."
            )
        return start, size, start

    def _find_end(self) -> int:
        """Where the record at the end of the archive starts; only its comment may follow it."""
        source = self.source
        # Almost no archive has a comment; only where the record is not at the very end, look for it.
        for reach in (0, 0xFFFF):
            tail_start = max(0, source.size - _END.size - reach)
            tail = source.read(tail_start, source.size).tobytes()
            place = tail.rfind(_END_MARK, 0, max(0, len(tail) - _END.size + len(_END_MARK)))
            while place >= 0:
                if place + _END.size + _END.unpack_from(tail, place)[7] == len(tail):
                    return tail_start + place
                place = tail.rfind(_END_MARK, 0, place + len(_END_MARK) - 1)
        raise MalformedFile(
            f"{source.name} begins like a zip archive but does not end like one: is it cut short, or longer?"
        )

    def _entry(self, raw: bytes, position: int) -> tuple[Member, int]:
        """One entry of the central directory, and the position behind it."""
        name = self.source.name
        if len(raw) - position < _ENTRY.size or raw[position : position + 4] != b"PK\x01\x02":
            raise MalformedFile(f"the directory of the zip archive {name} is damaged at byte {position:,}.")
        fields = _ENTRY.unpack_from(raw, position)
        flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
        name_size, extra_size, comment_size, header = fields[10], fields[11], fields[12], fields[16]
        name_end = position + _ENTRY.size + name_size
        extra_end = name_end + extra_size
        stop = extra_end + comment_size
        if stop > len(raw):
            raise MalformedFile(f"the directory of the zip archive {name} is damaged at byte {position:,}.")
        label = raw[name_end - name_size : name_end].decode("utf-8", "backslashreplace")
        wide = _zip64(raw[name_end:extra_end])
        # The 64-bit fields stand in this order, each only where the 32-bit one is full.
        values = [size, packed, header]
        for i, value in enumerate(values):
            if value == 0xFFFFFFFF:
                if not wide:
                    raise MalformedFile(f"the member {shown(label)} of {name} lacks its 64-bit sizes.")
                values[i] = wide.pop(0)
        size, packed, header = values
        return Member(label, flags, method, crc, packed, size, header), stop

    def _data_start(self, member: Member, what: str) -> int:
        """Where a member's bytes start, from its local header."""
        limit = self._directory_start
        if member.header + _LOCAL.size > limit:
            raise MalformedFile(f"{what} does not lie inside the archive.")
        raw = self.source.read(member.header, member.header + _LOCAL.size).tobytes()
        fields = _LOCAL.unpack(raw)
        start: int = member.header + _LOCAL.size + fields[9] + fields[10]
        if fields[0] != b"PK\x03\x04" or fields[3] != member.method:
            raise MalformedFile(f"{what} has a local header that does not belong to it.")
        if start + member.packed > limit:
            raise MalformedFile(f"{what} does not lie inside the archive; is the file cut short?")
        return start


def _zip64(extra: bytes) -> list[int]:
    """The numbers of the zip64 extra field; none where there is none."""
    position = 0
    while position + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, position)
        body = extra[position + 4 : position + 4 + size]
        if kind == 1:
            return [number for (number,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8])]
        position += 4 + size
    return []


def _inflate(packed: ByteSource, member: Member, what: str) -> bytes:
    """Inflate a member to exactly its announced size."""
    machine = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = machine.decompress(packed.read(0, packed.size).tobytes(), member.size + 1)
    except zlib.error:
        raise MalformedFile(f"{what} cannot be inflated.") from None
    if len(data) != member.size or zlib.crc32(data) != member.crc:
        raise MalformedFile(f"{what} inflates to something else than the archive says.")
    return data
