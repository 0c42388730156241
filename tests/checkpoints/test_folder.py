"""Folders, indices and shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from birthmark.checkpoints import folder as module
from birthmark.checkpoints.opening import open_checkpoint
from birthmark.errors import BirthmarkError, CheckpointError, MalformedFile, UnsupportedFormat

A, B, C = torch.ones(2, 2), torch.zeros(3), torch.full((2,), 7.0)


def write(folder: Path, **files: dict[str, torch.Tensor]) -> Path:
    """Save files by their names with _ for the last dot."""
    for name, tensors in files.items():
        stem, _, suffix = name.rpartition("_")
        path = folder / f"{stem}.{suffix}"
        if suffix == "safetensors":
            save_file(tensors, path)
        else:
            torch.save(tensors, path)
    return folder


def write_index(folder: Path, where: object, name: str = "model.safetensors.index.json") -> Path:
    (folder / name).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": where}))
    return folder / name


def read(path: Path) -> dict[str, str]:
    """Each tensor and the file it lies in."""
    with open_checkpoint(path) as checkpoint:
        for name, info in checkpoint.tensors.items():
            checkpoint.rows(name, 0, info.matrix_shape[0])
        return {name: info.file for name, info in checkpoint.tensors.items()}


SHARDS: Any = {"m1_safetensors": {"a": A}, "m2_safetensors": {"b": B, "c": C}}
WHERE = {"a": "m1.safetensors", "b": "m2.safetensors", "c": "m2.safetensors"}


def test_shards_are_one_checkpoint(tmp_path: Path) -> None:
    """A folder with an index and the index itself give all tensors and all files."""
    index = write_index(write(tmp_path, **SHARDS), WHERE)

    assert read(tmp_path) == read(index) == WHERE
    with open_checkpoint(tmp_path) as checkpoint:
        assert [file.name for file in checkpoint.files] == ["m1.safetensors", "m2.safetensors", index.name]
        assert checkpoint.source == str(tmp_path)
        opening = checkpoint.bytes_read
        assert opening >= index.stat().st_size
        checkpoint.rows("c", 0, 1)
        assert checkpoint.bytes_read == opening + 8


def test_shards_of_pytorch_are_one_checkpoint(tmp_path: Path) -> None:
    """The older index of .bin files works alike."""
    write(tmp_path, m1_bin={"a": A}, m2_bin={"b": B})
    where = {"a": "m1.bin", "b": "m2.bin"}
    write_index(tmp_path, where, "pytorch_model.bin.index.json")

    assert read(tmp_path) == where


def test_shards_in_subfolders_are_found(tmp_path: Path) -> None:
    """A path that leads downwards is a plain path."""
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts", m1_safetensors={"a": A})
    where = {"a": "parts/m1.safetensors"}
    write_index(tmp_path, where)

    assert read(tmp_path) == where


def test_missing_shards_are_named(tmp_path: Path) -> None:
    """The files that are not there are listed."""
    write_index(write(tmp_path, m1_safetensors={"a": A}), WHERE)

    with pytest.raises(CheckpointError, match=r"2 shards, and 1 of them are missing: 'm2.safetensors'"):
        read(tmp_path)


def test_a_tensor_that_no_shard_holds_is_named(tmp_path: Path) -> None:
    """The index promises more than the shards hold."""
    write_index(write(tmp_path, **SHARDS), {**WHERE, "d": "m1.safetensors"})

    with pytest.raises(MalformedFile, match=r"'m1.safetensors' holds 'd', but no shard does"):
        read(tmp_path)


def test_a_tensor_in_another_shard_is_named(tmp_path: Path) -> None:
    """The index points to the wrong shard."""
    write_index(write(tmp_path, **SHARDS), {**WHERE, "c": "m1.safetensors"})

    with pytest.raises(MalformedFile, match=r"'m1.safetensors' holds 'c', but 'm2.safetensors' does"):
        read(tmp_path)


def test_a_tensor_in_two_shards_is_refused(tmp_path: Path) -> None:
    """Which one counts is not knowable."""
    write_index(write(tmp_path, m1_safetensors={"a": A, "b": B}, m2_safetensors={"b": B, "c": C}), WHERE)

    with pytest.raises(MalformedFile, match=r"'b' is in two shards, 'm1.safetensors' and 'm2.safetensors'"):
        read(tmp_path)


def test_tensors_that_the_index_forgets_are_read_with_a_note(tmp_path: Path) -> None:
    """What a shard holds is read even if the index does not say so."""
    write_index(write(tmp_path, **SHARDS), {"a": "m1.safetensors", "b": "m2.safetensors"})

    assert set(read(tmp_path)) == {"a", "b", "c"}
    assert "does not name 1 tensors" in open_checkpoint(tmp_path).notes[0]


@pytest.mark.parametrize(
    "shard",
    ["../m1.safetensors", "/etc/passwd", "x/../../m1", "C:\\m1", "C:m1", "x\\m1", "./m1", "a//b", "", "a\nb"],
)
def test_paths_that_leave_the_folder_are_not_followed(tmp_path: Path, shard: str) -> None:
    """A stranger's index must not name files elsewhere."""
    write_index(write(tmp_path, **SHARDS), {**WHERE, "c": shard})

    with pytest.raises(MalformedFile, match="not a plain path"):
        read(tmp_path)


