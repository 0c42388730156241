"""JSON from strangers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.checkpoints import strict_json
from birthmark.checkpoints.strict_json import parse_object, shown
from birthmark.errors import MalformedFile

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_sound_objects_are_parsed_as_the_standard_library_does(document: dict[str, object]) -> None:
    """A JSON object without repeated keys comes out unchanged."""
    assert parse_object(json.dumps(document).encode(), "it") == document


@given(st.binary(max_size=200))
def test_any_bytes_give_an_object_or_the_one_error(raw: bytes) -> None:
    """Whatever the bytes, there is an object or MalformedFile."""

    def message() -> str:
        try:
            parse_object(raw, "it")
        except MalformedFile as error:
            return str(error)
        return "an object"

    assert "\n" not in message()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a": 1, "a": 2}', "'a' twice"),
        (b'{"x": {"b": 1, "c": 2, "b": 3}}', "'b' twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1', "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff{}", "not UTF-8"),
        (b'{"a": ' + b"[" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too long"),
    ],
)
def test_what_is_wrong_is_said(raw: bytes, reason: str) -> None:
    """Each fault has its own words."""
    with pytest.raises(MalformedFile, match=reason):
        parse_object(raw, "it")


def test_a_document_of_very_many_values_is_refused_before_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of values is bounded, since each costs far more memory than its text."""
    monkeypatch.setattr(strict_json, "MAX_VALUES", 10)

    assert parse_object(b'{"a": [1, 2, 3]}', "it") == {"a": [1, 2, 3]}
    with pytest.raises(MalformedFile, match="the limit is 10"):
        parse_object(b'{"a": [1, 2, 3, 4, 5, 6, 7, 8, 9]}', "it")


@given(st.text())
def test_shown_text_is_one_short_line_of_ascii(text: str) -> None:
    """Nothing that a stranger wrote can break a message."""
    line = shown(text)

    assert line.isascii()
    assert line.isprintable()
    assert len(line) <= 80 + len("...") + 2
