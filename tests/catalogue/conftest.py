"""Small catalogues made for the purpose: a maker nobody has heard of, and readings of its models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from birthmark.catalogue.entry import Entry, parse

PUBLISHED: dict[str, Any] = {
    "model": "Alpha-1",
    "maker": "Acme",
    "subject": "checkpoint",
    "read_by": "published",
    "kind": "reading",
    "generator": "philox",
    "seed": 953_049_583,
    "sm_count": 148,
    "threads": 303_104,
    "devices": ["B200"],
    "source": "example.org/report",
    "published": "2026-11",
}
OURS: dict[str, Any] = {
    "model": "Alpha-1",
    "maker": "Acme",
    "subject": "checkpoint",
    "read_by": "birthmark",
    "kind": "reading",
    "tensor": "embedding",
    "generator": "philox",
    "seed": 953_049_583,
    "offset": 0,
    "threads": 303_104,
    "verdict": "match",
    "source": "example.org/alpha-1",
    "digest": "ab" * 32,
    "command": "birthmark scan alpha.safetensors",
    "version": "0.1.0",
}

Make = Callable[..., Entry]


@pytest.fixture
def published() -> Make:
    """A published entry with other values for some keys; None leaves a key out."""
    return lambda **changed: _made(PUBLISHED, changed)


@pytest.fixture
def ours() -> Make:
    """An entry of a reading, likewise."""
    return lambda **changed: _made(OURS, changed)


def _made(base: dict[str, Any], changed: dict[str, Any]) -> Entry:
    record = {key: value for key, value in (base | changed).items() if value is not None or key == "maker"}
    return parse(record, "the entry")
