"""The container of a pack: a zip file in one canonical form, so that no byte of it can change unseen.

Members are stored, not compressed, in a given order, with fixed dates and flags. The bytes of the file are
therefore a function of its members, and reading it means to rebuild it and compare: whatever the structure
could hide (gaps, comments, second names, trailing bytes) makes a difference. Any unzip program opens it.

Format: PKWARE APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (its end).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

from birthmark.errors import PackError

#: Packs larger than this are refused; birthmark writes some megabytes.
MOST_BYTES = 256 << 20
#: Members a pack can have.
MOST_MEMBERS = 1024

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = 0x04034B50, 0x02014B50, 0x06054B50
_VERSION, _STORED, _TIME, _DATE = 20, 0, 0, 0x21  # 1980-01-01 00:00
_MODE = 0o100644 << 16
_UNIX = 3 << 8


def build(members: Mapping[str, bytes]) -> bytes:
    """The file that holds these members, in their order.

    Args:
        members: contents by name; names are plain ASCII without folders that lead upwards.
    """
    body, directory = bytearray(), bytearray()
    for name, data in members.items():
        encoded = name.encode("ascii")
        crc, size = zlib.crc32(data), len(data)
        directory += _CENTRAL.pack(
            _CENTRAL_MARK, _UNIX | _VERSION, _VERSION, 0, _STORED, _TIME, _DATE, crc, size, size,
            len(encoded), 0, 0, 0, 0, _MODE, len(body),
        )  # fmt: skip
        directory += encoded
        body += _LOCAL.pack(_LOCAL_MARK, _VERSION, 0, _STORED, _TIME, _DATE, crc, size, size, len(encoded), 0)
        body += encoded
        body += data
    end = _END.pack(_END_MARK, 0, 0, len(members), len(members), len(directory), len(body), 0)
    return bytes(body + directory) + end


def parse(data: bytes) -> dict[str, bytes]:
    """The members of a file that `build` made.

    Raises:
        PackError: it is no such file, or a byte of its structure or of a member's checksum was changed.
    """
    members: dict[str, bytes] = {}
    position = 0
    while data[position : position + 4] == _LOCAL_MARK.to_bytes(4, "little"):
        if len(members) == MOST_MEMBERS or len(data) - position < _LOCAL.size:
            raise _broken(position)
        header = _LOCAL.unpack_from(data, position)
        size, name_size = header[8], header[9]
        start = position + _LOCAL.size
        stop = start + name_size + size
        if stop > len(data):
            raise _broken(position)
        name = data[start : start + name_size]
        if not name.isascii() or name.decode("ascii") in members:
            raise _broken(position)
        members[name.decode("ascii")] = data[start + name_size : stop]
        position = stop
    if not members:
        raise PackError("this is no evidence pack: it does not begin like one.")
    rebuilt = build(members)
    if rebuilt != data:
        raise _broken(_first_difference(rebuilt, data))
    return members


def _first_difference(one: bytes, other: bytes) -> int:
    for start in range(0, min(len(one), len(other)), 4096):
        if one[start : start + 4096] != other[start : start + 4096]:
            return next(i for i in range(start, start + 4096) if one[i : i + 1] != other[i : i + 1])
    return min(len(one), len(other))


def _broken(position: int) -> PackError:
    return PackError(
        f"the pack was altered or cut: its structure or a checksum is wrong at byte {position:,}.",
        advice="Get a fresh copy from whoever made it.",
    )
