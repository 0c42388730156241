"""The way in: from a path to the reader of what lies there, told by content rather than by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from birthmark.checkpoints import recognise
from birthmark.checkpoints.folder import open_folder, open_index
from birthmark.checkpoints.interface import Checkpoint
from birthmark.checkpoints.safetensors import MAX_HEADER, open_safetensors
from birthmark.checkpoints.sources import FileBytes
from birthmark.checkpoints.stored import StoredCheckpoint
from birthmark.errors import CheckpointError, MalformedFile, UnsupportedFormat


def open_checkpoint(path: str | Path, *, max_header: int = MAX_HEADER) -> Checkpoint:
    """Open the checkpoint at a path; only headers are read until values are asked for.

    Args:
        path: a safetensors or PyTorch file, a pickle of arrays, an index of shards, or a folder of these.
        max_header: the longest safetensors header to accept, in bytes.

    Returns:
        The checkpoint. Close it, or use it in a `with` statement.

    Raises:
        MalformedFile: the bytes contradict themselves or the format.
        UnsafePickle: a pickle asks for something that could run; nothing was run.
        UnsupportedFormat: a format that birthmark does not read; the message says which it seems to be.
        CheckpointError: nothing there, not readable, or shards that are missing.
    """
    place = Path(path)
    opener = partial(_open_file, max_header=max_header)
    try:
        is_folder, exists = place.is_dir(), place.exists()
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot look at {str(path)!r}: {error}.") from None
    if is_folder:
        return open_folder(place, opener)
    if not exists:
        raise CheckpointError(f"there is no file or folder {str(path)!r}.")
    if place.name.endswith(".json"):
        return open_index(place, opener)
    checkpoint = opener(place, place.name)
    checkpoint.source = str(path)
    return checkpoint


def _open_file(path: Path, name: str, *, max_header: int) -> StoredCheckpoint:
    """Open one file of weights."""
    source = FileBytes(path, name)
    kind = recognise.kind_of(source)
    if kind == recognise.SAFETENSORS or (path.suffix == ".safetensors" and kind in _MAYBE_SAFETENSORS):
        return open_safetensors(source, max_header=max_header)
    if kind == recognise.EMPTY:
        raise MalformedFile(f"{name} is empty: it has 0 bytes.")
    raise UnsupportedFormat(f"{name} is {kind}; expected safetensors, a PyTorch file or a pickle.")


#: What the first bytes of a damaged safetensors file may look like.
_MAYBE_SAFETENSORS = frozenset({recognise.EMPTY, recognise.TEXT_PICKLE, "of an unknown kind", "a text file"})
