"""A ledger loses nothing that it has taken, and takes nothing for its own that is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from birthmark.errors import LedgerError, OutputError
from birthmark.search.ledger import SCHEMA, Ledger

RECORDS: list[dict[str, Any]] = [
    {"unit": ["table", 0, 0, 64], "hits": 3, "found": []},
    {"unit": ["table", 0, 64, 128], "hits": 0, "found": [[2**64 - 1, 7]]},
    {"unit": ["table", 1, 0, 128], "hits": 1, "found": []},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of one search, with three units."""
    path = tmp_path / "search.ledger"
    with Ledger(path) as ledger:
        assert ledger.begin("f" * 32, "tensor a") == []
        for record in RECORDS:
            ledger.append(record)
    return path


def resumed(path: Path) -> list[dict[str, Any]]:
    with Ledger(path, resume=True) as ledger:
        return ledger.begin("f" * 32, "tensor a")


def test_what_was_appended_comes_back(path: Path) -> None:
    """In the same order, large seeds exactly."""
    assert resumed(path) == RECORDS
    assert resumed(path) == RECORDS


def test_appending_goes_on_after_resuming(path: Path) -> None:
    """New lines follow the old ones and belong to the same chain of checksums."""
    with Ledger(path, resume=True) as ledger:
        ledger.begin("f" * 32, "tensor a")
        ledger.append(RECORDS[0])

    assert resumed(path) == [*RECORDS, RECORDS[0]]


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_a_torn_last_line_is_dropped(path: Path, lost: int) -> None:
    """A kill in the middle of a write costs that line only; what comes next replaces it."""
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    with Ledger(path, resume=True) as ledger:
        assert ledger.begin("f" * 32, "tensor a") == RECORDS[:-1]
        ledger.append(RECORDS[-1])

    assert path.read_bytes() == whole


def test_a_torn_header_starts_anew(path: Path) -> None:
    """A kill in the very first write leaves a ledger without units."""
    path.write_bytes(path.read_bytes()[:20])

    assert resumed(path) == []
    assert resumed(path) == []


@pytest.mark.parametrize("line", [1, 2])
def test_damage_in_the_middle_is_an_error(path: Path, line: int) -> None:
    """One altered digit, and the ledger is not used; the message says which line."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"64", b"65", 1)
    path.write_bytes(b"".join(lines))

    with pytest.raises(LedgerError, match=f"line {line + 1} .* damaged"):
        resumed(path)


def test_a_missing_line_is_an_error(path: Path) -> None:
    """Units cannot vanish from the middle unnoticed."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))

    with pytest.raises(LedgerError, match="damaged"):
        resumed(path)


def test_another_search_is_refused_by_name(path: Path) -> None:
    """Both searches are named, so that a person sees which file is which."""
    ledger = Ledger(path, resume=True)
    with pytest.raises(LedgerError, match=r"tensor a, ffffffff.*tensor b, eeeeeeee"):
        ledger.begin("e" * 32, "tensor b")
    ledger.close()


def test_an_existing_file_is_not_overwritten(path: Path) -> None:
    """Without `resume` a ledger must be new."""
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="exists"):
        Ledger(path).begin("f" * 32, "tensor a")

    assert path.read_bytes() == before


def test_a_missing_file_cannot_be_resumed(tmp_path: Path) -> None:
    """A mistyped name must not quietly start from zero."""
    with pytest.raises(LedgerError, match="nothing to resume"):
        Ledger(tmp_path / "none.ledger", resume=True).begin("f" * 32, "tensor a")


@pytest.mark.parametrize("text", ["hello\n", '{"a":1}\n', "hello\nworld\n"])
def test_other_files_are_refused_untouched(tmp_path: Path, text: str) -> None:
    """A file that is no ledger is named, and not truncated."""
    path = tmp_path / "notes.txt"
    path.write_text(text)
    ledger = Ledger(path, resume=True)
    with pytest.raises(LedgerError):
        ledger.begin("f" * 32, "tensor a")
    ledger.close()

    assert path.read_text() == text


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks there")
def test_two_writers_are_refused(path: Path) -> None:
    """A second process would interleave its lines."""
    with Ledger(path, resume=True) as first:
        first.begin("f" * 32, "tensor a")
        with pytest.raises(LedgerError, match="another process"):
            Ledger(path, resume=True).begin("f" * 32, "tensor a")


def test_one_ledger_serves_one_search(tmp_path: Path) -> None:
    """A second search through the same object is refused."""
    with Ledger(tmp_path / "a.ledger") as ledger:
        ledger.begin("f" * 32, "tensor a")
        with pytest.raises(LedgerError, match="of its own"):
            ledger.begin("e" * 32, "tensor b")


def test_an_unwritable_place_is_one_clear_error(tmp_path: Path) -> None:
    """A folder that does not exist."""
    with pytest.raises(OutputError, match="cannot be written"):
        Ledger(tmp_path / "no" / "such" / "a.ledger").begin("f" * 32, "tensor a")


def test_the_header_names_schema_and_search(path: Path) -> None:
    """The first line alone says what a file is."""
    first = path.read_text().splitlines()[0]

    assert first.startswith(f'{{"schema":"{SCHEMA}","search":"{"f" * 32}","description":"tensor a"')
