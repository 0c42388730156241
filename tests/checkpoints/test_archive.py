"""Zip archives: against the standard library, and every way a directory can lie."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.checkpoints import archive as module
from birthmark.checkpoints.archive import Archive
from birthmark.checkpoints.sources import FileBytes, MemoryBytes
from birthmark.errors import BirthmarkError, MalformedFile, UnsupportedFormat

NAMES = st.text("abc/.é", min_size=1, max_size=8)


def written(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)  # with a fixed date
        archive.comment = comment
    return buffer.getvalue()


def opened(data: bytes) -> Archive:
    return Archive(MemoryBytes("it", len(data), lambda: data))


@settings(deadline=None)
@given(
    st.dictionaries(NAMES, st.binary(max_size=300), max_size=6),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
    st.binary(max_size=30),
)
def test_archives_of_the_standard_library_are_read_exactly(
    members: dict[str, bytes], compression: int, comment: bytes
) -> None:
    """Every member, stored or deflated, has its contents; an archive's comment does not matter."""
    archive = opened(written(members, compression, comment))

    assert set(archive.members) == set(members)
    for name, data in members.items():
        assert archive.open(name).read(0, len(data)).tobytes() == data


def test_stored_members_are_read_in_place(tmp_path: Path) -> None:
    """Reading a piece of a stored member costs that piece and the headers, not the member."""
    path = tmp_path / "a.zip"
    path.write_bytes(written({"big": bytes(range(256)) * 4000}))
    source = FileBytes(path, "a.zip")
    member = Archive(source).open("big")
    before = source.bytes_read

    assert member.gather(0, 256, np.array([3, 1])).tobytes() == bytes(range(256)) * 2
    assert source.bytes_read - before == 512


def test_zip64_archives_are_read(tmp_path: Path) -> None:
    """Members with 64-bit sizes and offsets, as in files above 4 GiB, are found."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open(zipfile.ZipInfo("one"), "w", force_zip64=True) as member:
            member.write(b"abc")
        with archive.open(zipfile.ZipInfo("two"), "w", force_zip64=True) as member:
            member.write(b"defg")
    raw = bytearray(path.read_bytes())
    # The standard library writes 64-bit fields of the directory only where they are needed; force them.
    end = raw.rfind(b"PK\x05\x06")
    start = struct.unpack_from("<L", raw, end + 16)[0]
    directory = bytearray()
    place = start
    while place < end:
        fields = list(struct.unpack_from("<4s6H3L5H2L", raw, place))
        name = raw[place + 46 : place + 46 + fields[10]]
        extra = struct.pack("<2H3Q", 1, 24, fields[9], fields[8], fields[16])
        place += 46 + fields[10] + fields[11] + fields[12]
        fields[8] = fields[9] = fields[16] = 0xFFFFFFFF
        fields[11] = len(extra)
        directory += struct.pack("<4s6H3L5H2L", *fields) + name + extra
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2, 2, len(directory), start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, start + len(directory), 1)
    closing = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    data = bytes(raw[:start]) + directory + record + locator + closing
    with zipfile.ZipFile(io.BytesIO(data)) as witness:
        assert witness.read("two") == b"defg"

    archive64 = opened(data)

    assert archive64.open("one").read(0, 3).tobytes() == b"abc"
    assert archive64.open("two").read(0, 4).tobytes() == b"defg"


def patched(data: bytes, marker: bytes, offset: int, value: bytes) -> bytes:
    place = data.rfind(marker) + offset
    return data[:place] + value + data[place + len(value) :]


PLAIN = written({"a": b"hello", "b": b"world!"})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PLAIN[:-30], "cut short"),
        (PLAIN[:40], "cut short"),
        (PLAIN[-22:-5], "cut short"),
        (b"PK", "cut short"),
        (PLAIN + b"more", "or longer"),
        (b"junk" + PLAIN, "not where the archive says"),
        (patched(PLAIN, b"PK\x05\x06", 12, struct.pack("<L", 2**31)), "not where the archive says"),
        (patched(PLAIN, b"PK\x01\x02", 0, b"XX"), "directory of the zip archive it is damaged"),
        (patched(PLAIN, b"PK\x01\x02", 28, b"\xff\xff"), "directory of the zip archive it is damaged"),
        (patched(PLAIN, b"PK\x01\x02", 24, b"\xff\xff\xff\xff"), "lacks its 64-bit sizes"),
        (written({"a": b"hello", "b": b"world!"}).replace(b"b", b"a"), "'a' twice"),
    ],
)
def test_a_directory_that_lies_is_refused(data: bytes, reason: str) -> None:
    """The directory must be whole, where the archive says, and name each member once."""
    with pytest.raises(MalformedFile, match=reason):
        opened(data)


@pytest.mark.parametrize(
    ("offset", "value", "error", "reason"),
    [
        (8, b"\x01\x00", UnsupportedFormat, "encrypted"),
        (10, b"\x0c\x00", MalformedFile, "does not belong to it"),
        (20, struct.pack("<L", 5000), MalformedFile, "not lie inside"),
        (24, struct.pack("<L", 7), MalformedFile, "two sizes differ"),
        (42, struct.pack("<L", 3), MalformedFile, "does not belong to it"),
        (42, struct.pack("<L", 90_000), MalformedFile, "not lie inside"),
    ],
)
def test_a_member_that_lies_is_refused(
    offset: int, value: bytes, error: type[BirthmarkError], reason: str
) -> None:
    """Flags, method, sizes and place of a member are checked when it is opened."""
    archive = opened(patched(PLAIN, b"PK\x01\x02", offset, value))

    with pytest.raises(error, match=reason):
        archive.open("b")


def test_archives_in_several_parts_are_refused() -> None:
    """One part of several does not hold the others' members."""
    with pytest.raises(UnsupportedFormat, match="several parts"):
        opened(patched(PLAIN, b"PK\x05\x06", 4, b"\x01\x00"))


