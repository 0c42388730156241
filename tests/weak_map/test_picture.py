"""The map as a picture: well-formed, without scripts, small, whatever the names."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.dom.minidom import Document, parseString

import numpy as np

from birthmark.weak_map.bands import Bands
from birthmark.weak_map.mapping import weak_map
from birthmark.weak_map.picture import MOST_LINES, STEPS, svg
from birthmark.weak_map.result import BandScores, WeakMap

from .conftest import Memory, predicted, traced


def found(model: Memory) -> WeakMap:
    return weak_map(model, predicted(model, traced()), decoys=0)


def parsed(page: str) -> Document:
    """The page as XML, which it must be."""
    return parseString(page)  # noqa: S318 - our own


def test_one_line_a_tensor(model: Memory) -> None:
    """Names and numbers beside the cells; the verdict above."""
    page = svg(found(model))
    words = " ".join(
        str(node.nodeValue) for text in parsed(page).getElementsByTagName("text") for node in text.childNodes
    )

    for name in model.tensors:
        assert (name in words) == (name != "norm.weight")
    assert "FOUND" in words
    assert "script" not in page


def test_hostile_names_are_text(model: Memory) -> None:
    """Markup and control characters in a tensor's name stay letters."""
    one = found(model)
    hostile = replace(one.tensors[0], name="<script>alert(1)</script>\x00\x1b[31m&")
    page = svg(replace(one, tensors=(hostile, *one.tensors[1:]), checkpoint="a\nb<c>"))

    assert "<script" not in page
    parsed(page)


def test_large_models_stay_small(model: Memory) -> None:
    """A thousand tensors of 64 different bands: the largest lines only, under half a megabyte."""
    one = found(model)
    generator = np.random.default_rng(1)
    tensors = []
    for number in range(1000):
        r = generator.random(64).tolist()
        bands = BandScores(
            Bands("rows", "rows", tuple(range(65))), (10,) * 64, tuple(r), (9.0,) * 64, (1.0,) * 64
        )
        tensors.append(replace(one.tensors[0], name=f"layers.{number}.weight", n=1000 + number, bands=bands))
    page = svg(replace(one, tensors=tuple(tensors)))

    assert len(page) < 500_000
    assert page.count("layers.") == MOST_LINES
    assert "600 smallest tensors are not shown" in page


def test_colours_say_how_much_is_left(model: Memory) -> None:
    """Grey for what says nothing, then one colour darker than the other."""
    one = found(model)
    steps = tuple(((number + 0.5) / STEPS) ** 2 for number in range(STEPS))
    bands = BandScores(
        Bands("rows", "rows", tuple(range(STEPS + 2))),
        (9,) * (STEPS + 1),
        (None, *steps),
        (None, *(9.0,) * STEPS),
        (1.0,) * (STEPS + 1),
    )
    page = svg(replace(one, tensors=(replace(one.tensors[0], bands=bands),)))
    cells = set(re.findall(r'stroke="(#\w{6})"', page))
    light = {sum(int(each[at : at + 2], 16) for at in (1, 3, 5)) for each in cells}

    assert "#ececec" in cells
    assert len(light) == STEPS + 1
