"""`birthmark predict`: initial values for a seed and a device, as an array file."""

from __future__ import annotations

from pathlib import Path

import typer

from birthmark.cli.parsing import parse_range, parse_shape
from birthmark.errors import UsageError


def run(
    *,
    seed: int,
    device: str | None,
    threads: int | None,
    shape: str,
    output: Path,
    dtype: str,
    mean: float,
    std: float | None,
    low: float | None,
    high: float | None,
    rows: str | None,
    offset: int,
) -> None:
    """Predict, write the file, and say in two lines what was written."""
    from birthmark.prediction import prediction, save

    if (device is None) == (threads is None):
        raise UsageError("name a GPU with --device, or its number of threads with --threads.")
    if (low is None) != (high is None):
        raise UsageError("a uniform draw needs both --low and --high.")
    if low is not None and high is not None:
        if std is not None or mean:
            raise UsageError("--mean and --std belong to a normal draw, --low and --high to a uniform one.")
        distribution, parameters = "uniform", (low, high)
    else:
        distribution, parameters = "normal", (mean, 1.0 if std is None else std)
    extents = parse_shape(shape)
    wanted = parse_range("--rows", rows, most=extents[0]) if rows is not None else None
    drawn = prediction(
        seed,
        extents,
        device=device,
        threads=threads,
        dtype=dtype,
        distribution=distribution,  # type: ignore[arg-type]  # one of the two literals above
        parameters=parameters,
        rows=wanted,
        offset=offset,
    )
    save(output, drawn)
    facts = drawn.metadata()
    typer.echo(
        f"{output}: {facts['distribution']} {parameters}, seed {seed}, {device or 'GPU'} "
        f"(G = {facts['threads']:,})"
    )
    exact = "bit for bit what stock PyTorch draws there" if drawn.exact else "not proved to the last bit"
    typer.echo(f"values {'x'.join(map(str, extents))}{f', rows {rows}' if rows else ''}, {dtype}; {exact}")
