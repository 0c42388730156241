"""PyTorch files since 1.6, against stock PyTorch."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
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
from birthmark.checkpoints.torch_zip import open_torch_zip
from birthmark.errors import BirthmarkError, MalformedFile, UnsafePickle, UnsupportedFormat


def saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def opened(data: bytes) -> StoredCheckpoint:
    return open_torch_zip(MemoryBytes("it", len(data), lambda: data))


def same(checkpoint: StoredCheckpoint, expected: dict[str, torch.Tensor]) -> None:
    """The checkpoint holds exactly these tensors, by every way of reading."""
    assert list(checkpoint.tensors) == list(expected)
    for name, tensor in expected.items():
        info = checkpoint.tensors[name]
        assert info.shape == tuple(tensor.shape)
        assert f"torch.{info.dtype}" == str(tensor.dtype)
        if not info.is_float:
            continue
        wide = tensor.detach() if tensor.dtype == torch.float64 else tensor.detach().float()
        matrix = wide.numpy().reshape(info.matrix_shape)
        rows, _ = info.matrix_shape
        got = checkpoint.rows(name, 0, rows)
        assert got.dtype == matrix.dtype
        assert got.flags.c_contiguous
        assert np.array_equal(matrix, got, equal_nan=True)
        if matrix.size:
            some = np.array([rows - 1, 0, rows // 2])
            assert np.array_equal(matrix[some], checkpoint.take(name, some), equal_nan=True)
            every = np.arange(matrix.size)[::-1]
            assert np.array_equal(matrix.reshape(-1)[::-1], checkpoint.elements(name, every), equal_nan=True)
            assert np.array_equal(matrix[rows // 2 :], checkpoint.rows(name, rows // 2, rows), equal_nan=True)


BASE = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5)

VIEWS = {
    "plain": BASE,
    "transposed": BASE[0].t(),
    "permuted": BASE.permute(2, 0, 1),
    "strided": BASE[:, ::2, 1::3],
    "row": BASE[1, 2],
    "column": BASE[:, 1, 3],
    "expanded": BASE[0, 0].expand(4, 5),
    "scalar": BASE[2, 3, 4],
    "empty": torch.empty(0, 3),
    "empty rows": torch.empty(3, 0),
    "diagonal": BASE[0, :, :4].diagonal(),
    "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_their_logical_values(name: str) -> None:
    """Whatever the strides, rows and elements come in C order, and shared storages are read in place."""
    tensors = {"base": BASE, name: VIEWS[name]} if name != "plain" else {name: BASE}

    same(opened(saved(tensors)), tensors)


def test_strides_are_told_where_they_matter() -> None:
    """A contiguous tensor has no strides, another one has its own."""
    checkpoint = opened(saved({"a": BASE, "b": BASE.permute(2, 0, 1)}))

    assert checkpoint.tensors["a"].strides is None
    assert checkpoint.tensors["b"].strides == (1, 20, 5)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
        torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.bool,
        torch.complex64,
    ],
)  # fmt: skip
def test_every_dtype_is_listed_and_floats_are_exact(dtype: torch.dtype) -> None:
    """Stored values come back bit for bit; dtypes that are not decoded are listed."""
    values = torch.tensor([0.0, 1.5, -2.25, 3.0]).to(dtype)

    same(opened(saved({"a": values})), {"a": values})


def test_special_values_survive() -> None:
    """Infinities, zeros of both signs, subnormal numbers and NaN are what was stored."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        values = torch.tensor([float("inf"), float("-inf"), float("nan"), -0.0, 1e-45, 6e-8]).to(dtype)
        checkpoint = opened(saved({"a": values}))
        same(checkpoint, {"a": values})
        assert np.signbit(checkpoint.rows("a", 0, 1)[0, 3])


