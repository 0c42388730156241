"""The house rule: data flows one way, and the search never reaches what it must not see."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "birthmark"

#: Earlier rooms first; a room may import itself and the rooms before it. `errors` may be used everywhere.
ORDER = [
    "numerics", "generators", "devices", "samplers", "recipes", "hypothesis", "distributed", "drawn",
    "prediction", "cpu_prediction", "prediction_file", "recipe_prediction", "torch", "checkpoints",
    "survivors", "vocabulary", "search", "evidence", "reports", "replay", "weak_map", "packs", "bench",
    "scan", "catalogue", "calibration", "lineage", "cli",
]  # fmt: skip

#: What the search must not be able to reach: files, and with them the hold-out.
FORBIDDEN = {"search": {"checkpoints"}}


def imported_rooms(path: Path) -> set[str]:
    """The rooms of birthmark that a module imports, anywhere in it."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("birthmark"):
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("birthmark.")}
    return rooms - {"errors", "__version__"}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem in ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_run_towards_earlier_rooms(path: Path) -> None:
    """A module imports only its own room and earlier ones."""
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    allowed = set(ORDER[: ORDER.index(room) + 1]) - FORBIDDEN.get(room, set())

    assert imported_rooms(path) <= allowed