@pytest.mark.parametrize("where", [None, {}, [1], {"a": 1}, {"a": None}])
def test_an_index_without_a_map_is_refused(tmp_path: Path, where: object) -> None:
    """The weight map must map names to files."""
    write_index(write(tmp_path, **SHARDS), where)

    with pytest.raises(MalformedFile):
        read(tmp_path)


def test_an_index_that_names_a_tensor_twice_is_refused(tmp_path: Path) -> None:
    """Repeated keys are a fault here as in headers."""
    write(tmp_path, **SHARDS)
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "m1.safetensors", "a": "m2.safetensors"}}'
    )

    with pytest.raises(MalformedFile, match="'a' twice"):
        read(tmp_path)


def test_the_length_of_an_index_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index beyond the limit is not read."""
    write_index(write(tmp_path, **SHARDS), WHERE)
    monkeypatch.setattr(module, "MAX_INDEX", 20)

    with pytest.raises(MalformedFile, match="the limit is 20"):
        read(tmp_path)


def test_of_several_indices_the_usual_one_is_taken(tmp_path: Path) -> None:
    """Without the usual name the user has to say which."""
    write(tmp_path, **SHARDS)
    write_index(tmp_path, WHERE, "model.fp16.safetensors.index.json")
    write_index(tmp_path, WHERE, "model.other.safetensors.index.json")

    with pytest.raises(CheckpointError, match="2 indices"):
        read(tmp_path)

    write_index(tmp_path, WHERE)
    assert read(tmp_path) == WHERE


def test_several_files_without_an_index_are_joined(tmp_path: Path) -> None:
    """All safetensors files of a folder are one checkpoint."""
    assert read(write(tmp_path, **SHARDS)) == WHERE


def test_several_files_with_the_same_tensor_are_refused(tmp_path: Path) -> None:
    """Two versions of a model in one folder are not mixed."""
    write(tmp_path, a_safetensors={"a": A}, b_safetensors={"a": B})

    with pytest.raises(
        CheckpointError, match=r"'a' is in two files, 'a.safetensors' and 'b.safetensors'\. Name"
    ):
        read(tmp_path)


def test_safetensors_come_before_pytorch_files_and_the_rest_is_noted(tmp_path: Path) -> None:
    """What was not read is said."""
    write(tmp_path, model_safetensors={"a": A}, pytorch_model_bin={"a": B})

    assert read(tmp_path) == {"a": "model.safetensors"}
    assert open_checkpoint(tmp_path).notes == (
        "not read, since other weights are beside it: pytorch_model.bin",
    )


def test_pytorch_model_comes_before_other_pytorch_files(tmp_path: Path) -> None:
    """Files of trainers beside the weights are no weights."""
    write(
        tmp_path,
        pytorch_model_bin={"a": A},
        training_args_bin={"z": B},
        optimizer_pt={"z": B},
        extra_pt={"z": C},
    )

    assert read(tmp_path) == {"a": "pytorch_model.bin"}
    assert "extra.pt" in open_checkpoint(tmp_path).notes[0]


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    """The droppings of file systems are no checkpoints."""
    write(tmp_path, model_safetensors={"a": A})
    (tmp_path / "._model.safetensors").write_bytes(b"junk")

    assert read(tmp_path) == {"a": "model.safetensors"}


@pytest.mark.parametrize(
    "names", [[], ["config.json", "README.md"], ["training_args.bin"], [".x.safetensors"]]
)
def test_a_folder_without_weights_is_refused(tmp_path: Path, names: list[str]) -> None:
    """The message says what would have been weights."""
    for name in names:
        (tmp_path / name).write_text("{}")

    with pytest.raises(UnsupportedFormat, match="holds no weights"):
        read(tmp_path)


def test_a_folder_that_may_not_be_listed_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused permission is said in the system's words."""

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(BirthmarkError, match="Permission denied"):
        read(tmp_path)
