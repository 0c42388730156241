"""What the rows of findings stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from birthmark.checkpoints import open_checkpoint
from birthmark.reports.meaning import MOST_ROWS, with_meaning
from birthmark.reports.reading import Finding, StandsForModel
from birthmark.reports.terminal import to_text

NAME = "model.embed_tokens.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint of 5,000 rows."""
    save_file({NAME: np.zeros((5000, 2), np.float32)}, tmp_path / "model.safetensors")
    return tmp_path


def told(folder: Path, *findings: dict[str, Any]) -> tuple[list[Finding], list[str]]:
    """Findings with their meaning, and the notes."""
    with open_checkpoint(folder) as checkpoint:
        return with_meaning(checkpoint, [Finding.model_validate(each) for each in findings])


def test_rows_are_named_by_the_tokenizer(folder: Path, make_finding: Any) -> None:
    """Reserved, ordinary and missing tokens, each with its id and kind."""
    vocabulary = {f"word{number}": number for number in range(4990)} | {
        "[unused7]": 4990,
        "\u0120hello": 4991,
    }
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    ids = [3, 4990, 4991, 4999]
    survivors = {"axis": "row", "count": 4, "ids": ids}
    (found,), notes = told(folder, make_finding(tensor=NAME, survivors=survivors))
    meaning = found.stands_for

    assert meaning is not None
    assert (meaning.things, meaning.source) == ("token", "vocab.json")
    assert [(row.id, row.kind) for row in meaning.rows] == [
        (3, "ordinary"), (4990, "reserved"), (4991, "ordinary"), (4999, "no-token"),
    ]  # fmt: skip
    assert notes == []


def test_many_rows_are_listed_in_part(folder: Path, make_finding: Any) -> None:
    """No more than 4,096 rows are listed; the sentence counts them all."""
    (folder / "vocab.json").write_text(json.dumps({f"w{number}": number for number in range(5000)}))
    survivors = {"axis": "row", "count": 5000, "ids": list(range(5000))}
    (found,), _ = told(folder, make_finding(tensor=NAME, survivors=survivors))

    assert found.stands_for is not None
    assert len(found.stands_for.rows) == MOST_ROWS
    assert "5,000 ordinary" in found.stands_for.sentence


def test_a_tokenizer_that_cannot_be_read_is_a_note(folder: Path, make_finding: Any) -> None:
    """Trouble with a hint is no trouble with the reading."""
    (folder / "tokenizer.json").write_text("{")
    (found,), notes = told(folder, make_finding(tensor=NAME))

    assert found.stands_for is None
    assert any("tokenizer.json was not read" in note for note in notes)
    assert any("stands_for is null" in note for note in notes)


def test_without_survivors_no_tokenizer_is_read(folder: Path, make_finding: Any) -> None:
    """A weak trace has no untouched rows to name."""
    (folder / "tokenizer.json").write_text("{")
    trace = make_finding(
        tensor=NAME, outcome="weak-trace", survivors={"axis": "row", "count": 0, "ids": []},
        altered={"count": 0, "ids": [], "elements": 0},
    )  # fmt: skip
    _, notes = told(folder, trace)

    assert not any("tokenizer" in note and "not read" in note for note in notes)


def test_the_terminal_says_it_in_a_line(make_reading: Any, make_finding: Any) -> None:
    """One line of the finding; control characters of a token file are shown, not obeyed."""
    meaning = StandsForModel(
        things="token", source="t", sentence="By t they are 5 tokens (\x1b[2J).", rows=[]
    )
    text = to_text(make_reading(findings=[make_finding(stands_for=meaning.model_dump())]))

    assert "Rows        By t they are 5 tokens" in text
    assert "\x1b" not in text
