"""A case of a truncated draw in a pack: four parameters and a version of its own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from birthmark.errors import PackError
from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.packs.format import pack_case, unpack_case


def truncated_case() -> Case:
    draw = Draw("truncated-normal", (0.0, 0.02, -0.06, 0.06), (64, 32), "bfloat16", "2.1+cuda13")
    hypothesis = Hypothesis(draw, 270_336)
    indices = np.arange(256, dtype=np.int64)
    elements = Elements(indices, hypothesis.values(5, indices).astype(np.float64), indices // 32)
    half = indices < 128
    return Case(
        "embedding", (64, 32), "bfloat16", "row", 0.0197, hypothesis, 5,
        elements.keep(half), elements.keep(~half), 10**6, 1, (270_336,),
    )  # fmt: skip


def test_a_truncated_case_comes_back_as_it_was() -> None:
    """Distribution, parameters, dtype and version survive the pack."""
    case = truncated_case()
    found, _ = unpack_case(0, pack_case(0, case))
    assert found.hypothesis == case.hypothesis
    assert np.array_equal(found.selection.values, case.selection.values)


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": [0.0, 0.02]},
        {"parameters": [0.0, 0.02, 0.06, -0.06]},
        {"parameters": [0.0, 0.02, -0.06]},
        {"distribution": "normal"},
        {"draw_version": "2.11"},
        {"draw_version": "2.12+", "parameters": [0.0, 0.02, 0.059, 0.06]},
    ],
)
def test_impossible_truncated_cases_are_refused(change: dict[str, Any]) -> None:
    """Parameters that no draw can have, or of another distribution, are no case."""
    members = pack_case(0, truncated_case())
    entry = json.loads(members["case-0.json"])
    members["case-0.json"] = json.dumps({**entry, **change}).encode()
    with pytest.raises(PackError):
        unpack_case(0, members)
