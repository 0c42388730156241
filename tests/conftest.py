"""Fixtures that every room's tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of checkpoints with known answers; tests that need it are skipped where it is absent."""
    if not CASES.is_dir():
        pytest.skip(f"the checkpoints with known answers are not here (looked in {CASES})")
    return CASES


@pytest.fixture(scope="session")
def answers(cases: Path) -> dict[str, Any]:
    """The truth about each case."""
    loaded: dict[str, Any] = json.loads((cases / "answers.json").read_text())
    return loaded
