"""The catalogue: bundled entries, a user's own file, and looking things up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from birthmark.catalogue.catalogue import Catalogue, add, bundled, load, own_file, read, to_json
from birthmark.errors import BirthmarkError, UnknownName, UsageError

from .conftest import PUBLISHED, Make


def test_every_bundled_entry_stands_once_and_has_a_source() -> None:
    """No entry stands twice; each leads to a public place; every reading has a digest."""
    entries = bundled().entries
    assert len({entry.model_dump_json() for entry in entries}) == len(entries)
    assert all(word in entry.source for entry in entries for word in [next(iter(_places(entry.source)), "?")])
    assert all(entry.digest for entry in entries if entry.kind == "reading" and entry.read_by == "birthmark")


def _places(source: str) -> list[str]:
    return [word for word in ("github.com/", "Python index", "PaddlePaddle") if word in source]


def test_the_report_is_held_as_its_readme_has_it() -> None:
    """The five published readings: seeds and SM counts."""
    report = [entry for entry in bundled().entries if "checkpoint-forensics" in entry.source]
    assert [(entry.model, entry.seed, entry.sm_count) for entry in report] == [
        ("DeepSeek-V3-Base", 953_049_583, 132),
        ("DeepSeek-V4-Flash", 953_049_583, 148),
        ("Kimi-K3", 20_256_586, 152),
        ("MiniMax-M3", 2760, 148),
        ("Ling-3.1-flash-base", 3952, 152),
    ]
    assert all(entry.sigma is None and entry.kind == "reading" for entry in report)


def test_finding_by_model_maker_and_digest(published: Make, ours: Make) -> None:
    """Names are found in any case, digests by their first digits; what is not there is never guessed."""
    held = Catalogue((published(), ours(), published(model="Beta-2", maker="Brio")))
    assert held.models == ("Alpha-1", "Beta-2")
    assert [entry.read_by for entry in held.of_model("ALPHA-1")] == ["published", "birthmark"]
    assert held.of_maker("brio").models == ("Beta-2",)
    assert held.of_digest("AB" * 6) == (ours(),)
    assert held.of_digest("cd" * 6) == ()
    with pytest.raises(UnknownName, match="Nearest: Acme"):
        held.of_maker("Acne")
    with pytest.raises(UnknownName, match=r"Nearest: Alpha-1"):
        held.of_model("Alfa-1")
    for wrong in ("abab", "not hexadecimal", ""):
        with pytest.raises(UsageError, match="8 hexadecimal"):
            held.of_digest(wrong)


def test_own_entries_join_the_bundled_ones(tmp_path: Path, ours: Make) -> None:
    """What was added is read back behind the bundled entries; adding it again changes nothing."""
    own = tmp_path / "data" / "catalogue.json"
    assert load(own) == bundled()
    assert add(own, [ours(), ours(seed=7)]) == (ours(), ours(seed=7))
    before = own.read_bytes()
    assert add(own, [ours()]) == ()
    assert own.read_bytes() == before
    assert load(own).entries == (*bundled().entries, ours(), ours(seed=7))


def test_where_own_entries_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the user's data folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert own_file() == tmp_path / "birthmark" / "catalogue.json"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"schema": "birthmark.catalogue/2", "entries": []}', "expected an object with schema"),
        ('{"schema": "birthmark.catalogue/1", "entries": {}}', "expected an object with schema"),
        ('{"schema": "birthmark.catalogue/1", "entries": [], "more": 1}', "expected an object with schema"),
        ('{"schema": "birthmark.catalogue/1", "entries": [], "entries": []}', "twice"),
        ('{"schema": "birthmark.catalogue/1", "entries": [{"r": NaN}]}', "NaN"),
        ('{"schema": "birthmark.catalogue/1", "entries": [3]}', "entry 1 (without a model)"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, word: str) -> None:
    """A file that is no catalogue is one line, and is not written over."""
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(BirthmarkError) as caught:
        add(path, [])
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_text() == text


def test_a_damaged_entry_is_named(tmp_path: Path, published: Make) -> None:
    """The message says which entry of which file it is."""
    path = tmp_path / "own.json"
    document = json.loads(to_json([published()]))
    document["entries"].append(PUBLISHED | {"seed": "many", "model": "Gamma"})
    path.write_text(json.dumps(document))
    with pytest.raises(BirthmarkError, match=r"own\.json, entry 2 \(Gamma\) is no entry"):
        read(path)
    with pytest.raises(BirthmarkError, match="cannot read"):
        read(tmp_path / "none.json")
