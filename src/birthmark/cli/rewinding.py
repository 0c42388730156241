"""`birthmark rewind`: a whole checkpoint as it was before training."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from birthmark.cli.births import place_of
from birthmark.cli.scanning import check_writable
from birthmark.errors import UsageError


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as they were given."""

    model: str
    trace: Path
    output: Path
    reading: Path | None
    seed: int | None
    device: str | None
    threads: int | None
    cpu: bool
    prefix: str | None
    partial: bool
    unverified: bool
    json: bool
    quiet: bool


def run(request: Request) -> None:
    """Rewind, and say of each tensor what of it could be verified."""
    from birthmark.checkpoints import open_checkpoint
    from birthmark.recipes.trace_file import load
    from birthmark.replay.replaying import Birth
    from birthmark.replay.rewind import beside, rewind

    check_writable(request.output)
    if beside(request.output) == request.output:
        raise UsageError("--output ends in .json, where the account goes; name a .safetensors file.")
    check_writable(beside(request.output))
    place = place_of(request.reading, request.seed, request.device, request.threads, cpu=request.cpu)
    trace = load(request.trace)
    birth = Birth(place.seed, place.threads, place.arithmetic, place.cpu_arithmetic)

    shown = not request.quiet and sys.stderr.isatty()

    def tell(name: str, number: int, of: int) -> None:
        if shown:
            typer.echo(f"\r\x1b[2K{number + 1}/{of} {name}", nl=False, err=True)

    with open_checkpoint(request.model) as checkpoint:
        try:
            account = rewind(
                checkpoint,
                trace,
                birth,
                request.output,
                prefix=request.prefix,
                partial=request.partial,
                unverified=request.unverified,
                tell=tell,
            )
        finally:
            if shown:
                typer.echo("\r\x1b[2K", nl=False, err=True)
    if request.json:
        typer.echo(account.to_json(), nl=False)
        return
    for each in account.tensors:
        typer.echo(f"{each.name}: {_line(each)}")
    for name, reason in account.left_out.items():
        typer.echo(f"{name}: left out: {reason}")
    drawn = sum(each.control is not None for each in account.tensors)
    typer.echo(
        f"{request.output}: {len(account.tensors)} tensors of seed {birth.seed}; initial values were found "
        f"in {len(account.verified)} of {drawn} drawn ones. {beside(request.output)} has the numbers."
    )


def _line(each: Any) -> str:  # noqa: ANN401 - a `Rewound`, which is imported when it runs
    """What of a tensor was verified, in words."""
    found = each.resemblance
    if found is None:
        return "not in the checkpoint, nothing to compare with"
    if each.state == "constant":
        return f"no draw decides it, and all {found.n:,} values are still the same"
    if each.state == "differs":
        return f"no draw decides it, and {found.equal:,} of {found.n:,} values are still the same"
    text = f"{found.equal:,} of {found.n:,} values equal"
    held = [
        f"{count:,} of {of:,} {axis}"
        for axis, (count, of) in (("rows", found.rows), ("columns", found.columns))
        if count
    ]
    if held and each.state == "survivors":
        text += f", {' and '.join(held)} held up to a factor"
    if found.r is not None:
        text += f", r = {found.r:.4f} ({found.sigma:.1f} sigma)"
    return f"{each.state}: {text}{f'; {each.inexact}' if each.inexact else ''}"
