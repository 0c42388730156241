"""The reading as a document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from birthmark.errors import BirthmarkError
from birthmark.reports.reading import from_json

FINDING_KEYS = {
    "tensor",
    "survivors",
    "altered",
    "scale",
    "factor",
    "generator",
    "platform",
    "arithmetic",
    "method",
    "seed",
    "seed_hex",
    "seed_rule",
    "declared",
    "offset",
    "index",
    "solve",
    "sampler",
    "layout",
    "selection",
    "holdout",
    "trials",
    "bit_exact",
    "share",
    "controls",
    "vendor",
}


def test_the_keys_are_those_of_schema_1(make_reading: Any) -> None:
    """Every key that other tools rely on is there, under its own name."""
    document = json.loads(make_reading().to_json())

    assert document["schema"] == "birthmark.reading/1"
    assert [key for key in document if key not in ("mixtures", "questions", "families")] == [
        "schema",
        "version",
        "command",
        "checkpoint",
        "verdict",
        "findings",
        "searched",
        "limits",
        "notes",
    ]
    finding = document["findings"][0]
    assert set(finding) >= FINDING_KEYS
    assert set(finding["survivors"]) >= {"axis", "count", "ids"}
    assert set(finding["layout"]) >= {"threads", "not_excluded", "devices"}
    assert set(finding["selection"]) >= {"n", "r", "sigma", "log10_p_local", "log10_p_global"}
    assert set(finding["controls"]) >= {"seed_plus_one", "next_layout", "decoys"}
    assert set(finding["sampler"]) >= {
        "distribution",
        "parameters",
        "dtype",
        "version",
        "dtypes_not_excluded",
    }
    assert set(document["checkpoint"]) >= {"source", "revision", "files", "bytes_read", "tensors_read"}
    assert set(document["searched"]) >= {"seeds", "layouts", "hypotheses", "candidates_tested", "complete"}


def test_a_reading_survives_the_way_through_json(make_reading: Any) -> None:
    """Writing and reading back gives the same reading, to the byte."""
    reading = make_reading(command="birthmark scan »ü«")

    again = from_json(reading.to_json())

    assert again == reading
    assert again.to_json() == reading.to_json()


def test_a_seed_of_64_bits_survives(make_reading: Any, make_finding: Any) -> None:
    """Seeds beyond 2^53 keep every digit."""
    seed = 2**64 - 1
    reading = make_reading(findings=[make_finding(seed=seed, seed_hex=hex(seed))])

    assert from_json(reading.to_json()).findings[0].seed == seed


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_cannot_get_in(
    make_reading: Any, make_finding: Any, value: float
) -> None:
    """NaN and infinities are refused when a reading is made."""
    with pytest.raises(ValueError, match="finite"):
        make_reading(findings=[make_finding(scale=value)])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text.replace('"scale": 0.02', '"scale": NaN'), "NaN"),
        (lambda text: text.replace("birthmark.reading/1", "birthmark.reading/2"), "schema"),
        (lambda text: text.replace('"verdict": "match"', '"verdict": "certain"'), "verdict"),
        (lambda text: text.replace('"scale"', '"seed"', 1), "twice"),
        (lambda text: text.replace('"scale"', '"size"', 1), "findings.0"),
        (lambda text: text[:-20], "no reading"),
        (lambda _: "[" * 100_000, "no reading"),
        (lambda _: "", "no reading"),
    ],
)
def test_what_is_no_reading_is_refused_in_one_line(make_reading: Any, damage: Any, words: str) -> None:
    """Damaged, foreign and hostile documents give one line, not a traceback."""
    with pytest.raises(BirthmarkError, match=words) as caught:
        from_json(damage(make_reading().to_json()))

    assert "\n" not in str(caught.value)
