"""The map on a terminal: eighty columns, no colour needed, hostile names harmless."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from birthmark.replay.replaying import Birth
from birthmark.weak_map.mapping import weak_map
from birthmark.weak_map.result import WeakMap
from birthmark.weak_map.terminal import MOST_LINES, render

from .conftest import SHAPES, Memory, born, predicted, traced


def printed(found: WeakMap) -> str:
    out = io.StringIO()
    render(found, Console(file=out, width=80, highlight=False))
    return out.getvalue()


@pytest.fixture(scope="module")
def found(model: Memory) -> WeakMap:
    return weak_map(model, predicted(model, traced(), threads=2048), decoys=10)


def test_a_map(found: WeakMap) -> None:
    """Verdict first, a line for each tensor, then what all of them say and what the controls say."""
    text = printed(found)

    assert text.strip().startswith("INITIAL VALUES FOUND")
    assert all(len(line) <= 80 for line in text.splitlines())
    for part in (
        "embed.weight",
        "experts",
        "50 rows",
        "Pooled over 6 tensors",
        "10 false seeds",
        "norm.weight",
    ):
        assert part in text
    assert "It does not show" in " ".join(text.split())


def test_nothing(model: Memory) -> None:
    """The verdict says so."""
    text = printed(weak_map(model, predicted(model, traced(), seed=43), decoys=0))

    assert text.strip().startswith("NOTHING FOUND")


def test_untrained() -> None:
    """A model as it was born: all values of every tensor."""
    checkpoint = Memory(born(traced(), Birth(42, 2048)))
    text = printed(weak_map(checkpoint, predicted(checkpoint, traced()), decoys=0))

    assert text.count(" all ") + text.count(" all\n") >= len(SHAPES)


def test_large_models(found: WeakMap) -> None:
    """The highest scores get a line each; what all names have in common is said once."""
    one = found.tensors[1]
    tensors = tuple(
        replace(one, name=f"model.layers.{number}.self_attn.q_proj.weight", z=float(number))
        for number in range(MOST_LINES + 5)
    )
    text = printed(replace(found, tensors=tensors))

    assert "and 5 more" in text
    assert "model.layers.*.self_attn.q_proj.weight" in text
    assert len([line for line in text.splitlines() if "4,096" in line]) == MOST_LINES


def test_hostile_names(found: WeakMap) -> None:
    """Control characters do not reach the terminal."""
    text = printed(replace(found, tensors=(replace(found.tensors[0], name="a\x1b[31m\x07b"),)))

    assert "\x1b" not in text
    assert "\x07" not in text
