"""The canonical zip."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import PackError
from birthmark.packs.container import build, parse

MEMBERS = {"manifest.json": b"{}", "a.values": bytes(range(256)), "empty": b""}


def test_any_unzip_program_opens_it() -> None:
    """The standard library reads the members and finds no fault."""
    with zipfile.ZipFile(io.BytesIO(build(MEMBERS))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == MEMBERS


@given(
    st.dictionaries(st.text("abc.-0", min_size=1, max_size=9), st.binary(max_size=50), min_size=1, max_size=5)
)
def test_parse_is_the_inverse_of_build(members: dict[str, bytes]) -> None:
    """Names, contents and order come back."""
    assert list(parse(build(members)).items()) == list(members.items())


def test_every_byte_counts() -> None:
    """Flipping any bit of any byte is noticed."""
    data = build(MEMBERS)
    for position in range(len(data)):
        for bit in (0, 3, 7):
            altered = bytearray(data)
            altered[position] ^= 1 << bit
            with pytest.raises(PackError):
                parse(bytes(altered))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data + b"x",
        lambda data: b"x" + data,
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:40],
        lambda data: data + data,
        lambda _: b"",
        lambda _: b"PK\x03\x04",
        lambda _: b"not a zip file at all" * 10,
    ],
)
def test_what_is_cut_or_added_is_refused(damage: object) -> None:
    """Cut, doubled, prefixed and foreign files give one line."""
    with pytest.raises(PackError) as caught:
        parse(damage(build(MEMBERS)))  # type: ignore[operator]

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_other_zip_files_are_refused(compression: int) -> None:
    """A zip in another form, a compressed one (a bomb, perhaps) too, is refused before it is unpacked."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("manifest.json", b"0" * 10_000_000)

    with pytest.raises(PackError):
        parse(stream.getvalue())


def test_a_name_twice_is_refused() -> None:
    """Two members of one name, of which programs would show either, are refused."""
    single = build({"a": b"1"})
    local = single[: single.index(b"PK\x01\x02")]

    with pytest.raises(PackError):
        parse(local + single)
