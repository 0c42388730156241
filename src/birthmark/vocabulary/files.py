"""Tokenizer files beside a checkpoint: found by their names, read as data, never run.

Read are Hugging Face's `tokenizer.json`, SentencePiece models, tiktoken's lists, and the plain `vocab.json`,
`vocab.txt` and `vocabulary.txt`, with the tokens that were added to any of them later (`added_tokens.json`,
`tokenizer_config.json`). A tokenizer that cannot be read is a missing hint, told in one sentence.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from birthmark.checkpoints.strict_json import parse_object, shown
from birthmark.errors import MalformedFile
from birthmark.vocabulary.sentencepiece import read_pieces
from birthmark.vocabulary.token import (
    Token,
    Vocabulary,
    byte_piece,
    encoded,
    from_byte_level,
    from_pieces,
    harmless,
)

#: The most bytes of a tokenizer file that are read.
MOST_BYTES: Final = 1 << 26
#: Files of one kind that are tried.
MOST_FILES: Final = 4
#: The largest id that a file may name.
LARGEST_ID: Final = 1 << 24


def find_vocabulary(source: str) -> tuple[Vocabulary | None, str | None]:
    """The vocabulary beside a checkpoint.

    Args:
        source: the checkpoint's path: a file, or a folder.

    Returns:
        The vocabulary of the first readable tokenizer file, or None; and a sentence about one that could not
        be read, or None.
    """
    folder = Path(source)
    folder = folder if folder.is_dir() else folder.parent
    trouble: str | None = None
    for name, read in _READERS:
        for path in sorted(folder.glob(name))[:MOST_FILES]:
            try:
                tokens = read(_bounded(path), harmless(path.name))
            except (OSError, MalformedFile) as error:
                trouble = trouble or _not_read(path, error)
                continue
            if tokens:
                more, untold = _added(folder)
                return Vocabulary(harmless(path.name), {**tokens, **more}), trouble or untold
    return None, trouble


def _added(folder: Path) -> tuple[dict[int, Token], str | None]:
    """Tokens that were added beside the main file, and a sentence about a file that could not be read."""
    found: dict[int, Token] = {}
    for name, read in (("added_tokens.json", _added_json), ("tokenizer_config.json", _config_json)):
        path = folder / name
        if not path.exists():
            continue
        try:
            found |= read(_bounded(path), name)
        except (OSError, MalformedFile) as error:
            return found, _not_read(path, error)
    return found, None


def _not_read(path: Path, error: Exception) -> str:
    reason = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return f"The tokenizer file {harmless(path.name)} was not read: {reason}"


def _added_json(raw: bytes, name: str) -> dict[int, Token]:
    """Texts with their ids; those that look like markers are special."""
    return {
        _id(number, name): _added_token(content, special=content[:1] + content[-1:] in ("<>", "[]"))
        for content, number in parse_object(raw, name).items()
    }


def _config_json(raw: bytes, name: str) -> dict[int, Token]:
    """The `added_tokens_decoder` of a tokenizer's configuration: ids with their entries."""
    entries = parse_object(raw, name).get("added_tokens_decoder")
    found = {}
    for number, entry in entries.items() if isinstance(entries, dict) else ():
        if not (number.isascii() and number.isdigit() and len(number) < 10 and isinstance(entry, dict)):
            raise MalformedFile(f"{name} adds the token {shown(number, 20)}; expected an id and an object.")
        content = _text(entry.get("content"), name)
        found[_id(int(number), name)] = _added_token(content, special=entry.get("special") is True)
    return found


def _added_token(content: str, *, special: bool) -> Token:
    return Token(content, None if special else encoded(content), special)


def _bounded(path: Path) -> bytes:
    if not path.is_file():  # a pipe would never end
        raise MalformedFile("it is no regular file.")
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise MalformedFile(f"it has {size:,} bytes; the limit is {MOST_BYTES:,}.")
    return path.read_bytes()