def test_nested_containers_parameters_and_optimizers() -> None:
    """State dicts inside training checkpoints are named by their way."""
    net = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()["state"]

    checkpoint = opened(
        saved(
            {"epoch": 3, "model": net.state_dict(), "optimizer": optimizer.state_dict(), "best": [net.weight]}
        )
    )

    expected = {f"model.{name}": value for name, value in net.state_dict().items()}
    for key, moments in state.items():
        expected |= {f"optimizer.state.{key}.{name}": value for name, value in moments.items()}
    same(checkpoint, expected)
    assert any("'best.0' is 'model.weight'" in note for note in checkpoint.notes)


class Net(torch.nn.Module):  # type: ignore[misc]
    """A net that is pickled whole."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()
        )
        self.head = torch.nn.Linear(2, 2, bias=False)
        self.register_buffer("steps", torch.arange(3))
        self.loose = torch.ones(2)


def test_whole_modules_are_named_like_their_state_dicts() -> None:
    """A pickled module is read without its class; loose tensors come too, and the classes are noted."""
    net = Net()

    checkpoint = opened(saved(net))

    state = dict(net.state_dict())
    assert {name: checkpoint.tensors[name].shape for name in state} == {
        name: tuple(value.shape) for name, value in state.items()
    }
    same(checkpoint, {name: {**state, "loose": net.loose}[name] for name in checkpoint.tensors})
    assert any("test_torch_zip.Net" in note and "not loaded" in note for note in checkpoint.notes)


def test_tied_weights_are_listed_once() -> None:
    """Two names of one tensor give one tensor and a note."""
    weight = torch.nn.Parameter(torch.randn(4, 3))
    checkpoint = opened(saved(OrderedDict(embed=weight, head=weight, copy=weight.detach())))

    same(checkpoint, {"embed": weight})
    assert "listed once" in checkpoint.notes[0]


def test_a_single_tensor_is_a_checkpoint() -> None:
    """torch.save of one tensor names it "tensor"."""
    same(opened(saved(BASE)), {"tensor": BASE})


def test_negated_and_conjugated_views_are_left_out_aloud() -> None:
    """The stored numbers of such a view are not its values, so it is not read as if they were."""
    numbers = torch.tensor([1 + 2j, 3 - 4j])
    checkpoint = opened(saved({"imaginary": numbers.conj().imag, "fine": torch.ones(2)}))

    assert list(checkpoint.tensors) == ["fine"]
    assert "left out: 'imaginary' (it is a negated or conjugated view)" in checkpoint.notes[0]


def test_sparse_and_quantised_tensors_do_not_pass_for_plain_ones() -> None:
    """The values of a sparse tensor are listed by themselves, a quantised tensor only in the notes."""
    sparse = torch.sparse_coo_tensor([[0, 1]], [3.0, 4.0], (5,), check_invariants=True)
    with pytest.warns(UserWarning, match="quantized"):
        quantised = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    checkpoint = opened(saved({"s": sparse, "q": quantised, "plain": torch.ones(2)}))

    assert [name for name, info in checkpoint.tensors.items() if info.is_float] == ["s.1.1", "plain"]
    assert "torch._utils._rebuild_sparse_tensor" in checkpoint.notes[0]
    assert "torch._utils._rebuild_qtensor" in checkpoint.notes[0]


def test_numpy_arrays_inside_are_tensors_too() -> None:
    """Arrays beside tensors are found, large and small."""
    large = np.random.default_rng(0).normal(size=(50, 60))
    checkpoint = opened(
        saved({"a": large, "b": np.array([1, 2], np.float32), "t": torch.ones(2), "s": np.float64(3.0)})
    )

    assert list(checkpoint.tensors) == ["a", "b", "t"]
    assert np.array_equal(checkpoint.rows("a", 0, 50), large)
    assert checkpoint.rows("b", 0, 1).tolist() == [[1.0, 2.0]]


def test_scripted_modules_are_read() -> None:
    """A TorchScript archive gives its parameters under their names."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    buffer = io.BytesIO()
    with pytest.warns(DeprecationWarning, match="TorchScript|torch.jit"):
        torch.jit.save(torch.jit.script(net), buffer)

    same(opened(buffer.getvalue()), dict(net.state_dict()))


