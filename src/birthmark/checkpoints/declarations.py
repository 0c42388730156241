"""What the authors declare: the scale of the initialisation and a seed. Hints, never proof.

Read are small JSON files of known names in the checkpoint's folder, the arguments that trainers save beside
the weights, and numbers of well-known names inside the checkpoint's pickles; nothing else of them is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from birthmark.checkpoints.interface import Checkpoint
from birthmark.checkpoints.opening import open_checkpoint
from birthmark.checkpoints.settings import SCALE_KEYS, SEED_KEYS
from birthmark.errors import BirthmarkError

#: Files that are looked into, in this order, and the most bytes of one that are read.
FILES = ("config.json", "training_args.json", "trainer_state.json", "hparams.json")
MOST_BYTES = 1 << 22
#: Files of pickled arguments, as transformers' Trainer saves them.
PICKLED = ("training_args.bin",)


@dataclass(frozen=True, slots=True)
class Declarations:
    """A declared scale and seed, and the file that declares the seed; None where there is none."""

    scale: float | None = None
    seed: int | None = None
    source: str | None = None


def declared_model(checkpoint: Checkpoint) -> Mapping[str, object]:
    """The config.json in the checkpoint's folder; empty where it is missing or unreadable."""
    return _document(_folder(checkpoint) / "config.json")


def declarations(checkpoint: Checkpoint) -> Declarations:
    """What the checkpoint and the files in its folder declare; nothing where that is missing or unreadable.

    Of several seeds the one of the file nearest to the weights counts: their own pickles come first.
    """
    folder = _folder(checkpoint)
    scale: float | None = None
    seed: int | None = None
    source: str | None = None
    names = ", ".join(file.name for file in checkpoint.files)
    told = [(names, _by_last_key(checkpoint.settings))]
    told += [(name, _document(folder / name)) for name in FILES]
    told += [(name, _by_last_key(_arguments(folder / name))) for name in PICKLED]
    for name, found in told:
        if scale is None:
            scale = next((value for key in SCALE_KEYS if (value := _positive(found.get(key)))), None)
        if seed is None:
            seed = next((value for key in SEED_KEYS if (value := _integer(found.get(key))) is not None), None)
            source = name if seed is not None else None
    return Declarations(scale, seed, source)


def _folder(checkpoint: Checkpoint) -> Path:
    source = Path(checkpoint.source)
    return source if source.is_dir() else source.parent


def _by_last_key(settings: Mapping[str, int | float]) -> dict[str, object]:
    """Settings by the last key of the way to each; the shortest way wins."""
    found: dict[str, object] = {}
    for way in sorted(settings, key=lambda way: (way.count("."), way)):
        found.setdefault(way.rpartition(".")[2], settings[way])
    return found


def _arguments(path: Path) -> Mapping[str, int | float]:
    """The settings in a pickle of arguments."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return {}
        with open_checkpoint(path) as arguments:
            return arguments.settings
    except (OSError, BirthmarkError):
        return {}  # a hint that cannot be read is no hint


def _document(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > MOST_BYTES:
            return {}
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}  # a hint that cannot be read is no hint
    return loaded if isinstance(loaded, dict) else {}


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def _integer(value: object) -> int | None:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64
        else None
    )
