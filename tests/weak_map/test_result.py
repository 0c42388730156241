"""The map as a document: what tools rely on, finite numbers only, and small."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from birthmark.weak_map.mapping import weak_map
from birthmark.weak_map.result import SCHEMA

from .conftest import SHAPES, Memory, predicted, traced


def refuse(name: str) -> float:
    raise AssertionError(name)


@pytest.fixture(scope="module")
def document(model: Memory) -> dict[str, Any]:
    found = weak_map(model, predicted(model, traced(), threads=26_624), decoys=5)
    loaded: dict[str, Any] = json.loads(found.to_json(), parse_constant=refuse)
    return loaded


def test_keys(document: dict[str, Any]) -> None:
    """One schema, one entry a tensor, each with scores, controls and bands."""
    assert document["schema"] == SCHEMA
    assert document["verdict"] in ("found", "another-layout", "nothing")
    assert [each["name"] for each in document["tensors"]] == list(SHAPES)
    assert document["decoys"]["count"] == 5
    assert document["layouts"]["best"]["threads"] > 0
    assert document["pooled"]["tensors"] == len(SHAPES)
    for each in document["tensors"]:
        bands = each["bands"]
        assert len(bands["edges"]) - 1 == len(bands["r"]) == len(bands["z"]) == len(bands["kept"])
        assert sum(bands["n"]) == each["n"] == math.prod(each["shape"])
        assert each["r"]["low"] <= each["r"]["value"] <= each["r"]["high"]
        assert len(each["shifted"]) == 4


def test_what_is_missing_is_null(model: Memory) -> None:
    """A constant tensor, one of values that are not finite, and no controls: null, never NaN."""
    arrays = dict(model.arrays)
    arrays["embed.weight"] = np.full((900, 64), np.nan, np.float32)
    arrays["experts"] = np.ones((4, 32, 64), np.float32)
    checkpoint = Memory(arrays)
    found = weak_map(checkpoint, predicted(checkpoint, traced()), decoys=0)
    loaded = json.loads(found.to_json(), parse_constant=refuse)
    of = {each["name"]: each for each in loaded["tensors"]}

    assert loaded["decoys"] is None
    assert of["embed.weight"]["n"] == 0
    for name in ("embed.weight", "experts"):
        assert of[name]["r"] is of[name]["z"] is None
        assert of[name]["state"] in ("none", "too-small")
    assert of["embed.weight"]["kept"] is None
    assert set(of["embed.weight"]["bands"]["r"]) == {None}