def test_values_are_read_in_place(tmp_path: Path) -> None:
    """Opening reads the pickle, not the tensors; rows cost their bytes."""
    path = tmp_path / "model.pt"
    torch.save({"a": torch.zeros(5000, 100), "t": torch.zeros(100, 5000).t()}, path)
    source = FileBytes(path, path.name)

    checkpoint = open_torch_zip(source)
    opening = checkpoint.bytes_read
    checkpoint.rows("a", 10, 20)
    checkpoint.rows("t", 10, 20)

    assert opening < 10_000
    assert checkpoint.bytes_read - opening == 2 * 4 * 1000


STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ"


def rebuilt(arguments: bytes, function: bytes = b"_rebuild_tensor_v2") -> bytes:
    return b"\x80\x02}X\x01\x00\x00\x00actorch._utils\n" + function + b"\n(" + arguments + b"tRs."


FLAGS = b"\x89}"
SOUND = STORAGE + b"K\x00K\x02K\x03\x86K\x03K\x01\x86" + FLAGS


HUGE = b"\x8a\x05\x00\x00\x00\x00\x40"


@pytest.mark.parametrize(
    ("pickle_bytes", "size", "reason"),
    [
        (
            rebuilt(STORAGE + b"K\x01K\x02K\x03\x86K\x03K\x01\x86" + FLAGS),
            24,
            "'a' of model.pt reaches to byte 28",
        ),
        (rebuilt(STORAGE + b"K\x00K\x02K\x03\x86K\x04K\x01\x86" + FLAGS), 24, "reaches to byte 28"),
        (rebuilt(SOUND), 20, "has 20 bytes; the pickle says 24"),
        (rebuilt(SOUND), None, "lacks the storage '0'"),
        (rebuilt(STORAGE + b"K\x00K\x02K\x03\x86K\x03\x85" + FLAGS), 24, "do not fit"),
        (rebuilt(STORAGE + b"J\xff\xff\xff\xffK\x02\x85K\x01\x85" + FLAGS), 24, "do not fit"),
        (rebuilt(STORAGE + b"K\x00J\xff\xff\xff\xff\x85K\x01\x85" + FLAGS), 24, "natural numbers"),
        (rebuilt(STORAGE + b"K\x00K\x02\x85J\xff\xff\xff\xff\x85" + FLAGS), 24, "natural numbers"),
        (rebuilt(b"NK\x00K\x02\x85K\x01\x85" + FLAGS), 24, "without a storage"),
        (rebuilt(b"", b"_rebuild_tensor_v3"), 24, "without a dtype"),
        (rebuilt(b"", b"_rebuild_device_tensor_from_numpy"), 24, "empty stack|too little"),
        (rebuilt(STORAGE + b"K\x00(" + HUGE * 2 + b"t(K\x00K\x00t" + FLAGS), 24, "more elements than"),
        (b"\x80\x02NQ.", None, "in a way that PyTorch does not"),
        (b"\x80\x02(X\x07\x00\x00\x00storageNNNNtQ.", None, "without a key or a size"),
        (b"\x80\x02", None, "cut short"),
    ],
)
def test_tensors_that_do_not_fit_their_storage_are_refused(
    torch_zip: Any, pickle_bytes: bytes, size: int | None, reason: str
) -> None:
    """Sizes, strides, offsets and storages are checked before anything is read."""
    path = torch_zip(pickle_bytes, {} if size is None else {"archive/data/0": bytes(size)})
    with pytest.raises(MalformedFile, match=reason):
        open_torch_zip(FileBytes(path, path.name))


