"""`birthmark inspect`: tensors, dtypes and survivors; no search."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict

import numpy as np
import typer

from birthmark.checkpoints import open_checkpoint
from birthmark.checkpoints.interface import Checkpoint, TensorInfo
from birthmark.survivors.survey import survey
from birthmark.survivors.survivor import Survivors, TensorSurvey
from birthmark.vocabulary.files import find_vocabulary
from birthmark.vocabulary.labels import find_labels
from birthmark.vocabulary.rows import Told, tell

#: Survivors are counted from this probability on, as the search does.
LIKELY = 0.5
#: So many ids are listed on the terminal.
LISTED = 12


def run(model: str, *, json: bool) -> None:
    """Survey the checkpoint and print what was seen."""
    with open_checkpoint(model) as checkpoint:
        surveys = {each.tensor: each for each in survey(checkpoint)}
        told, trouble = _told(checkpoint.source, surveys)
        notes = [*checkpoint.notes, *([trouble] if trouble else [])]
        if json:
            document = _document(checkpoint, surveys, told, notes)
            typer.echo(json_module.dumps(document, indent=2, allow_nan=False))
        else:
            _print(checkpoint, surveys, told, notes)


def _told(source: str, surveys: dict[str, TensorSurvey]) -> tuple[dict[str, Told], str | None]:
    """What each tensor's survivors stand for, and what was wrong with the tokenizer beside them."""
    vocabulary, trouble = find_vocabulary(source)
    labels = find_labels(source)
    told = {}
    for name, each in surveys.items():
        if each.survivors is not None:
            found = each.survivors
            ids = found.likely(LIKELY).tolist()
            if (meaning := tell(name, each.shape, found.axis, ids, vocabulary, labels)) is not None:
                told[name] = meaning
    return told, trouble


def _print(
    checkpoint: Checkpoint, surveys: dict[str, TensorSurvey], told: dict[str, Told], notes: list[str]
) -> None:
    total = sum(file.size for file in checkpoint.files)
    typer.echo(
        f"{checkpoint.source}: {len(checkpoint.tensors):,} tensors in {len(checkpoint.files):,} "
        f"file{'s' if len(checkpoint.files) != 1 else ''}, {total:,} bytes\n"
    )
    width = max((len(name) for name in checkpoint.tensors), default=0)
    for info in checkpoint.tensors.values():
        shape = "x".join(map(str, info.shape)) or "scalar"
        typer.echo(
            f"{info.name:<{width}}  {info.dtype:<9} {shape:>14}  {_seen(info, surveys.get(info.name))}"
        )
    for name, meaning in told.items():
        typer.echo(f"\n{name}: {meaning.sentence}")
    for note in notes:
        typer.echo(f"\nNote: {note}")


def _seen(info: TensorInfo, found: TensorSurvey | None) -> str:
    """One line about a tensor."""
    if found is None:
        return "no float tensor" if not info.is_float else "not surveyed"
    special = [f"{len(ids):,} {kind}" for kind, ids in found.special.items() if len(ids)]
    aside = f" (besides: {', '.join(special)})" if special else ""
    if found.survivors is None:
        return f"none: {found.reason}{aside}"
    return f"{_survivors(found.survivors)}{aside}{', from a sample of rows' if found.sampled else ''}"


def _survivors(found: Survivors) -> str:
    ids = found.likely(LIKELY)
    what = "std" if found.distribution == "normal" else "bound"
    if found.axis == "tensor":
        return f"SURVIVORS: the whole tensor, {found.distribution}, {what} {found.scale:.4g}"
    listed = ", ".join(str(i) for i in ids[:LISTED]) + (", ..." if len(ids) > LISTED else "")
    count = f"{len(ids):,} {found.axis}{'s' if len(ids) != 1 else ''}"
    return f"SURVIVORS: {count}, {found.distribution}, {what} {found.scale:.4g}: {listed}"


def _document(
    checkpoint: Checkpoint, surveys: dict[str, TensorSurvey], told: dict[str, Told], notes: list[str]
) -> dict[str, object]:
    tensors = []
    for info in checkpoint.tensors.values():
        found = surveys.get(info.name)
        tensors.append(
            {
                "name": info.name,
                "dtype": info.dtype,
                "shape": list(info.shape),
                "file": info.file,
                "survivors": _record(found.survivors) if found and found.survivors else None,
                "special": {kind: ids.tolist() for kind, ids in found.special.items()} if found else {},
                "sampled": found.sampled if found else False,
                "reason": _reason(info, found),
                "stands_for": asdict(told[info.name]) if info.name in told else None,
            }
        )
    files = [{"name": file.name, "size": file.size} for file in checkpoint.files]
    return {
        "schema": "birthmark.inspection/1",
        "source": checkpoint.source,
        "files": files,
        "tensors": tensors,
        "bytes_read": checkpoint.bytes_read,
        "notes": notes,
    }


def _reason(info: TensorInfo, found: TensorSurvey | None) -> str | None:
    if found is None:
        return "no float tensor" if not info.is_float else "not surveyed"
    return found.reason


def _record(found: Survivors) -> dict[str, object]:
    likely = found.probability >= LIKELY
    return {
        "axis": found.axis,
        "distribution": found.distribution,
        "scale": found.scale,
        "scale_error": found.scale_error,
        "count": int(likely.sum()),
        "ids": found.ids[likely].tolist(),
        "probability": np.round(found.probability[likely], 4).tolist(),
    }
