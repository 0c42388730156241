"""What a file seems to be, told from its first bytes: the formats read here and some met by mistake."""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.paddle import is_paddle
from birthmark.checkpoints.sources import ByteSource
from birthmark.checkpoints.torch_legacy import is_torch_legacy

#: Bytes looked at.
HEAD: Final = 512

SAFETENSORS: Final = "safetensors"
ZIP: Final = "zip"
TORCH_LEGACY: Final = "torch legacy"
PICKLE: Final = "pickle"
TEXT_PICKLE: Final = "a pickle of protocol 0 or 1"
PADDLE: Final = "paddle"
JSON: Final = "json"
EMPTY: Final = "empty"
TEXT: Final = "a text file"
UNKNOWN: Final = "of an unknown kind"

#: Formats that birthmark does not read, by their first bytes (position, bytes, what it is).
FOREIGN: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"version https://git-lfs", "a Git LFS pointer, not the weights; fetch them with `git lfs pull`"),
    (0, b"oid sha256:", "a piece of a Git LFS pointer, not the weights"),
    (0, b"GGUF", "a GGUF file"),
    (0, b"lmgg", "a GGML file"),
    (0, b"tjgg", "a GGJT (GGML) file"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras .h5)"),
    (0, b"\x93NUMPY", "a numpy .npy file"),
    (4, b"TFL3", "a TensorFlow Lite file"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x1f\x8b", "gzip-compressed"),
    (0, b"BZh", "bzip2-compressed"),
    (0, b"\xfd7zXZ\x00", "xz-compressed"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (0, b"Rar!", "a RAR archive"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"%PDF", "a PDF document"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a Windows program"),
    (0, b"\x89PNG", "an image"),
    (0, b"\xff\xd8\xff", "an image"),
    (0, b"PK\x05\x06", "an empty zip archive"),
)

#: First bytes of a pickle of protocol 0 or 1 that holds anything (mark, global, list, dict).
TEXT_PICKLE_STARTS: Final = (b"(", b"c", b"]", b"}")


def kind_of(source: ByteSource) -> str:
    """One of the constants above, or a description of the foreign format ("a GGUF file").

    Pickles of protocol 0 and 1 begin like ordinary text; they are only told apart by being read, so
    `TEXT_PICKLE` means "perhaps".
    """
    if source.size == 0:
        return EMPTY
    head = source.read(0, min(HEAD, source.size)).tobytes()
    for position, magic, kind in FOREIGN:
        if head[position:].startswith(magic):
            return kind
    if head.startswith(b"PK\x03\x04"):
        return ZIP
    if source.size > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 2**40:
        return SAFETENSORS
    if is_torch_legacy(head):
        return TORCH_LEGACY
    if is_paddle(head, source.size):
        return PADDLE
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return PICKLE
    lowered = head.lstrip().lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        return "a web page, not the weights; perhaps a login or error page was saved"
    if lowered.startswith(b"{"):
        return JSON
    if head.startswith(TEXT_PICKLE_STARTS):
        return TEXT_PICKLE
    if _is_text(head):
        return TEXT
    if b"onnx" in head or (head[:1] == b"\x08" and b"pytorch" in head):
        return "an ONNX file"
    return UNKNOWN


def is_text(source: ByteSource) -> bool:
    """Whether the file begins like text."""
    return _is_text(source.read(0, min(HEAD, source.size)).tobytes())


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character cut at the end of the looked-at bytes is no fault.
        if len(head) < HEAD or error.start < HEAD - 3:
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\t\n\r\f" for character in text)
