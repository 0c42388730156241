"""PyTorch files before 1.6, against stock PyTorch."""

from __future__ import annotations

import io
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.checkpoints.sources import FileBytes, MemoryBytes
from birthmark.checkpoints.stored import StoredCheckpoint
from birthmark.checkpoints.torch_legacy import is_torch_legacy, open_torch_legacy
from birthmark.errors import BirthmarkError, MalformedFile, UnsafePickle, UnsupportedFormat


def saved(value: object, **options: int) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, _use_new_zipfile_serialization=False, **options)
    return buffer.getvalue()


def opened(data: bytes) -> StoredCheckpoint:
    return open_torch_legacy(MemoryBytes("it", len(data), lambda: data))


def same(checkpoint: StoredCheckpoint, expected: dict[str, torch.Tensor]) -> None:
    """The checkpoint holds exactly these tensors."""
    assert list(checkpoint.tensors) == list(expected)
    for name, tensor in expected.items():
        info = checkpoint.tensors[name]
        assert info.shape == tuple(tensor.shape)
        assert f"torch.{info.dtype}" == str(tensor.dtype)
        if info.is_float:
            wide = tensor.detach() if tensor.dtype == torch.float64 else tensor.detach().float()
            rows = checkpoint.rows(name, 0, info.matrix_shape[0])
            assert np.array_equal(wide.numpy().reshape(info.matrix_shape), rows)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_files_of_every_protocol_are_recognised_and_read(protocol: int) -> None:
    """Views, dtypes and shared storages come out as they were saved."""
    base = torch.randn(6, 4)
    tensors = {
        "a": base,
        "t": base.t(),
        "part": base[1:3, ::2],
        "half": base.half(),
        "brain": base.bfloat16(),
        "double": base.double(),
        "ints": torch.arange(5),
        "flags": torch.tensor([True, False]),
        "empty": torch.empty(0),
    }

    data = saved(tensors, pickle_protocol=protocol)

    assert is_torch_legacy(data[:64])
    same(opened(data), tensors)


def test_training_checkpoints_and_whole_modules() -> None:
    """Nested containers and pickled modules are named by their way and like state dicts."""
    net = torch.nn.Sequential(OrderedDict(fc=torch.nn.Linear(3, 2), act=torch.nn.ReLU()))

    data = saved({"epoch": 1, "net": net, "state": {"copy": net.fc.weight.detach().clone()}})

    same(
        opened(data),
        {"net.fc.weight": net.fc.weight, "net.fc.bias": net.fc.bias, "state.copy": net.fc.weight},
    )


def test_values_are_read_in_place(tmp_path: Path) -> None:
    """Opening reads pickles and counts; rows cost their bytes."""
    path = tmp_path / "model.pth"
    torch.save({"a": torch.zeros(5000, 100)}, path, _use_new_zipfile_serialization=False)
    source = FileBytes(path, path.name)
    checkpoint = open_torch_legacy(source)
    before = checkpoint.bytes_read

    checkpoint.rows("a", 10, 20)

    assert before < 2**17
    assert checkpoint.bytes_read - before == 4 * 1000


def test_what_follows_the_storages_is_noted() -> None:
    """Two objects saved into one file: the first is read, the rest is not passed over in silence."""
    first = saved({"a": torch.ones(3)})

    checkpoint = opened(first + saved({"b": torch.ones(3)}))

    assert list(checkpoint.tensors) == ["a"]
    assert "were not looked at" in checkpoint.notes[0]


MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
FACTS = pickle.dumps({"protocol_version": 1001, "little_endian": True}, 2)
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06%stQ"
TENSOR = b"ctorch._utils\n_rebuild_tensor\n(" + STORAGE + b"K\x00K\x02\x85K\x01\x85tR"
OBJECT = b"\x80\x02}X\x01\x00\x00\x00a" + TENSOR + b"s."


def made(
    *,
    version: object = 1001,
    facts: bytes = FACTS,
    view: bytes = b"N",
    keys: object = ("0",),
    storage: bytes = struct.pack("<q6f", 6, *range(6)),
    body: bytes | None = None,
) -> bytes:
    listed = list(keys) if isinstance(keys, tuple) else keys
    parts = [MAGIC, pickle.dumps(version, 2), facts, OBJECT % view if body is None else body]
    return b"".join([*parts, pickle.dumps(listed, 2), storage])


def test_the_hand_made_file_is_read() -> None:
    """The sound twin of the refused ones."""
    assert opened(made()).rows("a", 0, 1).tolist() == [[0, 1]]


