"""With which seed a model was born, and where: from a reading, or from options of the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from birthmark.errors import MalformedFile, UsageError

if TYPE_CHECKING:
    from birthmark.devices.catalogue import Arithmetic


@dataclass(frozen=True, slots=True)
class Place:
    """Seed and place of birth.

    Attributes:
        seed: as the generator saw it.
        threads: G; None on the CPU.
        arithmetic: how the GPU makes float32 normals.
        cpu_arithmetic: how the CPU build computes.
        tensor: the tensor that the seed is of, where a reading gave it.
    """

    seed: int
    threads: int | None
    arithmetic: Arithmetic = "nvidia-volta+"
    cpu_arithmetic: str = "cpu-fused"
    tensor: str | None = None


def place_of(
    reading: Path | None, seed: int | None, device: str | None, threads: int | None, *, cpu: bool
) -> Place:
    """Where a model was born.

    Args:
        reading: a reading whose first finding with a seed counts; None for `seed`.
        seed: the seed; None for that of the reading.
        device: the GPU, where a reading does not say or is to be overruled.
        threads: its G instead.
        cpu: whether it was the CPU instead.

    Raises:
        UsageError: neither a reading nor a seed, or both; a seed out of range; no place, or several.
        UnknownName: no such device.
        MalformedFile: the reading is none.
    """
    from birthmark.devices.catalogue import find
    from birthmark.prediction import checked_seed

    if (reading is None) == (seed is None):
        raise UsageError("give either a reading with --reading, or a seed with --seed.")
    arithmetic: Arithmetic = "nvidia-volta+"
    named = [device is not None, threads is not None, cpu]
    cpu_arithmetic, tensor = "cpu-fused", None
    if reading is not None:
        found = _finding(reading)
        seed, tensor = found["seed"], found["tensor"]
        if found.get("platform") == "cpu":
            cpu_arithmetic = found.get("arithmetic") or cpu_arithmetic
        else:
            arithmetic = found.get("arithmetic") or arithmetic
            threads = threads or (found.get("layout") or {}).get("threads")
        if found.get("platform") == "cpu" and not any(named):
            named[2] = True
        elif threads is not None and not any(named):
            named[1] = True
    if sum(named) != 1:
        raise UsageError(
            "where it was drawn is not settled: name one of --device, --threads and --cpu"
            f"{' (the reading leaves the layout open)' if reading else ''}."
        )
    if device is not None:
        card = find(device)
        threads, arithmetic = card.threads, card.arithmetic
    assert seed is not None
    return Place(checked_seed(seed), None if named[2] else threads, arithmetic, cpu_arithmetic, tensor)


def _finding(path: Path) -> dict[str, Any]:
    """The first finding of a reading that has a seed."""
    from birthmark.reports.reading import from_json

    try:
        reading = from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise MalformedFile(f"{path} is not UTF-8 text: no reading.") from None
    for finding in json.loads(reading.to_json())["findings"]:
        if finding["seed"] is not None:
            if finding["generator"] not in ("philox", "mt19937"):
                raise UsageError(f"the reading is of generator {finding['generator']}: no trace replays it.")
            kept: dict[str, Any] = finding
            return kept
    raise UsageError(f"{path} has no finding with a seed.", advice="Scan the checkpoint first.")
