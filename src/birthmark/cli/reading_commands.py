"""Commands that read checkpoints: scan, inspect, traces, verify, lineage; options only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from birthmark.cli.arguments import Json, Model


def scan(
    model: Model,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the reading as JSON to this file.")
    ] = None,
    pack: Annotated[
        Path | None, typer.Option(help="Write an evidence pack (.bmk) that `birthmark verify` re-runs.")
    ] = None,
    tensor: Annotated[
        list[str] | None, typer.Option(help="Search only this tensor (may be given several times).")
    ] = None,
    offset: Annotated[
        int, typer.Option(min=0, help="The generator's offset when the draw starts; a multiple of 4.")
    ] = 0,
    seeds: Annotated[
        str | None, typer.Option(metavar="LO:HI", help="Only the seeds LO <= s < HI, instead of all 2^32.")
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option(help="Only the layout of this GPU (may be given several times).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Stop after the dictionary of seeds that people use.")
    ] = False,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Go on through every layout of 16 to 512 SMs.")
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Keep the search's progress here (default: in the user's cache).")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the ledger.")] = False,
    cpu: Annotated[
        bool, typer.Option("--cpu/--no-cpu", help="Also try survivors as a draw of the CPU generator.")
    ] = True,
    trace: Annotated[
        Path | None,
        typer.Option(help="A trace of the model (`birthmark trace`): where each tensor was drawn."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(help="With --trace: what stands before the model's names in the checkpoint.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads that search (default: one per core).")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """The main job, end to end: survivors, search, evidence, reading."""
    from birthmark.cli.scanning import Request, run

    run(
        Request(
            model=model,
            json=json,
            output=output,
            pack=pack,
            tensors=tuple(tensor or ()),
            offset=offset,
            seeds=seeds,
            devices=tuple(device or ()),
            quick=quick,
            exhaustive=exhaustive,
            ledger=ledger,
            resume=resume,
            cpu=cpu,
            trace=trace,
            prefix=prefix,
            workers=workers,
            quiet=quiet,
        )
    )


def inspect(model: Model, json: Json = False) -> None:
    """Tensors, dtypes and survivors of a checkpoint; no search."""
    from birthmark.cli.inspecting import run

    run(model, json=json)


def traces(
    model: Model,
    trace: Annotated[
        Path | None,
        typer.Option(help="A trace of the model (`birthmark trace`): where each tensor was drawn."),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:OPTION=VALUE,...]",
            help="Instead of a trace: how a framework builds the model, such as megatron-core.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="The model's config.json (default: the one beside the weights).")
    ] = None,
    parallel: Annotated[
        str | None, typer.Option(help="With --recipe: on how many processes, such as tp=2,pp=4.")
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="With --recipe: the dtype of the parameters while they are drawn.")
    ] = "bfloat16",
    reading: Annotated[
        Path | None, typer.Option(help="A reading as JSON: its seed, and where it was drawn.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed, instead of a reading.")] = None,
    device: Annotated[str | None, typer.Option(help="The GPU that drew; see `birthmark devices`.")] = None,
    threads: Annotated[int | None, typer.Option(help="G, for a GPU that is not in the table.")] = None,
    cpu: Annotated[bool, typer.Option("--cpu", help="It was drawn on the CPU.")] = False,
    tensor: Annotated[
        list[str] | None, typer.Option(help="Only this tensor (may be given several times).")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(help="What stands before the model's names in the checkpoint.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="The checkpoint may lack tensors of the trace.")
    ] = False,
    decoys: Annotated[
        int | None, typer.Option(min=0, help="False seeds (default: as many as a second or two allows).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the map as JSON to this file.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Also draw the map to this SVG file.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads (default: one per core).")] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Where the initial values of a trained model survive, tensor by tensor, and how much of them."""
    from birthmark.cli.mapping_traces import Request, run

    run(
        Request(
            model=model,
            trace=trace,
            recipe=recipe,
            config=config,
            parallel=parallel,
            dtype=dtype,
            reading=reading,
            seed=seed,
            device=device,
            threads=threads,
            cpu=cpu,
            tensors=tuple(tensor or ()),
            prefix=prefix,
            partial=partial,
            decoys=decoys,
            output=output,
            svg=svg,
            workers=workers,
            json=json,
            quiet=quiet,
        )
    )


def verify(
    pack: Annotated[Path, typer.Argument(metavar="PACK", help="An evidence pack (.bmk).")],
    checkpoint: Annotated[
        str | None,
        typer.Option("--against", metavar="MODEL", help="Also compare the rows with this checkpoint."),
    ] = None,
    json: Json = False,
) -> None:
    """Recompute everything in an evidence pack, offline."""
    from birthmark.cli.verifying import run

    run(pack, checkpoint=checkpoint, json=json)


def lineage(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Two checkpoints or more, or one that holds several; FILE#PREFIX is a part of one.",
        ),
    ],
    seeds: Annotated[
        bool, typer.Option("--seeds/--no-seeds", help="Also scan each for the seeds that people use.")
    ] = True,
    json: Json = False,
) -> None:
    """How checkpoints are related: one birth, descent, merge, or nothing in common."""
    from birthmark.cli.relating import run

    run(models, json=json, seeds=seeds)
