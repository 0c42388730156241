"""`birthmark catalogue` as a user meets it: listing, adding, writing the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reports.conftest import finding_dict, reading_of
from typer.testing import CliRunner

from birthmark.catalogue.catalogue import bundled
from birthmark.catalogue.page import page
from birthmark.cli.app import app
from birthmark.errors import BirthmarkError, UnknownName, UsageError

HOW = ("--model", "Alpha-1", "--maker", "Acme", "--source", "example.org/alpha-1")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def reading(tmp_path: Path) -> Path:
    """A reading of a file with a digest, as a scan writes it."""
    checkpoint: dict[str, Any] = {
        "source": "alpha",
        "revision": None,
        "files": [{"name": "alpha", "size": 3, "sha256": "ab" * 32}],
        "bytes_read": 3,
        "tensors_read": [],
    }
    path = tmp_path / "reading.json"
    path.write_text(reading_of(checkpoint=checkpoint, findings=[finding_dict()]).to_json())
    return path


def run(*arguments: str | Path) -> str:
    """What the command prints; its errors are raised."""
    finished = CliRunner().invoke(app, ["catalogue", *map(str, arguments)], catch_exceptions=True)
    if finished.exception is not None and not isinstance(finished.exception, SystemExit):
        raise finished.exception
    assert finished.exit_code == 0, finished.output
    return finished.stdout


def test_listing_one_maker() -> None:
    """Models with their statements, and what the releases have in common."""
    listed = run("--maker", "deepseek")
    assert "DeepSeek-V4-Flash  (DeepSeek, 2026-04)" in listed
    assert "published   seed 953049583, 148 SMs" in listed
    assert "base seed 953049583 in common" in listed
    assert "Kimi" not in listed
    with pytest.raises(UnknownName, match="Nearest: DeepSeek"):
        run("--maker", "depseek")
    with pytest.raises(UnknownName, match="Nearest: Kimi-K3"):
        run("--model", "Kimi-K33")


def test_json_holds_entries_and_what_follows_from_them() -> None:
    """Printed whole it is the bundled data, and a difference is a difference there, too."""
    document = json.loads(run("--no-own", "--json"))
    assert len(document["entries"]) == len(bundled().entries)
    standings = {one["model"]: one["standing"] for one in document["models"]}
    assert (standings["IgLM"], standings["RXNMapper"]) == ("differs", "agrees")
    assert {maker["maker"] for maker in document["makers"]} >= {"DeepSeek", "txie-93/cgcnn"}


def test_a_file_is_found_by_its_digest() -> None:
    """The first digits of its SHA-256 lead to all that is known about the model."""
    assert run("--digest", "d269775b9be0").startswith("CGCNN band-gap")
    with pytest.raises(BirthmarkError, match="no file with a SHA-256"):
        run("--digest", "0123456789")


def test_adding_a_reading(reading: Path, tmp_path: Path) -> None:
    """It joins the catalogue once, in the user's own file, and only there."""
    assert "1 entry about Alpha-1 added" in run("--add", reading, *HOW, "--released", "2026-11-30")
    assert "Alpha-1  (Acme, 2026-11-30)" in run("--maker", "Acme")
    own = tmp_path / "data" / "birthmark" / "catalogue.json"
    before = own.read_bytes()
    assert "already" in run("--add", reading, *HOW, "--released", "2026-11-30")
    assert own.read_bytes() == before
    with pytest.raises(UnknownName):
        run("--maker", "Acme", "--no-own")


def test_adding_elsewhere(reading: Path, tmp_path: Path) -> None:
    """--file names another file, which has to be there for reading."""
    other = tmp_path / "other.json"
    with pytest.raises(UsageError, match="no such file"):
        run("--file", other)
    added = json.loads(run("--add", reading, *HOW, "--file", other, "--json"))
    assert added[0]["digest"] == "ab" * 32
    assert "Alpha-1" in run("--file", other, "--model", "alpha-1")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (HOW[:4], "needs --source"),
        (HOW[2:], "needs --model"),
        ((*HOW[:2], *HOW[4:]), "needs --maker"),
        ((*HOW, "--released", "yesterday"), "no date"),
        ((*HOW, "--write", "page.md"), "stands alone"),
    ],
)
def test_adding_without_saying_what_it_is(reading: Path, arguments: tuple[str, ...], word: str) -> None:
    """Nothing is added without model, maker and source, or with a date that is none."""
    with pytest.raises(BirthmarkError, match=word):
        run("--add", reading, *arguments)


def test_adding_something_else(tmp_path: Path) -> None:
    """A file that is no reading, or not there, is one line."""
    path = tmp_path / "reading.json"
    with pytest.raises(BirthmarkError, match="cannot read"):
        run("--add", path, *HOW)
    path.write_text("{}")
    with pytest.raises(BirthmarkError, match="no reading of schema"):
        run("--add", path, *HOW)


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    """Filters do not apply to the page, nor dates to a list."""
    with pytest.raises(UsageError, match="whole page"):
        run("--write", tmp_path / "page.md", "--maker", "Acme")
    with pytest.raises(UsageError, match="belong to --add"):
        run("--released", "2026")


def test_writing_the_page(tmp_path: Path) -> None:
    """The page is that of the data."""
    target = tmp_path / "page.md"
    run("--write", target, "--no-own")
    assert target.read_text(encoding="utf-8") == page(bundled())
