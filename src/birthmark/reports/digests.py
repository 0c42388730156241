"""Digests of the checkpoint's files, so that a reader can tell whether a published file was the one read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from birthmark.checkpoints.interface import Checkpoint
from birthmark.reports.reading import FileModel

#: Larger files are not digested: it would mean to read them whole.
MOST_BYTES = 256 << 20
_BLOCK = 1 << 20


def digested(checkpoint: Checkpoint, most: int = MOST_BYTES) -> tuple[list[FileModel], list[str]]:
    """The checkpoint's files with their SHA-256, and notes on those that have none.

    Args:
        checkpoint: its `source` is a local file or folder; otherwise no digest is made.
        most: bytes beyond which a file is not read whole.
    """
    source = Path(checkpoint.source)
    found, large, absent = [], [], []
    for info in checkpoint.files:
        path = source / info.name if source.is_dir() else source
        digest = None
        if info.size > most:
            large.append(info.name)
        elif path.is_file() and path.stat().st_size == info.size:
            digest = _sha256(path)
        else:
            absent.append(info.name)
        found.append(FileModel(name=info.name, size=info.size, sha256=digest))
    notes = []
    if large:
        notes.append(
            f"No SHA-256 of {_some(large)}: larger than {most >> 20} MiB, and a digest reads a file whole."
        )
    if absent:
        notes.append(f"No SHA-256 of {_some(absent)}: not a local file of the size that was read.")
    return found, notes


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
