"""Entries: what they must hold, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.catalogue.entry import as_record, parse
from birthmark.errors import BirthmarkError

from .conftest import OURS, PUBLISHED, Make

DRAW = {
    "distribution": "normal",
    "parameters": [0.0, 1.0],
    "shape": [3],
    "indices": [0, 2],
    "shown": ["0.1000", "0.2000"],
}


def test_an_entry_survives_the_way_through_json(published: Make, ours: Make) -> None:
    """What an entry leaves open is left out of its JSON, and comes back as before."""
    for entry in (
        published(),
        ours(),
        published(sm_count=None, controls={"next_sm_count": 7, "next_r": 0.1}),
    ):
        record = as_record(entry)
        assert None not in record.values() or record["maker"] is None
        assert parse(record, "x") == entry


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"model": ""}, "model"),
        ({"maker": None}, "needs a maker"),
        ({"seeed": 3}, "seeed"),
        ({"seed": "42"}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": -1}, "seed"),
        ({"seed": 1 << 64}, "seed"),
        ({"threads": 303_105}, "148 SMs launch"),
        ({"devices": ["B2000"]}, "Nearest: B200"),
        ({"published": "last year"}, "no date"),
        ({"published": "2026-13"}, "month"),
        ({"published": "2026-02-30"}, "day"),
        ({"released": "2026"}, "go together"),
        ({"kind": "prediction"}, "'prediction' is not one of"),
        ({"read_by": "somebody"}, "read_by"),
        ({"source": ""}, "source"),
        ({"log10_p": 1.0}, "log10_p"),
        ({"r": 1.5}, "r"),
        ({"matched": {"count": 3, "of": 2, "things": "rows"}}, "more than all"),
        ({"controls": {"next_sm_count": 1.5}}, "next_sm_count"),
        ({"draw": DRAW | {"indices": [0]}}, "1 indices for 2"),
        ({"draw": DRAW | {"indices": [0, 3]}}, "outside"),
    ],
)
def test_malformed_publications_are_refused(changes: dict[str, Any], word: str) -> None:
    """Each damage gives one line that names the place."""
    with pytest.raises(BirthmarkError) as caught:
        parse(PUBLISHED | changes, "entry 7")
    assert word in str(caught.value)
    assert str(caught.value).startswith("entry 7 is no entry")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "word"),
    [
        ("digest", "digest or the revision"),
        ("command", "command and version"),
        ("version", "command and version"),
        ("verdict", "verdict"),
        ("source", "source"),
        ("subject", "subject"),
    ],
)
def test_a_reading_needs_what_makes_it_repeatable(missing: str, word: str) -> None:
    """Without command, version, verdict or the digest of its file a reading is no entry."""
    with pytest.raises(BirthmarkError, match=word):
        parse({key: value for key, value in OURS.items() if key != missing}, "it")
    with pytest.raises(BirthmarkError, match="64 lower-case"):
        parse(OURS | {"digest": "AB" * 32}, "it")
    parse(OURS | {"revision": "0123abc"}, "it")


@pytest.mark.parametrize("record", [None, [], "text", 3])
def test_something_else_is_refused(record: object) -> None:
    """Only an object can be an entry."""
    with pytest.raises(BirthmarkError, match="is no entry"):
        parse(record, "it")