def test_views_of_storages_start_where_they_say() -> None:
    """Old files name a part of a storage by offset and size."""
    view = b"(X\x01\x00\x00\x00vK\x03K\x02t"

    assert opened(made(view=view)).rows("a", 0, 1).tolist() == [[3, 4]]


def test_files_of_python_2_are_read() -> None:
    """Python 2 wrote texts as byte strings."""
    body = (
        (OBJECT % b"N")
        .replace(b"X\x07\x00\x00\x00storage", b"U\x07storage")
        .replace(b"X\x01\x00\x00\x00", b"U\x01")
    )

    assert opened(made(body=body)).rows("a", 0, 1).tolist() == [[0, 1]]


def test_classes_with_their_source_are_looked_into() -> None:
    """Old files keep a module's class by a persistent id with its source text; it is not run."""
    net = b"(U\x06modulecmy\nNet\nU\x06net.pyU\x04codetQ)\x81"
    body = b"\x80\x02" + net + b"}U\x01w" + TENSOR % b"N" + b"sb."

    checkpoint = opened(made(body=body))

    assert list(checkpoint.tensors) == ["w"]
    assert "my.Net" in checkpoint.notes[0]


def test_variables_of_pytorch_0_are_their_tensors() -> None:
    """A Variable or Parameter around a tensor is that tensor; its flags are passed over."""
    parameter = b"ctorch.nn.parameter\nParameter\n" + TENSOR % b"N" + b"\x85R(\x88\x89Ntb"
    body = b"\x80\x02}U\x01a" + parameter + b"s."

    assert opened(made(body=body)).rows("a", 0, 1).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (made(version=1000), UnsupportedFormat, "protocol version 1000"),
        (made(facts=pickle.dumps({"little_endian": False}, 2)), UnsupportedFormat, "big-endian"),
        (made(facts=pickle.dumps({}, 2)), UnsupportedFormat, "big-endian"),
        (made(facts=pickle.dumps(7, 2)), MalformedFile, "what machine"),
        (made(keys={}), MalformedFile, "no list of its storages"),
        (made(keys=()), MalformedFile, "lacks the storage '0'"),
        (made(keys=("0", "0")), MalformedFile, "'0' twice"),
        (made(keys=("0", "1")), MalformedFile, "'1' twice or without need"),
        (made(keys=(None,)), MalformedFile, "None twice or without need"),
        (made(storage=b"\x06"), MalformedFile, "cut short before its storage"),
        (made(storage=struct.pack("<q", 6) + bytes(20)), MalformedFile, "needs 24 bytes, 20 are left"),
        (made(storage=struct.pack("<q", -1) + bytes(24)), MalformedFile, "cut short"),
        (made(storage=struct.pack("<qf", 1, 0)), MalformedFile, "'a' of it reaches to byte 8"),
        (made(view=b"(X\x01\x00\x00\x00vK\x05K\x02t"), MalformedFile, "does not lie inside"),
        (made(view=b"(X\x01\x00\x00\x00vK\x05K\x01t"), MalformedFile, "ends at 24"),
        (made(view=b"K\x01"), MalformedFile, "does not lie inside"),
        (made(body=b"\x80\x02cos\nsystem\n."), UnsafePickle, "os.system"),
        (made()[:60], MalformedFile, "cut short"),
        (MAGIC, MalformedFile, "cut short"),
        (MAGIC + b"\x80\x02cos\nsystem\n.", UnsafePickle, "os.system"),
        (made(body=OBJECT.replace(b"FloatSt", b"FooSt") % b"N"), UnsupportedFormat, "storage of a kind"),
    ],
)  # fmt: skip
def test_files_that_contradict_themselves_are_refused(
    data: bytes, error: type[BirthmarkError], reason: str
) -> None:
    """Every part is checked against the others before values are read."""
    with pytest.raises(error, match=reason):
        opened(data)


SAMPLE = saved({"a": torch.arange(6.0).reshape(2, 3).t(), "n": torch.nn.Linear(2, 1)})


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files_give_a_clear_error_or_a_reading(data: Any) -> None:
    """Flipped or removed bytes never give another exception."""
    raw = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        if data.draw(st.integers(0, 9)):
            raw[place] = data.draw(st.integers(0, 255))
        else:
            del raw[place : place + data.draw(st.integers(1, 20))]

    def message() -> str:
        try:
            checkpoint = opened(bytes(raw))
            for name, info in checkpoint.tensors.items():
                if info.is_float and info.size < 10_000:
                    assert checkpoint.rows(name, 0, info.matrix_shape[0]).size == info.size
        except BirthmarkError as error:
            return str(error)
        return "a reading"

    assert "\n" not in message()
