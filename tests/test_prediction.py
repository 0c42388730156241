"""Predictions: rows and whole tensors, the array file, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark import __version__
from birthmark.errors import BirthmarkError, OutputError, UnknownName, UsageError
from birthmark.prediction import predict, predict_rows, prediction, save
from birthmark.recipes.sharding import Sharding

SHAPE = (300, 1000)


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files if key != "metadata"}
        return arrays, json.loads(str(file["metadata"]))


def test_rows_are_a_cut_of_the_whole() -> None:
    """Asking for rows gives those rows of the whole tensor, on a device by name or by its thread count."""
    whole = predict(7, SHAPE, device="T4")
    assert whole.shape == SHAPE
    assert np.array_equal(predict(7, SHAPE, device="T4", rows=(120, 140)), whole[120:140])
    assert np.array_equal(predict(7, SHAPE, threads=40_960), whole)
    assert not np.array_equal(predict(7, SHAPE, device="L4"), whole)
    asked = prediction(7, SHAPE, device="T4")
    assert np.array_equal(predict_rows(asked.hypothesis, 7, 5, 6), whole[5:6])


def test_shapes_come_back_as_asked() -> None:
    """More dimensions stay, a vector is one row, a scalar is a scalar."""
    assert predict(1, (6, 3, 2), device="A100", rows=(2, 4)).shape == (2, 3, 2)
    assert predict(1, (10,), device="A100").shape == (10,)
    assert predict(1, (), device="A100").shape == ()


def test_device_brings_its_arithmetic() -> None:
    """A Pascal card's name selects Pascal's arithmetic; it can be overridden."""
    pascal = prediction(1, SHAPE, device="TITAN Xp")
    assert pascal.hypothesis.arithmetic == "nvidia-pascal-"
    forced = predict(1, SHAPE, device="TITAN Xp", arithmetic="nvidia-volta+")
    assert np.array_equal(forced, predict(1, SHAPE, threads=61_440))
    assert not np.array_equal(forced, pascal.values())


def test_a_huge_embedding_gives_its_last_rows() -> None:
    """The last eight rows of a 128,256 x 8,192 float32 embedding come from the second of two launches."""
    shape = (128_256, 8192)
    rows = predict(42, shape, device="H100 SXM", rows=(128_248, 128_256), parameters=(0.0, 0.02))
    half = (64_128, 8192)
    second = predict(42, half, device="H100 SXM", rows=(64_120, 64_128), parameters=(0.0, 0.02), offset=5832)
    assert np.array_equal(rows, second)


def test_shards_follow_their_seed_rule() -> None:
    """Each half of a two-way vocabulary is a tensor of its own, drawn under the next seed."""
    both = predict(3952, SHAPE, device="A100", sharding=Sharding(2, "megatron"))
    first, second = (predict(seed, (150, 1000), device="A100") for seed in (3952, 3953))
    assert np.array_equal(both, np.concatenate([first, second]))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_saved_file_holds_the_values(tmp_path: Path, dtype: str) -> None:
    """Values come back bit for bit, bfloat16 as float32 with its 16-bit patterns beside them."""
    asked = prediction(3, SHAPE, device="L4", dtype=dtype, rows=(0, 8), parameters=(0.0, 0.02))
    path = tmp_path / "rows.npz"
    save(path, asked)
    arrays, _ = load(path)
    assert np.array_equal(arrays["values"].astype(np.float64), asked.values().astype(np.float64))
    assert arrays["values"].dtype == np.dtype("float32" if dtype == "bfloat16" else dtype)
    assert ("bits" in arrays) == (dtype == "bfloat16")
    if dtype == "bfloat16":
        assert arrays["bits"].dtype == np.uint16
        assert np.array_equal(
            (arrays["bits"].astype(np.uint32) << np.uint32(16)).view(np.float32), arrays["values"]
        )
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.npz"]


def test_saved_file_says_how_it_came_about(tmp_path: Path) -> None:
    """Seed, device, layout, offsets, arithmetic and version stand in the file."""
    path = tmp_path / "rows.npz"
    save(path, prediction(3, SHAPE, device="gb300", rows=(1, 2), offset=8, distribution="uniform"))
    _, metadata = load(path)
    assert metadata == {
        "birthmark": __version__,
        "seed": 3,
        "device": "GB300",
        "device_confirmed": True,
        "threads": 311_296,
        "arithmetic": "nvidia-volta+",
        "exact": True,
        "generator": "philox",
        "offset": 8,
        "end_offset": 12,
        "shards": 1,
        "seed_rule": "single",
        "distribution": "uniform",
        "parameters": [0.0, 1.0],
        "version_rule": "2.1+",
        "dtype": "float32",
        "shape": [300, 1000],
        "rows": [1, 2],
    }


@pytest.mark.parametrize(
    ("request_", "exact"),
    [
        ({"device": "H200"}, True),
        ({"device": "H200", "dtype": "bfloat16"}, True),
        ({"device": "P100"}, True),
        ({"device": "H200", "dtype": "float64"}, False),
        ({"device": "MI300X"}, False),
        ({"device": "MI300X", "distribution": "uniform"}, True),
    ],
)
def test_stand_ins_are_labelled(request_: dict[str, Any], exact: bool) -> None:
    """Normals of AMD devices and double normals are not called exact, everything else is."""
    assert prediction(1, SHAPE, **request_).exact is exact


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    """Saving again replaces the file as a whole."""
    path = tmp_path / "rows.npz"
    path.write_bytes(b"something else")
    save(path, prediction(3, (4, 4), device="T4"))
    assert load(path)[0]["values"].shape == (4, 4)


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fills up, neither a partial file nor a temporary one stays, and an old file survives."""
    path = tmp_path / "rows.npz"
    path.write_bytes(b"old")

    def full(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OutputError, match="No space left on device"):
        save(path, prediction(3, (4, 4), device="T4"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.npz"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", [".", "missing/rows.npz"])
def test_an_impossible_place_is_refused(tmp_path: Path, name: str) -> None:
    """A folder, or a file in a folder that does not exist, is one clear line."""
    with pytest.raises(OutputError, match="existing folder"):
        save(tmp_path / name, prediction(3, (4, 4), device="T4"))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"rows": (0, 301)}, UsageError, "0:300"),
        ({"rows": (-1, 5)}, UsageError, "0:300"),
        ({"rows": (5, 5)}, UsageError, "0:300"),
        ({"rows": (9, 5)}, UsageError, "0:300"),
        ({"shape": (10,), "rows": (0, 8)}, UsageError, "0:1"),
        ({"shape": (-3, 4)}, UsageError, "extents"),
        ({"shape": (0, 4)}, UsageError, "no elements"),
        ({"dtype": "bf16"}, UnknownName, "bfloat16"),
        ({"device": "H300"}, UnknownName, "H200"),
        ({"device": None}, UsageError, "either a device"),
        ({"threads": 256}, UsageError, "either a device"),
        ({"device": None, "threads": 0}, UsageError, "multiple of 256"),
        ({"device": None, "threads": 1000}, UsageError, "multiple of 256"),
        ({"offset": 2}, UsageError, "multiple of 4"),
        ({"seed": 2**64}, UsageError, "-2^63"),
        ({"seed": -(2**63) - 1}, UsageError, "-2^63"),
        ({"distribution": "gamma"}, UnknownName, "normal"),
        ({"arithmetic": "intel"}, UnknownName, "amd"),
        ({"parameters": (0.0, -0.02)}, UsageError, "standard deviation"),
        ({"sharding": Sharding(7, "megatron")}, UsageError, "7 equal runs"),
    ],
)
def test_bad_requests_are_one_clear_line(
    change: dict[str, Any], error: type[BirthmarkError], words: str
) -> None:
    """Whatever cannot be is refused before anything is computed, and the message says what would do."""
    request_: dict[str, Any] = {"seed": 1, "shape": SHAPE, "device": "T4", **change}
    with pytest.raises(error) as refused:
        prediction(**request_)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_more_than_the_memory_is_refused() -> None:
    """A whole tensor that no machine holds is refused with advice, where its rows are not."""
    asked = prediction(1, (1 << 40, 4096), device="H200")
    with pytest.raises(UsageError, match="ask for fewer rows"):
        asked.values()
    assert predict(1, (1 << 20, 4096), device="H200", rows=(0, 1)).shape == (1, 4096)


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (4, 3), (0, 301)])
def test_rows_of_a_hypothesis_are_checked(start: int, stop: int) -> None:
    """`predict_rows` refuses rows outside the tensor."""
    with pytest.raises(UsageError, match="300 rows"):
        predict_rows(prediction(1, SHAPE, device="T4").hypothesis, 1, start, stop)
