"""Names of classes, as a model's configuration gives them (`id2label` of a `config.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from birthmark.checkpoints.strict_json import parse_object, shown
from birthmark.errors import MalformedFile

#: The most bytes of a configuration that are read, and characters of a name that are shown.
MOST_BYTES: Final = 1 << 24
SHOWN: Final = 40


def find_labels(source: str) -> Mapping[int, str]:
    """The names of classes beside a checkpoint, each escaped, quoted and cut.

    Args:
        source: the checkpoint's path: a file, or a folder.

    Returns:
        Names by number; none where the configuration has none, or cannot be read.
    """
    folder = Path(source)
    path = (folder if folder.is_dir() else folder.parent) / "config.json"
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return {}
        labels = parse_object(path.read_bytes(), "config.json").get("id2label")
    except (OSError, MalformedFile):
        return {}
    if not isinstance(labels, dict):
        return {}
    return {
        int(number): shown(label, SHOWN)
        for number, label in labels.items()
        if number.isascii() and number.isdigit() and len(number) < 10 and isinstance(label, str)
    }
