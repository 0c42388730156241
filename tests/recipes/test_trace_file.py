"""Traces as files: what is saved is loaded, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from birthmark.errors import MalformedFile, OutputError, UsageError
from birthmark.recipes.trace import Trace, TracedDraw, TracedStream, TracedTensor
from birthmark.recipes.trace_file import dumps, load, loads, save
from birthmark.recipes.trace_values import (
    Applied,
    Constant,
    Drawn,
    Orthogonal,
    Patched,
    Region,
    Table,
    Unknown,
    Viewed,
)

TRACE = Trace(
    (
        TracedDraw("normal", (0.0, 0.02), (6, 4), tensor="w"),
        TracedDraw("truncated-normal", (0.0, 1.0, -9.0, 2.0), (4, 4), after=0, overwritten="b"),
        TracedDraw("integers", (), (3,), "int64", 1),
        TracedDraw("other", (), (2,), "float32", 1, 2, name="aten::poisson"),
        TracedDraw("normal", (0.0, 1.0), (4, 6), after=1, strides=(1, 4)),
    ),
    (
        TracedTensor("w", (6, 4), "bfloat16", Applied("cast", (), Drawn(0), "bfloat16")),
        TracedTensor(
            "v", (6, 4), "float32", Patched(Drawn(0), ((Region((4,), (1,)), Constant(0, "float32")),))
        ),
        TracedTensor("t", (6, 4), "bfloat16", Applied("cast", (), Drawn(0), "bfloat16"), tied="w"),
        TracedTensor("ids", (2,), "int64", Table("int64", b"\1" + 15 * b"\0"), buffer=True),
        TracedTensor("q", (4, 4), "float32", Orthogonal((4, 4), Viewed(Region((4, 4), (1, 4)), Drawn(1)))),
        TracedTensor("c", (6, 4), "float32", Applied("clamp", (0.0, float("inf")), Drawn(0), "float32")),
        TracedTensor("u", (1,), "float32", Unknown("a norm")),
    ),
    (TracedStream("cpu"), TracedStream("cuda", 7)),
    "2.13.0+cpu",
    "my_model.py:build",
    ("a note",),
)


def test_a_saved_trace_is_loaded_again(tmp_path: Path) -> None:
    """Every field survives, infinite bounds included."""
    save(tmp_path / "draws.json", TRACE)
    found = load(tmp_path / "draws.json")

    assert (found.draws, found.tensors, found.streams) == (TRACE.draws, TRACE.tensors, TRACE.streams)
    assert (found.torch, found.model, found.notes) == (TRACE.torch, TRACE.model, TRACE.notes)
    assert [path.name for path in tmp_path.iterdir()] == ["draws.json"]


def test_the_file_says_what_follows_from_the_draws() -> None:
    """Kept or not, CPU index where no redraw leaves it open, and the launch."""
    document = json.loads(dumps(TRACE))

    assert [each["kept"] for each in document["draws"]] == [True, True, False, False, False]
    assert [each["index"] for each in document["draws"]] == [0, 40, 0, 6, None]
    assert document["draws"][1]["redraws"] is True
    assert document["draws"][2]["launch"] == {"elements": 3, "per_call": 2}


def changed(change: Callable[[dict[str, Any]], None]) -> str:
    document = json.loads(dumps(TRACE))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema="birthmark.trace/9"), "birthmark.trace/1"),
        (lambda d: d["draws"][1].update(index=41), "said to start at 41"),
        (lambda d: d["draws"][0].update(shape=[6, 5]), "said to start at 40"),
        (lambda d: d["draws"][0].update(shape=[6, -4]), "0 or more"),
        (lambda d: d["draws"][0].update(after=0), "follows draw 0"),
        (lambda d: d["draws"][0].update(number=3), "numbered 3"),
        (lambda d: d["draws"][0].update(distribution="norml"), "norml"),
        (lambda d: d["draws"][0].update(parameters=[True, 1.0]), "a number is expected"),
        (lambda d: d["draws"][0].pop("dtype"), "without 'dtype'"),
        (lambda d: d["tensors"][0].update(value={"draw": 99}), "does not have"),
        (lambda d: d["tensors"][0].update(value={"sketch": 1, "of": {"draw": 0}}), "unknown kind"),
        (lambda d: d["tensors"][2].update(tied="nobody"), "does not stand before"),
        (lambda d: d["tensors"][3]["value"].update(table="!!"), "does not unpack"),
        (lambda d: d["tensors"][1].update(name="w"), "twice"),
        (lambda d: d.update(torch="9.9"), "9.9"),
        (lambda d: d.update(notes=[1]), "not text"),
        (lambda d: d.update(draws=[1]), "an object is expected"),
    ],
)
def test_a_damaged_trace_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    """One line says what does not hold."""
    with pytest.raises(MalformedFile, match=message):
        loads(changed(change))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_what_is_no_trace_is_refused(text: str) -> None:
    """No JSON, no object, no NaN, no key twice, no abyss."""
    with pytest.raises(MalformedFile):
        loads(text)


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    """Reading what is not there and writing where nothing can be written."""
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path / "none.json")
    with pytest.raises(OutputError, match="cannot write"):
        save(tmp_path, TRACE)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(MalformedFile, match="UTF-8"):
        load(tmp_path / "binary")
