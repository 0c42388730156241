"""SentencePiece models: the pieces of a `ModelProto`, straight from the wire.

Only field 1 of the message is read, the repeated pieces: their text (field 1) and type (field 3: 1 normal,
2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte). All else is stepped over (google/sentencepiece
`src/sentencepiece_model.proto`; protocol buffers encoding guide).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from birthmark.errors import MalformedFile
from birthmark.vocabulary.token import Token, from_pieces

_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5
_UNKNOWN, _CONTROL, _UNUSED = 2, 3, 5
#: A varint holds 64 bits in at most so many bytes.
_LONGEST: Final = 10


def read_pieces(raw: bytes, name: str) -> dict[int, Token]:
    """The tokens of a SentencePiece model.

    Args:
        raw: the file.
        name: how messages call it.

    Raises:
        MalformedFile: the bytes are no protocol-buffer message, or no pieces are in it.
    """
    tokens: dict[int, Token] = {}
    for field, value in _fields(raw, name):
        if field == 1 and isinstance(value, bytes):
            tokens[len(tokens)] = _piece(value, name)
    if not tokens:
        raise MalformedFile(f"{name} holds no SentencePiece pieces.")
    return tokens


def _piece(raw: bytes, name: str) -> Token:
    content, kind = "", 1
    for field, value in _fields(raw, name):
        if field == 1 and isinstance(value, bytes):
            content = value.decode("utf-8", "backslashreplace")
        elif field == 3 and isinstance(value, int):
            kind = value
    special = kind in (_UNKNOWN, _CONTROL, _UNUSED)
    if kind == _UNUSED:
        content = f"{content} (unused)"
    return Token(content, None if special else from_pieces(content), special)


def _fields(raw: bytes, name: str) -> Iterator[tuple[int, bytes | int]]:
    """Field numbers and values of a message; fixed-width values come as bytes."""
    place = 0
    while place < len(raw):
        key, place = _varint(raw, place, name)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _varint(raw, place, name)
            yield field, value
            continue
        if wire == _LENGTH:
            size, place = _varint(raw, place, name)
        elif wire in (_FIXED_64, _FIXED_32):
            size = 8 if wire == _FIXED_64 else 4
        else:
            raise MalformedFile(f"{name} is no SentencePiece model: wire type {wire} at byte {place:,}.")
        if field == 0 or size > len(raw) - place:
            raise MalformedFile(
                f"{name} is no SentencePiece model: field {field} ends past byte {len(raw):,}."
            )
        yield field, raw[place : place + size]
        place += size


def _varint(raw: bytes, place: int, name: str) -> tuple[int, int]:
    value = 0
    for step in range(_LONGEST):
        if place >= len(raw):
            break
        byte = raw[place]
        place += 1
        value |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return value, place
    raise MalformedFile(f"{name} is no SentencePiece model: a number breaks off at byte {place:,}.")
