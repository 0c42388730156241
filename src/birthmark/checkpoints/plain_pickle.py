"""Plain pickles of numpy and JAX arrays: nested containers whose arrays are found and named."""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.containers import CONTAINERS
from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.interface import FileInfo
from birthmark.checkpoints.machine import Builder
from birthmark.checkpoints.numpy_objects import ARRAYS
from birthmark.checkpoints.pickled_tensors import Region, read_tensors
from birthmark.checkpoints.settings import settings_of
from birthmark.checkpoints.sources import ByteSource
from birthmark.checkpoints.stored import StoredCheckpoint
from birthmark.checkpoints.strict_json import shown
from birthmark.checkpoints.torch_objects import Storage
from birthmark.checkpoints.unpickler import unpickle
from birthmark.errors import MalformedFile

BUILDERS: Final[dict[str, Builder]] = {**CONTAINERS, **ARRAYS}


def open_plain_pickle(source: ByteSource) -> StoredCheckpoint:
    """Read a pickle and find its arrays; large ones stay in the file.

    Raises:
        MalformedFile: the pickle is cut short or makes no sense.
        UnsafePickle: it asks for something that could run.
        UnsupportedFormat: it keeps its numbers elsewhere.
    """
    cursor = Cursor(source)
    made = unpickle(cursor, BUILDERS)
    tensors, notes = read_tensors(made, source, source.name, _no_storage)
    if cursor.left:
        notes.append(f"{source.name}: {cursor.left:,} bytes behind the pickle were not looked at")
    files = [FileInfo(source.name, source.size)]
    return StoredCheckpoint(source.name, files, tensors, [source], notes, settings_of(made.root))


def _no_storage(storage: Storage) -> Region:
    raise MalformedFile(f"the pickle names the storage {shown(storage.key)}, but it is not of PyTorch.")