def test_the_hand_made_sound_file_is_read(torch_zip: Any) -> None:
    """The twin of the refused ones: the same pickle with a storage that fits."""
    path = torch_zip(rebuilt(SOUND), {"archive/data/0": struct.pack("<6f", *range(6))})
    checkpoint = open_torch_zip(FileBytes(path, path.name))

    assert checkpoint.rows("a", 0, 2).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_huge_broadcast_costs_nothing(torch_zip: Any) -> None:
    """An expanded tensor may be larger than its storage; only the asked rows are made."""
    wide = STORAGE + b"K\x00\x8a\x05\x00\x00\x00\x00\x01K\x06\x86K\x00K\x01\x86" + FLAGS
    path = torch_zip(rebuilt(wide), {"archive/data/0": struct.pack("<6f", *range(6))})
    checkpoint = open_torch_zip(FileBytes(path, path.name))

    assert checkpoint.tensors["a"].shape == (2**32, 6)
    assert checkpoint.rows("a", 2**31, 2**31 + 1).tolist() == [[0, 1, 2, 3, 4, 5]]
    assert checkpoint.elements("a", np.array([6 * 2**32 - 1])).tolist() == [5]


def test_numbers_of_the_other_byte_order_are_refused(torch_zip: Any) -> None:
    """A big-endian file is not read as if it were little-endian."""
    path = torch_zip(rebuilt(SOUND), {"archive/data/0": bytes(24), "archive/byteorder": b"big"})

    with pytest.raises(UnsupportedFormat, match="byte order"):
        open_torch_zip(FileBytes(path, path.name))


def test_compressed_members_are_inflated_with_a_note(torch_zip: Any) -> None:
    """PyTorch never compresses; a file that somebody zipped again is read and the oddity is said."""
    path = torch_zip(rebuilt(SOUND), {"archive/data/0": bytes(24)}, compression=zipfile.ZIP_DEFLATED)
    checkpoint = open_torch_zip(FileBytes(path, path.name))

    assert checkpoint.rows("a", 0, 2).tolist() == [[0] * 3] * 2
    assert "compressed" in checkpoint.notes[0]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"a.npy": b"", "b.npy": b""}, "numpy .npz"),
        ({"word/document.xml": b""}, "not of PyTorch: no data.pkl; it holds 'word/document.xml'"),
        ({"x/model.json": b"{}"}, "TorchScript archive from before"),
    ],
)
def test_other_zip_archives_are_named(torch_zip: Any, members: dict[str, bytes], reason: str) -> None:
    """A zip archive without a pickle is said to be what it seems to be."""
    path = torch_zip(None, members)
    with pytest.raises(UnsupportedFormat, match=reason):
        open_torch_zip(FileBytes(path, path.name))


def test_two_pickles_side_by_side_are_refused(torch_zip: Any) -> None:
    """Which of two is meant is not knowable; one deeper down does no harm."""
    path = torch_zip(pickle.dumps({}), {"archive/deeper/data.pkl": b""})
    assert dict(open_torch_zip(FileBytes(path, path.name)).tensors) == {}

    path = torch_zip(pickle.dumps({}), {"other/data.pkl": b""})
    with pytest.raises(MalformedFile, match="several pickles"):
        open_torch_zip(FileBytes(path, path.name))


def test_pickles_that_run_something_are_refused_by_name(
    torch_zip: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the function; its effect does not happen."""
    path = torch_zip(
        b"\x80\x02cposix\nsystem\nX\x0c\x00\x00\x00echo EXECUTED\x85R.".replace(b"\x0c", b"\x0d")
    )
    with pytest.raises(UnsafePickle, match=r"posix\.system"):
        open_torch_zip(FileBytes(path, path.name))
    assert "EXECUTED" not in capsys.readouterr().out


SAMPLE = saved({"net": torch.nn.Linear(3, 2), "x": [BASE[0].t(), np.ones(2)], "d": {1: BASE}})


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_files_give_a_clear_error_or_a_reading(data: Any) -> None:
    """Flipped or removed bytes never give another exception."""
    raw = bytearray(SAMPLE)
    start = raw.find(b"data.pkl")
    for _ in range(data.draw(st.integers(1, 4))):
        anywhere = data.draw(st.booleans())
        place = data.draw(st.integers(0, len(raw) - 1) if anywhere else st.integers(start, start + 1200))
        if data.draw(st.integers(0, 9)):
            raw[place % len(raw)] = data.draw(st.integers(0, 255))
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
