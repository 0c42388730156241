"""What the files beside the weights declare: the scale of the initialisation and a seed. Hints, never proof.

Read are small JSON files of known names in the checkpoint's folder; nothing else of them is used.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from birthmark.checkpoints.interface import Checkpoint

#: Files that are looked into, in this order, and the most bytes of one that are read.
FILES = ("config.json", "training_args.json", "trainer_state.json", "hparams.json")
MOST_BYTES = 1 << 22
#: Keys under which configurations keep the standard deviation of their normal draws.
SCALE_KEYS = ("initializer_range", "init_method_std", "init_std")
SEED_KEYS = ("seed", "random_seed", "manual_seed")


@dataclass(frozen=True, slots=True)
class Declarations:
    """A declared scale and seed, and the file that declares the seed; None where there is none."""

    scale: float | None = None
    seed: int | None = None
    source: str | None = None


def declarations(checkpoint: Checkpoint) -> Declarations:
    """What the files in the checkpoint's folder declare; nothing where they are missing or unreadable."""
    folder = Path(checkpoint.source)
    folder = folder if folder.is_dir() else folder.parent
    scale: float | None = None
    seed: int | None = None
    source: str | None = None
    for name in FILES:
        found = _document(folder / name)
        if scale is None:
            scale = next((value for key in SCALE_KEYS if (value := _positive(found.get(key)))), None)
        if seed is None:
            seed = next((value for key in SEED_KEYS if (value := _integer(found.get(key))) is not None), None)
            source = name if seed is not None else None
    return Declarations(scale, seed, source)


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
