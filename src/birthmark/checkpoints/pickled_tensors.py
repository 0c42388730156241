"""From unpickled objects to readable tensors: where each one's bytes lie, and what the user should know."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from birthmark.checkpoints import strided
from birthmark.checkpoints.dtypes import BITS
from birthmark.checkpoints.interface import TensorInfo
from birthmark.checkpoints.numpy_objects import ArrayRef
from birthmark.checkpoints.pickled import Span
from birthmark.checkpoints.sources import ByteSource, MemoryBytes
from birthmark.checkpoints.stored import StoredTensor
from birthmark.checkpoints.strict_json import shown
from birthmark.checkpoints.torch_objects import Storage, TensorRef
from birthmark.checkpoints.unpickler import Unpickled
from birthmark.checkpoints.walk import Found, find_tensors
from birthmark.errors import MalformedFile

#: Names listed in one note.
LISTED: Final = 6


@dataclass(frozen=True, slots=True)
class Region:
    """Where the bytes of a storage lie."""

    source: ByteSource
    start: int
    size: int


#: Finds a storage's bytes; MalformedFile where there are none or too few.
Locate = Callable[[Storage], Region]


def read_tensors(
    made: Unpickled, pickle: ByteSource, file: str, locate: Locate
) -> tuple[list[StoredTensor], list[str]]:
    """The tensors reachable from an unpickled object, and notes.

    Args:
        made: what the pickle built.
        pickle: the source that spans of bytes refer to.
        file: the file's name inside the checkpoint.
        locate: finds storages.

    Raises:
        MalformedFile: a tensor that does not fit its storage.
    """
    found = find_tensors(made.root)
    tensors = []
    left_out = []
    for name, leaf in found.leaves.items():
        if isinstance(leaf, ArrayRef):
            tensors.append(_array(name, leaf, pickle, file))
        elif leaf.obstacle is not None:
            left_out.append(f"{shown(name)} ({leaf.obstacle})")
        else:
            tensors.append(_tensor(name, leaf, file, locate))
    return tensors, _notes(found, left_out, made.met, file)


def _tensor(name: str, leaf: TensorRef, file: str, locate: Locate) -> StoredTensor:
    storage = leaf.storage
    region = locate(storage)
    width, rest = divmod(BITS[leaf.dtype], 8)
    start = storage.offset * BITS[storage.dtype] // 8 + leaf.offset * width
    stop = start + strided.span(leaf.shape, leaf.strides) * width
    end = min(region.size, (storage.offset + storage.size) * BITS[storage.dtype] // 8)
    if rest or (stop > end and 0 not in leaf.shape):
        raise MalformedFile(
            f"the tensor {shown(name)} of {file} reaches to byte {stop:,} of a storage that ends at {end:,}."
        )
    return StoredTensor(_info(name, leaf, file), region.source, region.start + start)


def _array(name: str, leaf: ArrayRef, pickle: ByteSource, file: str) -> StoredTensor:
    info = _info(name, leaf, file)
    data = leaf.data
    if isinstance(data, Span):
        return StoredTensor(info, pickle, data.start)
    assert isinstance(data, bytes)
    return StoredTensor(info, MemoryBytes(f"the tensor {shown(name)}", len(data), lambda: data), 0)


def _info(name: str, leaf: TensorRef | ArrayRef, file: str) -> TensorInfo:
    # Only a broadcast can claim more elements than its storage has bytes; positions must still fit int64.
    if math.prod(leaf.shape) >= 2**62:
        raise MalformedFile(f"the tensor {shown(name)} of {file} has more elements than can be counted.")
    strides = None if strided.is_contiguous(leaf.shape, leaf.strides) else leaf.strides
    return TensorInfo(name, leaf.shape, leaf.dtype, file, strides)


def _notes(found: Found, left_out: list[str], met: Mapping[str, int], file: str) -> list[str]:
    notes = []
    if met:
        notes.append(f"{file}: classes that were met and not loaded: {_listed(map(shown, met))}")
    if found.aliases:
        pairs = (f"{shown(alias)} is {shown(name)}" for alias, name in found.aliases)
        notes.append(f"{file}: tensors listed once although they have two names: {_listed(pairs)}")
    if found.repeats:
        notes.append(f"{file}: several tensors have the same name: {_listed(map(shown, found.repeats))}")
    if left_out:
        notes.append(f"{file}: tensors left out: {_listed(left_out)}")
    if found.too_deep:
        notes.append(f"{file}: {found.too_deep:,} containers are nested too deeply and were not looked into")
    return notes


def _listed(items: Iterable[str]) -> str:
    every = list(items)
    more = f", ... ({len(every)} in all)" if len(every) > LISTED else ""
    return ", ".join(every[:LISTED]) + more
