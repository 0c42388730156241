"""The way in: from a path to the reader of what lies there, told by content rather than by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from birthmark.checkpoints import recognise
from birthmark.checkpoints.folder import PICKLE_SUFFIXES, TORCH_SUFFIXES, open_folder, open_index
from birthmark.checkpoints.interface import Checkpoint
from birthmark.checkpoints.paddle import open_paddle
from birthmark.checkpoints.plain_pickle import open_plain_pickle
from birthmark.checkpoints.safetensors import MAX_HEADER, open_safetensors
from birthmark.checkpoints.sources import FileBytes
from birthmark.checkpoints.stored import StoredCheckpoint
from birthmark.checkpoints.torch_legacy import open_torch_legacy
from birthmark.checkpoints.torch_zip import open_torch_zip
from birthmark.errors import CheckpointError, MalformedFile, UnsupportedFormat


def open_checkpoint(path: str | Path, *, max_header: int = MAX_HEADER) -> Checkpoint:
    """Open the checkpoint at a path; only headers are read until values are asked for.

    Args:
        path: a safetensors, PyTorch or Paddle file, a pickle of arrays, an index of shards, or a folder of
            these.
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
    named_safetensors = path.suffix == ".safetensors"
    if kind == recognise.SAFETENSORS or (named_safetensors and kind in _PERHAPS):
        return open_safetensors(source, max_header=max_header)
    if kind == recognise.ZIP:
        return open_torch_zip(source)
    if kind == recognise.TORCH_LEGACY:
        return open_torch_legacy(source)
    if kind == recognise.PADDLE:
        return open_paddle(source)
    if kind == recognise.PICKLE:
        return open_plain_pickle(source)
    if kind == recognise.TEXT_PICKLE and name.endswith((*TORCH_SUFFIXES, *PICKLE_SUFFIXES)):
        return _open_text_pickle(source)
    if kind == recognise.EMPTY:
        raise MalformedFile(f"{name} is empty: it has 0 bytes.")
    kind = {recognise.JSON: "a JSON file", recognise.TEXT_PICKLE: "of an unknown kind"}.get(kind, kind)
    raise UnsupportedFormat(
        f"{name} is {kind}.", advice="Safetensors, PyTorch and Paddle files and pickles are read."
    )


def _open_text_pickle(source: FileBytes) -> StoredCheckpoint:
    """Open a pickle of protocol 0 or 1, which may be any text that happens to begin like one."""
    try:
        return open_plain_pickle(source)
    except MalformedFile:
        if recognise.is_text(source):
            raise UnsupportedFormat(f"{source.name} is a text file, not the weights.") from None
        raise


#: What the first bytes of a damaged safetensors file may look like.
_PERHAPS = frozenset({recognise.EMPTY, recognise.TEXT_PICKLE, recognise.UNKNOWN, recognise.TEXT})
