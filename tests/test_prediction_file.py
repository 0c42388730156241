"""Predictions as array files: values, bits, how they came about, and places that cannot be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark import __version__
from birthmark.errors import OutputError
from birthmark.prediction import prediction
from birthmark.prediction_file import save

SHAPE = (300, 1000)


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files if key != "metadata"}
        return arrays, json.loads(str(file["metadata"]))


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
        "parameters": {"low": 0.0, "high": 1.0},
        "torch": None,
        "version_rule": "2.1+",
        "offset_rule": "2.5+",
        "dtype": "float32",
        "cast": None,
        "shape": [300, 1000],
        "rows": [1, 2],
    }


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


def test_casts_and_integers_are_stored_as_they_are(tmp_path: Path) -> None:
    """A cast to 16 bits is stored in its own width; integers and truth values keep their types."""
    path = tmp_path / "rows.npz"
    save(path, prediction(3, SHAPE, device="L4", cast="float16", rows=(0, 8)))
    arrays, metadata = load(path)
    assert arrays["values"].dtype == np.float16
    assert (metadata["dtype"], metadata["cast"]) == ("float32", "float16")
    save(path, prediction(3, SHAPE, device="L4", cast="bfloat16", rows=(0, 8)))
    arrays, _ = load(path)
    assert (arrays["bits"].astype(np.uint32) << np.uint32(16)).view(np.float32).tolist() == arrays[
        "values"
    ].tolist()
    for distribution, dtype, kind in (("integers", "int64", "i"), ("bernoulli", "bfloat16", "b")):
        save(path, prediction(3, SHAPE, device="L4", distribution=distribution, dtype=dtype, rows=(0, 8)))
        arrays, _ = load(path)
        assert arrays["values"].dtype.kind == kind
        assert "bits" not in arrays
