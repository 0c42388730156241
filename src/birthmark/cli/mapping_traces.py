"""`birthmark traces`: what is left of a model's initial values, for people, as JSON and as a picture."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from birthmark.cli.births import Place, place_of
from birthmark.cli.scanning import check_writable
from birthmark.errors import MalformedFile, UsageError

if TYPE_CHECKING:
    from birthmark.checkpoints.interface import Checkpoint
    from birthmark.weak_map.births import Predicted

#: Exit codes: initial values were found where they were predicted; they were not.
FOUND, NOTHING = 0, 3


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as they were given."""

    model: str
    trace: Path | None
    recipe: str | None
    config: Path | None
    parallel: str | None
    dtype: str
    reading: Path | None
    seed: int | None
    device: str | None
    threads: int | None
    cpu: bool
    tensors: tuple[str, ...]
    prefix: str | None
    partial: bool
    decoys: int | None
    output: Path | None
    svg: Path | None
    workers: int | None
    json: bool
    quiet: bool


def run(request: Request) -> None:
    """Map, show the map, write what was asked for, and leave with the exit code."""
    from birthmark.checkpoints import open_checkpoint
    from birthmark.checkpoints.declarations import declared_model
    from birthmark.reports.output import write_whole
    from birthmark.weak_map.bands import heads_of
    from birthmark.weak_map.births import only
    from birthmark.weak_map.mapping import weak_map
    from birthmark.weak_map.picture import svg

    if (request.trace is None) == (request.recipe is None):
        raise UsageError("name what predicts: a trace with --trace, or a recipe with --recipe.")
    for path in (request.output, request.svg):
        if path is not None:
            check_writable(path)
    if request.output and request.svg and request.output.resolve() == request.svg.resolve():
        raise UsageError("--output and --svg name the same file; give each its own.")
    place = place_of(request.reading, request.seed, request.device, request.threads, cpu=request.cpu)

    def tell(name: str, number: int, of: int) -> None:
        if not request.quiet:
            typer.echo(f"\r\x1b[2K{number + 1}/{of} {name}", nl=False, err=True)

    with open_checkpoint(request.model) as checkpoint:
        declared = declared_model(checkpoint) if request.config is None else _document(request.config)
        predicted = _predicted(request, checkpoint, place, declared)
        if request.tensors:
            predicted = only(predicted, request.tensors)
        try:
            found = weak_map(
                checkpoint,
                predicted,
                heads=heads_of(declared),
                decoys=request.decoys,
                workers=request.workers,
                tell=tell,
            )
        finally:
            if not request.quiet:
                typer.echo("\r\x1b[2K", nl=False, err=True)
    document = found.to_json()
    if request.output is not None:
        write_whole(request.output, document.encode())
    if request.svg is not None:
        write_whole(request.svg, svg(found).encode())
    if request.json:
        typer.echo(document, nl=False)
    else:
        from rich.console import Console

        from birthmark.weak_map.terminal import render

        render(found, Console(highlight=False))
    raise typer.Exit(FOUND if found.found else NOTHING)


def _predicted(
    request: Request, checkpoint: Checkpoint, place: Place, declared: Mapping[str, Any]
) -> Predicted:
    from birthmark.weak_map.births import from_recipe, from_trace

    if request.trace is not None:
        from birthmark.recipes.trace_file import load
        from birthmark.replay.matching import match_trace
        from birthmark.replay.replaying import Birth

        trace = load(request.trace)
        match = match_trace(trace, checkpoint.tensors, prefix=request.prefix, partial=request.partial)
        birth = Birth(place.seed, place.threads, place.arithmetic, place.cpu_arithmetic)
        return from_trace(checkpoint, trace, birth, match)
    from birthmark.cli.recipes import built_of

    assert request.recipe is not None
    if not declared:
        raise UsageError(
            "a recipe needs the model's shape: no config.json lies beside the weights.",
            advice="Name one with --config.",
        )
    built = built_of(
        request.recipe,
        declared,
        place,
        parallel=request.parallel or "",
        dtype=request.dtype,
        prefix=request.prefix or "",
    )
    return from_recipe(checkpoint, built, request.prefix or "")


def _document(path: Path) -> dict[str, Any]:
    try:
        loaded = json_module.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError):
        raise MalformedFile(f"{path} is no JSON text: expected a model's config.json.") from None
    if not isinstance(loaded, dict):
        raise MalformedFile(f"{path} is no JSON object: expected a model's config.json.")
    return loaded
