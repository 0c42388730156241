"""`birthmark rewind`: a whole checkpoint as it was before training."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from birthmark.cli.scanning import check_writable
from birthmark.errors import MalformedFile, UsageError


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
    from birthmark.replay.rewind import beside, rewind

    check_writable(request.output)
    if beside(request.output) == request.output:
        raise UsageError("--output ends in .json, where the account goes; name a .safetensors file.")
    check_writable(beside(request.output))
    if (request.reading is None) == (request.seed is None):
        raise UsageError("give either a reading with --reading, or a seed with --seed.")
    trace = load(request.trace)
    birth = _birth(request)

    def tell(name: str, number: int, of: int) -> None:
        if not request.quiet:
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
            if not request.quiet:
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


def _birth(request: Request):  # type: ignore[no-untyped-def]  # noqa: ANN202 - imported when it runs
    from birthmark.devices.catalogue import Arithmetic, find
    from birthmark.replay.replaying import Birth

    arithmetic: Arithmetic = "nvidia-volta+"
    named = [request.device is not None, request.threads is not None, request.cpu]
    seed, threads, cpu_arithmetic = request.seed, request.threads, "cpu-fused"
    if request.reading is not None:
        found = _finding(request.reading)
        seed = found["seed"]
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
            f"{' (the reading leaves the layout open)' if request.reading else ''}."
        )
    if request.device is not None:
        card = find(request.device)
        threads, arithmetic = card.threads, card.arithmetic
    assert seed is not None
    return Birth(seed, None if named[2] else threads, arithmetic, cpu_arithmetic)


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
