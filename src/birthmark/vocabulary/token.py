"""A vocabulary: which token each row of an embedding stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Token:
    """One entry of a tokenizer's vocabulary.

    Attributes:
        content: its text as the tokenizer's file writes it.
        raw: the bytes that it stands for; None for a token that stands for no text (a control token).
        special: whether the tokenizer itself sets it apart: control tokens, markers, reserved places.
    """

    content: str
    raw: bytes | None
    special: bool = False

    @property
    def text(self) -> str | None:
        """What it stands for, where that is valid UTF-8 by itself."""
        if self.raw is None:
            return None
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """All tokens of a tokenizer.

    Attributes:
        source: the file's name.
        tokens: by id; ids may have gaps.
    """

    source: str
    tokens: Mapping[int, Token]

    @property
    def end(self) -> int:
        """One past the largest id: rows from here on stand for no token."""
        return max(self.tokens, default=-1) + 1


@cache
def byte_alphabet() -> Mapping[str, int]:
    """Characters that byte-level tokenizers write for bytes.

    Printable bytes of Latin-1 stand for themselves, all others for the characters from U+0100 on, in order
    (openai/gpt-2 `src/encoder.py`).
    """
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [value for value in range(256) if value not in shown]
    return {
        **{chr(value): value for value in shown},
        **{chr(0x100 + place): value for place, value in enumerate(hidden)},
    }


def from_byte_level(content: str) -> bytes | None:
    """The bytes of a byte-level token; None where a character stands for no byte."""
    alphabet = byte_alphabet()
    values = [alphabet.get(character) for character in content]
    return bytes(value for value in values if value is not None) if None not in values else None


def encoded(content: str) -> bytes:
    """UTF-8 bytes of a text; halves of surrogate pairs, which JSON can write, become question marks."""
    return content.encode("utf-8", "replace")


def harmless(name: str) -> str:
    """A file's name in one line of printable ASCII: other characters are escaped."""
    return "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in name)


def byte_piece(content: str) -> bytes | None:
    """The byte of a piece such as <0x0A>, as SentencePiece writes single bytes; None for all others."""
    if len(content) == 6 and content.startswith("<0x") and content.endswith(">"):
        try:
            return bytes([int(content[3:5], 16)])
        except ValueError:
            return None
    return None


def from_pieces(content: str) -> bytes:
    """The bytes of a SentencePiece piece: U+2581 stands for a space."""
    single = byte_piece(content)
    return single if single is not None else encoded(content.replace("\u2581", " "))
