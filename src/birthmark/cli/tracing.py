"""`birthmark trace`: the draws of a real model's constructor, as a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import typer

from birthmark.cli.scanning import check_writable
from birthmark.errors import UsageError


def run(
    *,
    program: str | None,
    config: Path | None,
    output: Path,
    device: str,
    dtype: str | None,
    release: str | None,
) -> None:
    """Trace, write the file, and say in a few lines what is in it."""
    if (program is None) == (config is None):
        raise UsageError("name a function such as my_model.py:build, or a configuration with --hf-config.")
    if dtype is not None and config is None:
        raise UsageError("--dtype belongs to --hf-config; a program decides its dtypes itself.")
    if device not in ("cpu", "cuda"):
        raise UsageError(f"a trace on {device!r}: expected cpu, or cuda, which needs no GPU.")
    check_writable(output)
    from birthmark.recipes.trace_file import save
    from birthmark.torch.programs import from_config, from_file
    from birthmark.torch.tracing import trace

    if program is not None:
        typer.echo(
            f"Running {program}: it is your own code, and runs with everything that it does.", err=True
        )
        made = from_file(program)
    else:
        assert config is not None
        made = from_config(config, dtype)
    where: Literal["cpu", "cuda"] = "cuda" if device == "cuda" else "cpu"
    found = trace(made.build, device=where, model=str(program or config), release=release)
    found = replace(found, notes=(*made.notes, *found.notes))
    save(output, found)
    kept = sum(draw.tensor is not None for draw in found.draws)
    tied = sum(tensor.tied is not None for tensor in found.tensors)
    size = sum(tensor.size for tensor in found.tensors if tensor.tied is None)
    typer.echo(
        f"{output}: {len(found.draws):,} draws, of which {kept:,} are kept; {len(found.tensors):,} tensors"
        f"{f' ({tied} tied)' if tied else ''} with {size:,} values; torch {found.torch}"
    )
    unknown = _unknown(found)
    if unknown:
        typer.echo(f"{len(unknown):,} tensors are not followed, the first: {unknown[0]}")
    for note in found.notes:
        typer.echo(note)


def _unknown(found) -> list[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - imported when it runs
    from birthmark.recipes.trace_values import why_unknown

    return [
        f"{tensor.name} ({reason})"
        for tensor in found.tensors
        if (reason := why_unknown(tensor.value)) is not None and tensor.tied is None
    ]
