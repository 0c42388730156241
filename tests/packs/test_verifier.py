"""Verifying packs: what is true passes, whatever is altered fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.errors import OutputError, PackError, UsageError
from birthmark.evidence.case import Case
from birthmark.packs.container import build, parse
from birthmark.packs.format import MANIFEST, READING, Manifest, manifest_of
from birthmark.packs.parts import canonical, read_json
from birthmark.packs.terminal import to_text
from birthmark.packs.verifier import verify, verify_bytes
from birthmark.packs.writer import pack_bytes, write_pack
from birthmark.reports.reading import Reading

Evidence = tuple[Reading, list[Case]]


def _forged(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """A pack altered by somebody who knows the format: digests, checksums and structure all fit again."""
    members = parse(data)
    manifest = read_json(Manifest, members.pop(MANIFEST), MANIFEST)
    change(members)
    return build({MANIFEST: canonical(manifest_of(members, manifest.version, manifest.cases)), **members})


def _edit_reading(edit: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        document = json.loads(members[READING])
        edit(document)
        members[READING] = Reading.model_validate(document).to_json().encode()

    return change


@pytest.mark.parametrize("kind", ["match", "shards", "trace"])
def test_a_true_pack_verifies(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    """Written and verified: the reading comes back, with what was recomputed and what is only stated."""
    reading, cases = request.getfixturevalue(kind)
    path = tmp_path / "out.bmk"

    write_pack(path, reading, cases)
    report = verify(path)

    assert report.reading == reading
    assert {check.how for check in report.checks} == {"digest", "recomputed", "stated"}
    assert sum(check.what.endswith("scores") for check in report.checks) == len(reading.findings)
    assert [found.name for found in tmp_path.iterdir()] == ["out.bmk"]


def test_a_pack_is_the_same_every_time(match: Evidence) -> None:
    """The bytes follow from reading and rows alone."""
    assert pack_bytes(*match) == pack_bytes(*match)


def test_a_pack_of_nothing_found_holds_the_reading(match: Evidence) -> None:
    """A negative reading can travel, too."""
    reading = match[0].model_copy(update={"findings": [], "verdict": "none"})

    assert verify_bytes(pack_bytes(reading, [])).reading.verdict == "none"


def test_an_altered_byte_anywhere_fails(match: Evidence) -> None:
    """A sample of all positions, and every position of the structure's edges: each flip fails."""
    data = pack_bytes(*match)
    positions = [
        *np.random.default_rng(0).choice(len(data), 300, replace=False),
        *range(120),
        *range(len(data) - 120, len(data)),
    ]
    for position in positions:
        altered = bytearray(data)
        altered[position] ^= 0x10
        with pytest.raises(PackError):
            verify_bytes(bytes(altered))


@pytest.mark.slow
def test_an_altered_byte_at_every_position_fails(match: Evidence) -> None:
    """The same for every byte of the pack."""
    data = pack_bytes(*match)
    for position in range(len(data)):
        altered = bytearray(data)
        altered[position] ^= 0x01
        with pytest.raises(PackError):
            verify_bytes(bytes(altered))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda d: d["findings"][0].update(seed=6), "seed"),
        (lambda d: d["findings"][0]["holdout"].update(sigma=99.0), "holdout.sigma"),
        (lambda d: d["findings"][0]["holdout"].update(log10_p_local=-400.0), "holdout.log10_p_local"),
        (lambda d: d["findings"][0]["selection"].update(n=10**6), "selection.n"),
        (lambda d: d["findings"][0]["bit_exact"].update(of=10**6), "bit_exact.of"),
        (lambda d: d["findings"][0]["controls"]["decoys"].update(max_sigma=1.0), "max_sigma"),
        (lambda d: d["findings"][0]["controls"]["rows_moved"]["score"].update(sigma=0.0), "rows_moved"),
        (lambda d: d["findings"][0]["controls"].update(unexplained=0, scored=99), "scored"),
        (lambda d: d["questions"][1].update(answer="No."), "questions"),
        (lambda d: d.update(questions=d["questions"][:3]), "questions"),
        (lambda d: d["findings"][0]["controls"]["seed_plus_one"]["score"].update(r=0.0), "seed_plus_one"),
        (lambda d: d["findings"][0]["layout"].update(threads=270336), "layout.threads"),
        (lambda d: d["findings"][0]["layout"]["devices"].pop(), "devices"),
        (lambda d: d["findings"][0]["vendor"].update(amd=5), "vendor.amd"),
        (lambda d: d["findings"][0]["vendor"].update(statement="It is certain."), "statement"),
        (lambda d: d["findings"][0].update(trials=1), "trials"),
        (lambda d: d["findings"][0].update(factor=0.5), "factor"),
        (lambda d: d["findings"][0].update(scale=0.03), "scale"),
        (lambda d: d["findings"][0]["survivors"].update(ids=[450], count=1), "predicted but not listed"),
        (lambda d: d["findings"][0]["survivors"]["ids"].reverse(), "do not agree"),
        (lambda d: d["findings"][0]["survivors"].update(count=9), "do not agree"),
        (lambda d: d["findings"][0].update(altered={"count": 1, "ids": [3], "elements": 1}), "altered"),
        (lambda d: d.update(verdict="mixture"), "verdict"),
        (lambda d: d.update(limits=[]), "limits"),
    ],
)
def test_a_reading_that_says_more_than_its_rows_fails(
    match: Evidence, edit: Callable[[dict[str, Any]], None], words: str
) -> None:
    """With all digests made to fit, the recomputation still finds what does not follow, and names it."""
    with pytest.raises(PackError, match=words):
        verify_bytes(_forged(pack_bytes(*match), _edit_reading(edit)))


