"""The way in: every kind of file, read or named."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from birthmark.checkpoints import Checkpoint, open_checkpoint
from birthmark.errors import BirthmarkError, CheckpointError, MalformedFile, UnsafePickle, UnsupportedFormat

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4665\nsize 5218392\n"


@pytest.mark.parametrize(
    ("name", "legacy"),
    [
        ("m.pt", False),
        ("m.pt", True),
        ("m.pth.tar", True),
        ("m.bin", False),
        ("w", True),
        ("m.safetensors", False),
    ],
)
def test_pytorch_files_are_told_by_their_content(tmp_path: Path, name: str, *, legacy: bool) -> None:
    """The name does not matter, not even a wrong one."""
    torch.save({"a": torch.ones(2)}, tmp_path / name, _use_new_zipfile_serialization=not legacy)

    with open_checkpoint(tmp_path / name) as checkpoint:
        assert checkpoint.rows("a", 0, 1).tolist() == [[1, 1]]
        assert checkpoint.source == str(tmp_path / name)
        assert [(file.name, file.size) for file in checkpoint.files] == [
            (name, (tmp_path / name).stat().st_size)
        ]


@pytest.mark.parametrize("name", ["m.safetensors", "m.bin", "weights"])
def test_safetensors_are_told_by_their_content(tmp_path: Path, name: str) -> None:
    """A safetensors file of another name is one."""
    save_file({"a": torch.ones(2)}, tmp_path / name)

    assert list(open_checkpoint(str(tmp_path / name)).tensors) == ["a"]


@pytest.mark.parametrize("protocol", range(6))
def test_plain_pickles_of_arrays_are_read(tmp_path: Path, protocol: int) -> None:
    """numpy arrays in a pickle of any protocol are tensors, large ones in place, Fortran order too."""
    large = np.arange(6000, dtype=np.float32).reshape(60, 100)
    value = {
        "params": {"w": large, "f": np.asfortranarray(large.astype(np.float64))},
        "b": [np.ones(1, np.float32)],
    }
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(value, protocol) + b"tail")

    checkpoint = open_checkpoint(tmp_path / "m.pkl")

    assert list(checkpoint.tensors) == ["params.w", "params.f", "b.0"][: len(checkpoint.tensors)]
    assert np.array_equal(checkpoint.rows("params.w", 3, 7), large[3:7])
    assert np.array_equal(checkpoint.rows("params.f", 3, 7), large[3:7])
    assert np.array_equal(checkpoint.take("params.f", np.array([9, 1])), large[[9, 1]])
    assert "4 bytes behind the pickle" in checkpoint.notes[-1]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("m.safetensors", LFS, "Git LFS pointer, not the weights; fetch them with `git lfs pull`"),
        ("m.bin", LFS, "Git LFS pointer"),
        ("m.bin", b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "a web page"),
        ("m.safetensors", b"\n <HTML>", "a web page"),
        ("m.bin", b"Entry not found", "a text file"),
        ("m.pt", b"(this begins like a pickle but is text)\n", "a text file"),
        ("m.pt", b"c'est la vie\n\xc3\xa9\n", "a text file"),
        ("m.gguf", b"GGUF\x03\x00\x00\x00", "a GGUF file"),
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file"),
        ("m.onnx", b"\x08\x08\x12\x07pytorch\x1a\x05" + bytes(40), "an ONNX file"),
        ("m.onnx", b"\x08\x07\x12\x0aonnx\x00model" + bytes(40), "an ONNX file"),
        ("m.npy", b"\x93NUMPY\x01\x00", "a numpy .npy file"),
        ("m.tflite", b"\x1c\x00\x00\x00TFL3", "a TensorFlow Lite file"),
        ("m.pt.gz", gzip.compress(b"x", mtime=0), "gzip-compressed"),
        ("m.pth.tar", bytes(257) + b"ustar\x0000" + bytes(300), "a tar archive"),
        ("config.txt", b'{"a": 1}', "a JSON file"),
        ("m.bin", bytes(100), "of an unknown kind"),
        ("m.bin", b"(\xff\xfe\x00", "holds a byte that is no instruction"),
    ],
)  # fmt: skip
def test_other_files_are_named(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    """A file that is no checkpoint is said to be what it seems to be, in one line."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=kind) as caught:
        open_checkpoint(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["m.safetensors", "m.pt", "m"])
def test_empty_files_are_malformed(tmp_path: Path, name: str) -> None:
    """An empty file is said to be empty."""
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(MalformedFile, match="0 bytes"):
        open_checkpoint(tmp_path / name)


@pytest.mark.parametrize("name", ["missing.pt", "missing/deeper.safetensors", "a\x00b", "x" * 5000])
def test_paths_to_nothing_are_one_clear_error(tmp_path: Path, name: str) -> None:
    """Missing and impossible paths give one line."""
    with pytest.raises(CheckpointError) as caught:
        open_checkpoint(f"{tmp_path}/{name}")
    assert "\n" not in str(caught.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Something that is neither file nor folder is refused at once."""
    os.mkfifo(tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="not a regular file"):
        open_checkpoint(tmp_path / "m.pt")


def test_text_pickles_that_run_something_are_refused_by_name(tmp_path: Path) -> None:
    """A pickle of protocol 0 is still a pickle."""
    (tmp_path / "m.pt").write_bytes(b"cos\nsystem\n(S'echo PAYLOAD'\ntR.")
    with pytest.raises(UnsafePickle, match=r"os\.system"):
        open_checkpoint(tmp_path / "m.pt")


def test_the_header_limit_is_passed_on(tmp_path: Path) -> None:
    """max_header reaches shards of a folder too."""
    save_file({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    for path in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(MalformedFile, match="the limit is 10 "):
            open_checkpoint(path, max_header=10)


def test_every_way_in_gives_the_same_interface(tmp_path: Path) -> None:
    """Files of every format are `Checkpoint`s."""
    save_file({"a": torch.ones(2)}, tmp_path / "a.safetensors")
    torch.save({"a": torch.ones(2)}, tmp_path / "a.pt")
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"a": np.ones(2, np.float32)}))
    for name in ("a.safetensors", "a.pt", "a.pkl"):
        with open_checkpoint(tmp_path / name) as checkpoint:
            assert isinstance(checkpoint, Checkpoint)
            assert checkpoint.rows("a", 0, 1).tolist() == [[1, 1]]
            assert checkpoint.bytes_read > 0


def test_unsupported_is_not_malformed() -> None:
    """The two families of refusal stay apart, and both are errors of a checkpoint."""
    assert issubclass(UnsupportedFormat, CheckpointError)
    assert not issubclass(UnsupportedFormat, MalformedFile)
    assert issubclass(CheckpointError, BirthmarkError)
