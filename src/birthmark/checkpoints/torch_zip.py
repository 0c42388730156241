"""PyTorch files since 1.6: a zip archive of one pickle and one member for each storage.

Source: pytorch, `torch/serialization.py` (`_save`, `_load`) and `caffe2/serialize/inline_container.h`.
"""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.archive import DEFLATED, Archive
from birthmark.checkpoints.containers import CONTAINERS
from birthmark.checkpoints.cursor import Cursor
from birthmark.checkpoints.dtypes import BITS
from birthmark.checkpoints.interface import FileInfo
from birthmark.checkpoints.machine import Builder
from birthmark.checkpoints.numpy_objects import ARRAYS
from birthmark.checkpoints.pickled_tensors import Region, read_tensors
from birthmark.checkpoints.settings import settings_of
from birthmark.checkpoints.sources import ByteSource
from birthmark.checkpoints.stored import StoredCheckpoint
from birthmark.checkpoints.strict_json import shown
from birthmark.checkpoints.torch_objects import TENSORS, Storage, Storages
from birthmark.checkpoints.unpickler import unpickle
from birthmark.errors import MalformedFile, UnsupportedFormat

#: All that a pickle of PyTorch may build.
BUILDERS: Final[dict[str, Builder]] = {**CONTAINERS, **ARRAYS, **TENSORS}

PICKLE: Final = "data.pkl"


def open_torch_zip(source: ByteSource) -> StoredCheckpoint:
    """Read the pickle of a PyTorch zip file and find its storages.

    Raises:
        MalformedFile: the archive, the pickle or a storage contradicts itself.
        UnsafePickle: the pickle asks for something that could run.
        UnsupportedFormat: another kind of zip archive, or numbers of the other byte order.
    """
    archive = Archive(source)
    prefix = _prefix(archive)
    _check_order(archive, prefix)
    pickle = archive.open(prefix + PICKLE)
    made = unpickle(Cursor(pickle), BUILDERS, Storages())
    members = _Members(archive, prefix)
    tensors, notes = read_tensors(made, pickle, source.name, members.locate)
    if any(member.method == DEFLATED for member in archive.members.values()):
        notes.append(f"{source.name}: members are compressed, which PyTorch never does; inflated in memory")
    files = [FileInfo(source.name, source.size)]
    return StoredCheckpoint(source.name, files, tensors, [source], notes, settings_of(made.root))


def _prefix(archive: Archive) -> str:
    """The folder inside the archive that holds the pickle, with its slash."""
    name = archive.source.name
    found = [member for member in archive.members if member == PICKLE or member.endswith("/" + PICKLE)]
    depth = min((member.count("/") for member in found), default=0)
    outermost = [member for member in found if member.count("/") == depth]
    if len(outermost) > 1:
        raise MalformedFile(f"{name} holds several pickles: {', '.join(map(shown, outermost[:4]))}.")
    if outermost:
        return outermost[0].removesuffix(PICKLE)
    if any(member.endswith(".npy") for member in archive.members):
        raise UnsupportedFormat(f"{name} is a numpy .npz archive, which birthmark does not read.")
    if any(member.endswith("model.json") for member in archive.members):
        raise UnsupportedFormat(f"{name} is a TorchScript archive from before PyTorch 1.4.")
    listed = ", ".join(map(shown, list(archive.members)[:4])) or "nothing"
    raise UnsupportedFormat(f"{name} is a zip archive but not of PyTorch: no {PICKLE}; it holds {listed}.")


def _check_order(archive: Archive, prefix: str) -> None:
    """Refuse numbers of a big-endian machine."""
    if prefix + "byteorder" in archive.members:
        member = archive.open(prefix + "byteorder")
        order = member.read(0, min(member.size, 16)).tobytes()
        if order != b"little":
            raise UnsupportedFormat(
                f"{archive.source.name} holds numbers in the byte order {order!r}; little is read."
            )


class _Members:
    """Finds the member of each storage."""

    def __init__(self, archive: Archive, prefix: str) -> None:
        self._archive = archive
        self._prefix = prefix
        self._found: dict[str, ByteSource] = {}

    def locate(self, storage: Storage) -> Region:
        """Where a storage lies."""
        archive = self._archive
        member = f"{self._prefix}data/{storage.key}"
        if member not in self._found:
            if member not in archive.members:
                raise MalformedFile(
                    f"{archive.source.name} lacks the storage {shown(storage.key)} of its pickle."
                )
            self._found[member] = archive.open(member)
        contents = self._found[member]
        needed = storage.size * BITS[storage.dtype] // 8
        if contents.size < needed:
            raise MalformedFile(
                f"the storage {shown(storage.key)} of {archive.source.name} has {contents.size:,} bytes; "
                f"the pickle says {needed:,}."
            )
        return Region(contents, 0, contents.size)