def test_altered_rows_with_fitting_digests_fail(match: Evidence) -> None:
    """One stored value nudged, with every digest rewritten, changes a count."""
    reading, cases = match
    values = cases[0].holdout.values.copy()
    values[5] = np.float32(values[5]) * np.float32(1.5)
    forged = replace(cases[0], holdout=replace(cases[0].holdout, values=values))

    with pytest.raises(PackError, match="rows give"):
        verify_bytes(pack_bytes(reading, [forged]))


def test_another_hypothesis_fails(match: Evidence) -> None:
    """A pack whose case names another seed does not support its reading."""
    reading, cases = match

    with pytest.raises(PackError, match="do not support"):
        verify_bytes(pack_bytes(reading, [replace(cases[0], seed=6)]))


def test_fewer_decoy_layouts_fail(match: Evidence) -> None:
    """Leaving out the layouts that a case was compared with changes its controls."""
    reading, cases = match

    with pytest.raises(PackError, match="rows give"):
        verify_bytes(pack_bytes(reading, [replace(cases[0], layouts=(28672, 622592))]))


def test_row_digests_must_be_those_of_the_rows(match: Evidence) -> None:
    """The digests for comparing with the checkpoint cannot be replaced alone."""

    def change(members: dict[str, bytes]) -> None:
        document = json.loads(members["case-0.json"])
        document["rows"][0]["sha256"] = "0" * 64
        members["case-0.json"] = json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"

    with pytest.raises(PackError, match="digests"):
        verify_bytes(_forged(pack_bytes(*match), change))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", [2**40, 2**40]),
        ("shape", [-1, 4]),
        ("dtype", "int8"),
        ("dtype", "float128"),
        ("draw_dtype", "int8"),
        ("generator", "dice"),
        ("arithmetic", "abacus"),
        ("threads", 100),
        ("threads", 2**60),
        ("offset", 3),
        ("ways", 0),
        ("ways", 10**9),
        ("ways", 7),
        ("rank", 5),
        ("seed", -1),
        ("seed", 2**64),
        ("trials", 0),
        ("layouts", [1]),
        ("layouts", [256] * 10_000),
        ("parameters", [0.0]),
        ("parameters", [0.0, -1.0]),
        ("scale", -1.0),
        ("scale", 0.0),
        ("axis", "diagonal"),
        ("unheard", 1),
        ("selection", {"elements": 2**50, "encoding": "runs"}),
        ("selection", {"elements": 5, "encoding": "zip"}),
        ("tensor", 7),
    ],
)
def test_impossible_cases_are_refused(match: Evidence, key: str, value: Any) -> None:
    """Fields out of range are refused in one line, before anything large is done with them."""

    def change(members: dict[str, bytes]) -> None:
        document = json.loads(members["case-0.json"])
        document[key] = value
        members["case-0.json"] = json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"

    with pytest.raises(PackError) as caught:
        verify_bytes(_forged(pack_bytes(*match), change))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("member", ["manifest.json", "reading.json", "case-0.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": NaN}', b"\xff\xfe", b"[" * 50_000])
def test_members_that_are_not_what_they_should_be_are_refused(
    match: Evidence, member: str, content: bytes
) -> None:
    """Broken JSON in any member is one line."""
    members = parse(pack_bytes(*match))
    members[member] = content
    if member != MANIFEST:
        members[MANIFEST] = canonical(manifest_of(members, "0.1.0", 1))

    with pytest.raises(PackError) as caught:
        verify_bytes(build(members))

    assert "\n" not in str(caught.value)


def test_missing_and_added_members_are_refused(match: Evidence) -> None:
    """Nothing may be left out, and nothing hidden."""
    data = pack_bytes(*match)

    def without(members: dict[str, bytes]) -> None:
        del members["case-0.holdout.values"]

    with pytest.raises(PackError, match="members"):
        verify_bytes(_forged(data, without))
    with pytest.raises(PackError, match="members"):
        verify_bytes(_forged(data, lambda members: members.update({"extra.txt": b"x"})))
    with pytest.raises(PackError, match="manifest"):
        verify_bytes(build({"something": b"else"}))


def test_reformatted_json_is_refused(match: Evidence) -> None:
    """A reading with the same content but other bytes is not what birthmark wrote."""

    def change(members: dict[str, bytes]) -> None:
        members[READING] = json.dumps(json.loads(members[READING])).encode()

    with pytest.raises(PackError, match="not written as birthmark"):
        verify_bytes(_forged(pack_bytes(*match), change))


def test_another_version_may_word_things_differently(match: Evidence) -> None:
    """Words are compared only with the version that wrote them; numbers always."""
    reading, cases = match
    statement = {"statement": "Said differently."}
    vendor = reading.findings[0].vendor
    assert vendor is not None
    finding = reading.findings[0].model_copy(update={"vendor": vendor.model_copy(update=statement)})
    older = reading.model_copy(update={"findings": [finding], "limits": ["Said differently."]})

    assert verify_bytes(pack_bytes(older, cases, version="0.0.9")).version == "0.0.9"
    with pytest.raises(PackError, match="statement"):
        verify_bytes(pack_bytes(older, cases))


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    """Missing, empty and oversized files, and folders, are refused."""
    empty = tmp_path / "empty.bmk"
    empty.write_bytes(b"")
    huge = tmp_path / "huge.bmk"
    with huge.open("wb") as file:
        file.truncate(1 << 40)

    for path, words in (
        (tmp_path / "none.bmk", "cannot read"),
        (tmp_path, "cannot read"),
        (empty, "empty"),
        (huge, "at most"),
    ):
        with pytest.raises(PackError, match=words) as caught:
            verify(path)
        assert "\n" not in str(caught.value)


def test_cases_and_findings_must_be_as_many(match: Evidence, tmp_path: Path) -> None:
    """A pack has one case for each finding; a place that cannot be written is said."""
    with pytest.raises(UsageError):
        write_pack(tmp_path / "x.bmk", match[0], [])
    with pytest.raises(OutputError):
        write_pack(tmp_path / "nowhere" / "x.bmk", *match)
    assert list(tmp_path.iterdir()) == []


def test_rows_are_compared_with_the_checkpoint(match: Evidence, tmp_path: Path) -> None:
    """With the published checkpoint at hand its bits are compared; rows made up to fit a seed fail."""
    reading, cases = match
    data = pack_bytes(reading, cases)
    with open_checkpoint(reading.checkpoint.source) as checkpoint:
        report = verify_bytes(data, checkpoint)
    assert any(check.what == "finding 1, rows" for check in report.checks)

    values = np.zeros((512, 64), np.float32)
    save_file({"w": values}, str(tmp_path / "other.safetensors"))
    save_file({"v": values}, str(tmp_path / "none.safetensors"))
    for name, words in (("other", "are not those of"), ("none", "no such tensor")):
        with (
            open_checkpoint(tmp_path / f"{name}.safetensors") as checkpoint,
            pytest.raises(PackError, match=words),
        ):
            verify_bytes(data, checkpoint)


def test_the_report_is_readable(match: Evidence) -> None:
    """What was recomputed and what is only stated is printed within 80 columns."""
    text = to_text(verify_bytes(pack_bytes(*match)))

    assert "VERIFIED" in text
    assert "recomputed" in text
    assert "stated" in text
    assert "match" in text
    assert max(len(line) for line in text.splitlines()) <= 80
