"""Usual stream positions: those of models that stock PyTorch would make so."""

from __future__ import annotations

import pytest

from birthmark.errors import UnknownName
from birthmark.search.cpu_positions.positions import usual_positions

#: An embedding, a layer, a normalisation and an output layer.
TENSORS = [
    ("embed.weight", (100, 20)),
    ("fc.weight", (30, 20)),
    ("fc.bias", (30,)),
    ("norm.weight", (30,)),
    ("norm.bias", (30,)),
    ("out.weight", (7, 30)),
]


def test_the_start_comes_first() -> None:
    """Then the order of construction, a draw that is redrawn at once, and one round of redrawing."""
    assert usual_positions(TENSORS, "embed.weight") == (0, 2000, 2840, 2870)
    positions = usual_positions(TENSORS, "out.weight")
    assert positions[:3] == (0, 2630, 2630 + 210)
    # All defaults, then the embedding and the layer again, by uniforms or by normals: 600 elements are no
    # multiple of 16, and old batch normalisations drew 30 words.
    for words in (2600, 2616):
        assert {words, 2840 + words, 2870 + words} <= set(positions)
    assert len(set(positions)) == len(positions)


def test_normalisations_draw_in_old_versions_only() -> None:
    """Their weight has a place there; their bias never had one."""
    assert usual_positions(TENSORS, "norm.weight") == (0, 2630)
    assert usual_positions(TENSORS, "fc.bias") == (0, 2600)
    assert usual_positions(TENSORS, "norm.bias") == (0,)


def test_unknown_tensors_are_named() -> None:
    """With the nearest."""
    with pytest.raises(UnknownName, match=r"out\.weight"):
        usual_positions(TENSORS, "out.weigth")
