"""Folders of files, and the index that says which shard holds which tensor.

An index is a stranger's text that names files, so its paths must stay inside the folder, and what it says is
checked against what the shards hold before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from birthmark.checkpoints.interface import FileInfo
from birthmark.checkpoints.sources import FileBytes
from birthmark.checkpoints.stored import StoredCheckpoint, joined
from birthmark.checkpoints.strict_json import parse_object, shown
from birthmark.errors import CheckpointError, MalformedFile, UnsupportedFormat

#: Opens one file: (path, name inside the checkpoint).
Opener = Callable[[Path, str], StoredCheckpoint]

#: Longest index read, in bytes.
MAX_INDEX: Final = 100_000_000

INDEX_SUFFIX: Final = ".index.json"

#: The indices that frameworks write, the preferred one first.
KNOWN_INDICES: Final = ("model.safetensors.index.json", "pytorch_model.bin.index.json")

TORCH_SUFFIXES: Final = (".bin", ".pt", ".pth", ".pth.tar", ".ckpt")
PICKLE_SUFFIXES: Final = (".pkl", ".pickle")

#: Files beside the weights that trainers write with the same suffixes: stems, exact or as a prefix.
NOT_WEIGHTS: Final = ("training_args", "optimizer", "scheduler", "scaler", "rng_state")


def open_folder(folder: Path, opener: Opener) -> StoredCheckpoint:
    """Open the weights in a folder: its index, else its safetensors files, else its PyTorch files.

    Raises:
        UnsupportedFormat: the folder holds no weights.
        CheckpointError: index and shards, or the files among themselves, do not agree.
    """
    try:
        names = sorted(
            item.name for item in folder.iterdir() if not item.name.startswith(".") and item.is_file()
        )
    except OSError as error:
        raise CheckpointError(f"cannot list the folder {folder}: {error.strerror or error}.") from None
    safetensors = [name for name in names if name.endswith(".safetensors")]
    torch = [name for name in names if name.endswith(TORCH_SUFFIXES) and not name.startswith(NOT_WEIGHTS)]
    pickles = [name for name in names if name.endswith(PICKLE_SUFFIXES)]
    for index in _indices(names, ".safetensors" + INDEX_SUFFIX):
        return open_index(folder / index, opener, source=str(folder), notes=_left_out(torch))
    if safetensors:
        return _open_all(folder, safetensors, opener, _left_out(torch))
    for index in _indices(names, INDEX_SUFFIX):
        return open_index(folder / index, opener, source=str(folder))
    chosen = [name for name in torch if name.startswith("pytorch_model")] or torch or pickles
    if chosen:
        return _open_all(folder, chosen, opener, _left_out([name for name in torch if name not in chosen]))
    raise UnsupportedFormat(
        f"the folder {folder} holds no weights: no .safetensors, {', '.join(TORCH_SUFFIXES)} or .pkl file."
    )


def _indices(names: list[str], suffix: str) -> list[str]:
    """The one index to use, or none."""
    found = [name for name in names if name.endswith(suffix)]
    known = [name for name in KNOWN_INDICES if name in found]
    if len(found) > 1 and not known:
        raise CheckpointError(
            f"the folder holds {len(found)} indices: {', '.join(found[:4])}. Name the one to read."
        )
    return [*known[:1]] or found


def _left_out(names: list[str]) -> list[str]:
    return [f"not read, since other weights are beside it: {', '.join(names)}"] if names else []


def _open_all(folder: Path, names: list[str], opener: Opener, notes: list[str]) -> StoredCheckpoint:
    return joined(str(folder), [opener(folder / name, name) for name in names], notes=notes)


def open_index(
    path: Path, opener: Opener, *, source: str | None = None, notes: list[str] | None = None
) -> StoredCheckpoint:
    """Open the shards that an index names, and check that both agree.

    Args:
        path: the index file.
        opener: opens a shard.
        source: what the user named; the index itself by default.
        notes: what the user should know anyhow.

    Raises:
        MalformedFile: not an index, or it disagrees with the shards; the message names the tensor.
        CheckpointError: a shard is missing, or a path leaves the folder.
    """
    name = path.name
    index = FileBytes(path, name)
    if index.size > MAX_INDEX:
        raise MalformedFile(f"the index {name} has {index.size:,} bytes; the limit is {MAX_INDEX:,}.")
    where = _weight_map(parse_object(index.read(0, index.size).tobytes(), f"the index {name}"), name)
    shards = sorted(set(where.values()))
    for shard in shards:
        _check_path(shard, name)
    missing = [shard for shard in shards if not (path.parent / shard).exists()]
    if missing:
        raise CheckpointError(
            f"the index {name} names {len(shards)} shards, and {len(missing)} of them are missing: "
            f"{', '.join(shown(shard) for shard in missing[:4])}{', ...' if missing[4:] else ''}.",
            advice="Fetch the missing files, or name the one file to read.",
        )
    parts = [opener(path.parent / shard, shard) for shard in shards]
    extra = _cross_check(where, parts, name)
    checkpoint = joined(
        source or str(path), parts, [FileInfo(name, index.size)], [*(notes or []), *_extra_note(extra, name)]
    )
    checkpoint.sources = (index, *checkpoint.sources)
    return checkpoint


def _weight_map(document: dict[str, object], name: str) -> dict[str, str]:
    where = document.get("weight_map")
    if not isinstance(where, dict) or not where:
        raise MalformedFile(f"{name} has no weight_map: this is not the index of a sharded checkpoint.")
    for tensor, shard in where.items():
        if not isinstance(shard, str):
            raise MalformedFile(f"the index {name} does not name a file for the tensor {shown(tensor)}.")
    return where


def _check_path(shard: str, name: str) -> None:
    """A shard's path must be relative, lead downwards, and mean the same on every system."""
    windows = PureWindowsPath(shard)
    if (
        not shard.isprintable()
        or "\\" in shard
        or windows.drive
        or PurePosixPath(shard).is_absolute()
        or any(part in ("", ".", "..") for part in shard.split("/"))
    ):
        raise MalformedFile(
            f"the index {name} names {shown(shard)}: not a plain path inside the folder; not followed."
        )


def _cross_check(where: dict[str, str], parts: list[StoredCheckpoint], name: str) -> list[str]:
    """Each tensor lies where the index says; returns the tensors that the index does not name."""
    holders: dict[str, str] = {}
    for part in parts:
        for tensor, info in part.tensors.items():
            if tensor in holders:
                raise MalformedFile(
                    f"the tensor {shown(tensor)} is in two shards, "
                    f"{shown(holders[tensor])} and {shown(info.file)}."
                )
            holders[tensor] = info.file
    for tensor, shard in where.items():
        if tensor not in holders:
            raise MalformedFile(
                f"the index {name} says that {shown(shard)} holds {shown(tensor)}, but no shard does."
            )
        if holders[tensor] != shard:
            raise MalformedFile(
                f"the index {name} says that {shown(shard)} holds {shown(tensor)}, "
                f"but {shown(holders[tensor])} does."
            )
    return [tensor for tensor in holders if tensor not in where]


def _extra_note(extra: list[str], name: str) -> list[str]:
    if not extra:
        return []
    return [
        f"the index {name} does not name {len(extra)} tensors of the shards; they are read all the same: "
        f"{', '.join(shown(tensor) for tensor in extra[:4])}{', ...' if extra[4:] else ''}"
    ]