def _tokenizer_json(raw: bytes, name: str) -> dict[int, Token]:
    document = parse_object(raw, name)
    model = document.get("model")
    if not isinstance(model, dict):
        raise MalformedFile(f"{name} describes no model.")
    kind = str(model.get("type"))
    decode: Callable[[str], bytes | None] = from_pieces
    if _mentions(document, "ByteLevel"):
        decode = _byte_level
    elif kind == "WordPiece":
        decode = _word_piece
    tokens = {}
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):
        for content, number in vocabulary.items():
            tokens[_id(number, name)] = Token(content, decode(content))
    elif isinstance(vocabulary, list):  # Unigram: [piece, log probability] in the order of their ids
        for number, entry in enumerate(vocabulary):
            content = _text(entry[0] if isinstance(entry, list) and entry else None, name)
            tokens[number] = Token(content, decode(content))
    added = document.get("added_tokens")
    for entry in added if isinstance(added, list) else []:
        if not isinstance(entry, dict):
            raise MalformedFile(f"{name} lists an added token that is no object.")
        content = _text(entry.get("content"), name)
        special = entry.get("special") is True
        tokens[_id(entry.get("id"), name)] = _added_token(content, special=special)
    return tokens


def _mentions(document: dict[str, Any], wanted: str) -> bool:
    """Whether the pre-tokenizer or the decoder is, or holds, a component of the given type."""

    def found(part: object) -> bool:
        if isinstance(part, dict):
            return part.get("type") == wanted or any(found(each) for each in part.values())
        return isinstance(part, list) and any(found(each) for each in part)

    return found(document.get("pre_tokenizer")) or found(document.get("decoder"))


def _word_piece(content: str) -> bytes | None:
    if len(content) > 2 and content[0] + content[-1] in ("[]", "<>"):
        return None
    return encoded(content.removeprefix("##"))


def _byte_level(content: str) -> bytes:
    """The bytes of a byte-level token; a token with other characters stands for itself."""
    raw = from_byte_level(content)
    return from_pieces(content) if raw is None else raw


def _vocab_json(raw: bytes, name: str) -> dict[int, Token]:
    tokens = {}
    for content, number in parse_object(raw, name).items():
        marker = content.startswith("<") and content.endswith(">") and byte_piece(content) is None
        tokens[_id(number, name)] = Token(content, None if marker else _byte_level(content), marker)
    return tokens


def _vocab_txt(raw: bytes, name: str) -> dict[int, Token]:
    lines = _decoded(raw, name).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return {
        number: Token(line, piece, special=piece is None)
        for number, line in enumerate(line.rstrip("\r") for line in lines)
        for piece in [_word_piece(line)]
    }


def _tiktoken(raw: bytes, name: str) -> dict[int, Token]:
    tokens = {}
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            coded, rank = line.split()
            piece = base64.b64decode(coded, validate=True)
            tokens[_id(int(rank), name)] = Token(piece.decode("utf-8", "backslashreplace"), piece)
        except (ValueError, binascii.Error) as error:
            raise MalformedFile(f"line {number} of {name} is no base64 token with its rank.") from error
    return tokens


def _model(raw: bytes, name: str) -> dict[int, Token]:
    """A `tokenizer.model`: SentencePiece's message, or tiktoken's lines under the same name."""
    first = raw.split(b"\n", 1)[0]
    if first and all(byte in _BASE64 for byte in first):
        return _tiktoken(raw, name)
    return read_pieces(raw, name)


_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \r")


def _id(number: object, name: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < LARGEST_ID:
        raise MalformedFile(f"{name} gives a token the id {shown(number)}; expected 0 to {LARGEST_ID - 1:,}.")
    return number


def _text(content: object, name: str) -> str:
    if not isinstance(content, str):
        raise MalformedFile(f"{name} names a token {shown(content)}; expected a text.")
    return content


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{name} is not UTF-8 text (byte {error.start}).") from error


_READERS: Final[tuple[tuple[str, Callable[[bytes, str], dict[int, Token]]], ...]] = (
    ("tokenizer.json", _tokenizer_json),
    ("tokenizer.model", _model),
    ("*.tiktoken", _tiktoken),
    ("spiece.model", read_pieces),
    ("vocab.json", _vocab_json),
    ("vocab.txt", _vocab_txt),
    ("vocabulary.txt", _vocab_txt),
)
