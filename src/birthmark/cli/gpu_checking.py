"""`birthmark gpu-check`: hold a real GPU against the predictions, and write what it drew as a record."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from birthmark.errors import SelfTestFailed


def run(*, output: Path | None, device: int, huge: bool, capture: bool, json: bool) -> None:
    """Check, write the record and, where the GPU differs or it is asked for, a capture of its table units."""
    from birthmark.torch import gpu_units
    from birthmark.torch.gpu_check import check_gpu
    from birthmark.torch.gpu_record import Check, write

    def told(check: Check) -> None:
        if not json:
            typer.echo(f"{check.case:<24} n = {check.n:>13,}  {_told(check)}")

    record = check_gpu(device, huge=huge, told=told)
    path = output or Path(f"{_slug(record.device)}.json")
    write(path, record)
    if json:
        typer.echo(record.to_json(), nl=False)
    else:
        typer.echo(f"{path}: {record.device}, G = {record.threads:,}, torch {record.torch}")
    differs = record.differences
    if (differs or capture) and record.hip is None and not record.virtual:
        beside = path.with_suffix(".units.npz")
        about = {"device": record.device, "torch": record.torch, "cuda": record.cuda}
        gpu_units.save(beside, gpu_units.capture(gpu_units.on_gpu(device)), about)
        if not json:
            typer.echo(f"{beside}: its table units, input by input")
    if differs:
        worst = differs[0]
        raise SelfTestFailed(
            f"{len(differs)} of {len(record.checks)} draws of {record.device} are not as predicted, the "
            f"first {worst.case} of {worst.n:,} elements ({_told(worst)}).",
            advice="Please report it with the files that were written.",
        )


def _told(check: object) -> str:
    from birthmark.torch.gpu_record import Check

    assert isinstance(check, Check)
    if check.end_offset != check.predicted_offset:
        return f"offset {check.end_offset}, predicted {check.predicted_offset}"
    if not check.unequal:
        return "equal, bit for bit"
    far = "" if check.furthest is None else f", by up to {check.furthest} units in the last place"
    verdict = "as expected of stand-ins" if check.agrees else f"from element {check.first:,} on"
    return f"{check.unequal:,} differ{far}, {verdict}"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "gpu"
