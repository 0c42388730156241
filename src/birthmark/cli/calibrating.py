"""`birthmark calibrate`: scans of checkpoints with known truth, counted, as a page with plots."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import typer

from birthmark.errors import OutputError, UsageError


def run(
    *, output: Path, nulls: int, truths: int, decoys: int, seed: int, workers: int | None, quiet: bool
) -> None:
    """Calibrate, write the folder, and say in a few lines what came of it."""
    from birthmark.calibration.document import PAGE, write
    from birthmark.calibration.experiment import conduct, plan
    from birthmark.calibration.summary import summarise
    from birthmark.calibration.tail import measure

    if seed < 0:
        raise UsageError(f"--seed {seed}: expected 0 or more.")
    jobs = plan(nulls, truths, seed)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {output}: {error.strerror or error}.") from error
    processes = workers or os.cpu_count() or 1

    def told(done: int, of: int) -> None:
        if not quiet and (done == of or done % max(of // 100, 1) == 0):
            typer.echo(f"\r{done:,} of {of:,}", nl=done == of, err=True)

    results = conduct(output, jobs, workers=processes, told=lambda done, of, _: told(done, of))
    tail = measure(decoys, seed, processes, told) if decoys else None
    summary = summarise(results, seed, tail)
    write(output, summary, shlex.join(["birthmark", *sys.argv[1:]]))
    for name, rate in (("null", summary.null), ("true", summary.truth)):
        if rate.of:
            typer.echo(
                f"{rate.of:,} {name} checkpoints: {rate.count} wrong readings (95 %: up to {rate.high:.2g})"
            )
    typer.echo(f"{output / PAGE}")
