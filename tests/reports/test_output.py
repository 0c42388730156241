"""Files that are whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from birthmark.errors import OutputError
from birthmark.reports.output import write_whole


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    """The content is there, nothing else is, and a second write replaces it."""
    path = tmp_path / "out.json"

    write_whole(path, b"one")
    write_whole(path, b"two")

    assert path.read_bytes() == b"two"
    assert [found.name for found in tmp_path.iterdir()] == ["out.json"]


def test_a_folder_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    """Where nothing can be written nothing is left behind."""
    with pytest.raises(OutputError, match="cannot write") as caught:
        write_whole(tmp_path / "nowhere" / "out.json", b"x")

    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    """A folder in the place of the file is refused."""
    with pytest.raises(OutputError, match="folder"):
        write_whole(tmp_path, b"x")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fails at the last step the old content stays and no part is left."""
    path = tmp_path / "out.json"
    path.write_bytes(b"old")

    def full(*_: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match="No space left"):
        write_whole(path, b"new")

    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["out.json"]
