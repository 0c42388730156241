"""`birthmark lineage` as a user sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from safetensors.numpy import save_file
from tests.lineage.zoo import born, trained

from birthmark.cli.relating import run


def saved(path: Path, net: Mapping[str, Any]) -> str:
    """Write a net and say where."""
    save_file({name: np.ascontiguousarray(values) for name, values in net.items()}, path)
    return str(path)


def said(
    capsys: pytest.CaptureFixture[str], *models: str, json: bool = False, seeds: bool = False
) -> tuple[int, str]:
    """The exit code and what was printed."""
    with pytest.raises(typer.Exit) as left:
        run(list(models), json=json, seeds=seeds)
    return left.value.exit_code, capsys.readouterr().out


def test_copies_and_strangers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cast and a stranger: two headlines, reasons, background, and 0; 3 for the stranger alone."""
    net = trained(born(1), 2)
    one = saved(tmp_path / "one.safetensors", net)
    cast = saved(tmp_path / "two.safetensors", {name: each.astype(np.float16) for name, each in net.items()})
    other = saved(tmp_path / "three.safetensors", trained(born(7), 3))

    code, text = said(capsys, one, cast, other)
    alone, apart = said(capsys, one, other)

    assert code == 0
    assert "1 and 2: IDENTICAL UP TO ROUNDING TO float16  (log10 p" in text
    assert "2 follows from the other one." in text
    assert "1 and 3: DIFFERENT BIRTHS" in text
    assert "No merge: 3 families of a child and parents tried" in text
    assert alone == 3
    assert "Seen would have been: one draw in 1 of the" in apart


def test_a_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A merge is told with its weights, trials and background."""
    first, second = trained(born(1), 2), trained(born(1), 3)
    child = {name: np.float32(0.25) * first[name] + np.float32(0.75) * second[name] for name in first}
    models = [
        saved(tmp_path / f"{number}.safetensors", net) for number, net in enumerate((first, second, child))
    ]

    code, text = said(capsys, *models)

    assert code == 0
    assert "3 is a MERGE of 1 and 2: the weighted sum of them  (log10 p" in text
    assert "  - 1: weight 0.2500" in text
    assert "Trials counted: 12 tensors of all families." in text


def test_one_file_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts of one file are compared, and JSON is all that is printed."""
    parts = {"student": trained(born(1), 2), "teacher": trained(born(1), 3)}
    path = saved(
        tmp_path / "net.safetensors",
        {f"{prefix}.{name}": values for prefix, net in parts.items() for name, values in net.items()},
    )

    code, text = said(capsys, path, json=True)
    found = json.loads(text)

    assert code == 0
    assert found["sources"] == [f"{path}#student", f"{path}#teacher"]
    assert found["related"][0]["relation"]["kind"] == "same-birth"


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a tensor in common there is nothing to compare, and 5."""
    one = saved(tmp_path / "one.safetensors", {"a": np.ones((30, 30), np.float32)})
    other = saved(tmp_path / "two.safetensors", {"b": np.ones((30, 30), np.float32)})

    code, text = said(capsys, one, other)

    assert code == 5
    assert "NOT COMPARED" in text