def test_an_archive_is_not_ended_by_its_comment() -> None:
    """A comment that holds the mark of the end, or a whole end, does not mislead."""
    for comment in (b"PK\x05\x06", b"x" * 5 + PLAIN[-22:] + b"y"):
        archive = opened(written({"a": b"hello"}, comment=comment))
        assert archive.open("a").read(0, 5).tobytes() == b"hello"


def test_other_compressions_are_refused_by_number() -> None:
    """Only stored and deflated members are read."""
    with pytest.raises(UnsupportedFormat, match="method 12"):
        opened(written({"a": b"x" * 50}, zipfile.ZIP_BZIP2)).open("a")


def test_inflating_is_bounded_by_what_the_archive_announces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts all members together and is checked before anything is inflated."""
    monkeypatch.setattr(module, "MAX_INFLATED", 150)
    archive = opened(written({"a": b"x" * 100, "b": b"y" * 100}, zipfile.ZIP_DEFLATED))

    assert archive.open("a").read(0, 100).tobytes() == b"x" * 100
    with pytest.raises(UnsupportedFormat, match="the limit is 150"):
        archive.open("b")


@pytest.mark.parametrize("offset", [16, 24])
def test_a_member_that_inflates_to_something_else_is_refused(offset: int) -> None:
    """Size and checksum of inflated contents must be the announced ones."""
    data = written({"a": b"x" * 100}, zipfile.ZIP_DEFLATED)
    archive = opened(patched(data, b"PK\x01\x02", offset, b"\x63"))

    member = archive.open("a")
    with pytest.raises(MalformedFile, match="something else"):
        member.read(0, 10)


def test_a_deflated_stream_that_is_damaged_is_refused() -> None:
    """Bytes that are no deflate stream give the one error."""
    data = written({"a": bytes(range(100)) * 3}, zipfile.ZIP_DEFLATED)
    archive = opened(data[:35] + b"\xff\xff\xff" + data[38:])

    with pytest.raises(MalformedFile):
        archive.open("a").read(0, 10)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_archives_give_a_clear_error_or_a_reading(data: Any) -> None:
    """Flipped or removed bytes never give another exception."""
    compression = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    whole = bytearray(written({"a": b"hello" * 9, "b/c": b"world!"}, compression))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        if data.draw(st.booleans()):
            whole[place] = data.draw(st.integers(0, 255))
        else:
            del whole[place : place + data.draw(st.integers(1, 20))]

    def message() -> str:
        try:
            archive = opened(bytes(whole))
            for name in archive.members:
                member = archive.open(name)
                member.read(0, member.size)
        except BirthmarkError as error:
            return str(error)
        return "a reading"

    assert "\n" not in message()
