"""Safetensors files written in pieces are those that the format's own library reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.safetensors_writing import DTYPES, Entry, SafetensorsWriter
from birthmark.errors import OutputError, UnknownName, UsageError


def test_every_dtype_is_read_back(tmp_path: Path) -> None:
    """In pieces of odd sizes, by the format's library and by birthmark."""
    path = tmp_path / "a.safetensors"
    values = {
        name: np.arange(24) % 2 if name == "bool" else np.arange(24) - 5 * ("u" not in name)
        for name in DTYPES
    }
    entries = [Entry(name, (4, 6), name) for name in DTYPES]
    with SafetensorsWriter(path, entries, {"who": "nobody"}) as writer:
        for name in DTYPES:
            wide = values[name].astype(np.float64 if "float" in name else name)
            for start in range(0, 24, 7):
                writer.add(wide[start : start + 7], name)
        writer.finish()

    with safe_open(path, "numpy") as file:
        assert file.metadata() == {"who": "nobody"}
        for name in set(DTYPES) - {"bfloat16"}:  # which numpy does not have
            assert np.array_equal(file.get_tensor(name), values[name].reshape(4, 6).astype(name))
    with open_checkpoint(path) as checkpoint:
        assert np.array_equal(checkpoint.rows("bfloat16", 0, 4), values["bfloat16"].reshape(4, 6))
    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    """Not before it is finished, not with values missing, and not after an error."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"before")
    with SafetensorsWriter(path, [Entry("w", (4,), "float32")], {}) as writer:
        writer.add(np.zeros(3, np.float32), "float32")
        with pytest.raises(UsageError, match="4 bytes"):
            writer.finish()
        with pytest.raises(UsageError, match="4 bytes more"):
            writer.add(np.zeros(2, np.float32), "float32")

    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A folder, a folder that is not there, a dtype that the format lacks."""
    with pytest.raises(OutputError, match="no ordinary file"):
        SafetensorsWriter(tmp_path, [], {})
    with pytest.raises(OutputError, match="cannot write"):
        SafetensorsWriter(tmp_path / "none" / "a.safetensors", [], {})
    with pytest.raises(UnknownName, match="float32"):
        SafetensorsWriter(tmp_path / "a.safetensors", [Entry("w", (1,), "float23")], {})
