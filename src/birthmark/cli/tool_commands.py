"""Commands about devices, speed, calibration and the catalogue; options only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from birthmark.cli.arguments import Json


def devices(
    json: Json = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Only the devices with this G.")] = None,
) -> None:
    """The table of GPUs, with what cannot be told apart."""
    from birthmark.cli.listing import run

    run(json=json, threads=threads)


def gpu_check(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The record (default: the GPU's name, here). May be overwritten."
        ),
    ] = None,
    device: Annotated[int, typer.Option(min=0, help="Which GPU, as PyTorch numbers them.")] = 0,
    huge: Annotated[
        bool, typer.Option("--huge/--no-huge", help="Also draw a tensor above 2 GiB, which PyTorch splits.")
    ] = True,
    capture: Annotated[
        bool, typer.Option("--capture", help="Also write what its table units make of every input.")
    ] = False,
    json: Json = False,
) -> None:
    """Let stock PyTorch draw on this machine's GPU, and compare every bit with the predictions."""
    from birthmark.cli.gpu_checking import run

    run(output=output, device=device, huge=huge, capture=capture, json=json)


def bench(
    compare_c: Annotated[
        bool, typer.Option("--compare-c", help="Build the C program of benchmarks/ and compare with it.")
    ] = False,
    json: Json = False,
) -> None:
    """This machine's speed, as ratios from one run."""
    from birthmark.cli.benching import run

    run(compare_c=compare_c, json=json)


def calibrate(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder for record, page and plots; it is continued.")
    ],
    nulls: Annotated[int, typer.Option(min=0, help="Null checkpoints of each of the 13 families.")] = 20,
    truths: Annotated[int, typer.Option(min=0, help="True checkpoints at each of 26 steps.")] = 10,
    decoys: Annotated[int, typer.Option(min=0, help="Wrong seeds whose scores measure the tail.")] = 1 << 20,
    seed: Annotated[int, typer.Option(help="What all checkpoints come from.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that scan (default: one per core).")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """How often scans are wrong and how little they need, on checkpoints with known truth."""
    from birthmark.cli.calibrating import run

    run(output=output, nulls=nulls, truths=truths, decoys=decoys, seed=seed, workers=workers, quiet=quiet)


def catalogue(
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this model; with --add, the one that was read.")
    ] = None,
    maker: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this maker's models; with --add, who made it.")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(metavar="DIGITS", help="Only models of a file whose SHA-256 begins so.")
    ] = None,
    add: Annotated[
        Path | None,
        typer.Option(metavar="READING", help="Put a reading (JSON of a scan) into your own file."),
    ] = None,
    released: Annotated[
        str | None, typer.Option(metavar="DATE", help="With --add: when the model was released, 2026-11-30.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="With --add: a public reference that leads to the file.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Your own file (default: in the user's data folder).")
    ] = None,
    own: Annotated[bool, typer.Option("--own/--no-own", help="Include the entries of your own file.")] = True,
    write: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write the page of everything, in Markdown.")
    ] = None,
    json: Json = False,
) -> None:
    """What was published about models' births, and what birthmark reads, side by side."""
    from birthmark.cli.cataloguing import Request, run

    run(
        Request(
            model=model,
            maker=maker,
            digest=digest,
            json=json,
            add=add,
            released=released,
            source=source,
            file=file,
            own=own,
            write=write,
        )
    )
