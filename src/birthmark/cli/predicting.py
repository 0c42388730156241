"""`birthmark predict`: initial values for a seed and a device, as an array file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from birthmark.cli.parsing import parse_number, parse_numbers, parse_placements, parse_range, parse_shape
from birthmark.errors import UsageError


@dataclass(frozen=True, slots=True)
class Request:
    """The options as they were given; see `birthmark predict --help`."""

    seed: int
    shape: str
    output: Path
    device: str | None
    threads: int | None
    dtype: str
    distribution: str | None
    numbers: dict[str, str | None]
    others: Sequence[str]
    torch: str | None
    cuda: str | None
    cast: str | None
    shards: int
    mesh: str | None
    placements: str | None
    rows: str | None
    offset: int
    index: int | None


def run(asked: Request) -> None:
    """Predict, write the file, and say in two lines what was written."""
    from birthmark.prediction import prediction
    from birthmark.prediction_file import save
    from birthmark.recipes.sharding import Sharding

    if (asked.device is None) == (asked.threads is None):
        got = "" if asked.device is None else ", not both"
        raise UsageError(
            f"name a GPU (or cpu) with --device, or a GPU's number of threads with --threads{got}."
        )
    if (asked.mesh is None) != (asked.placements is None):
        raise UsageError("a distributed tensor needs both --mesh and --placements.")
    numbers = {
        name: parse_number(f"--{name}", text) for name, text in asked.numbers.items() if text is not None
    }
    numbers |= parse_numbers("--parameter", asked.others)
    distribution = _distribution(asked.distribution, numbers)
    if distribution == "truncated-normal" and asked.torch is None:
        raise UsageError(
            "truncated normals are other values from torch 2.12 on: name the release with --torch-version."
        )
    shape = parse_shape(asked.shape)
    if asked.device is not None and asked.device.strip().casefold() == "cpu":
        _on_cpu(asked, shape, distribution, numbers)
        return
    if asked.index is not None:
        raise UsageError("--index counts words of the CPU generator; a GPU's position is its --offset.")
    drawn = prediction(
        asked.seed,
        shape,
        device=asked.device,
        threads=asked.threads,
        dtype=asked.dtype,
        distribution=distribution,
        parameters=numbers,
        rows=parse_range("--rows", asked.rows, most=shape[0]) if asked.rows is not None else None,
        offset=asked.offset,
        sharding=Sharding(asked.shards, "single" if asked.shards == 1 else "megatron"),
        mesh=parse_shape(asked.mesh, option="--mesh") if asked.mesh is not None else None,
        placements=parse_placements("--placements", asked.placements or ""),
        torch=asked.torch,
        cuda=asked.cuda,
        cast=asked.cast,
    )
    save(asked.output, drawn)
    facts = drawn.metadata()
    where = f"{asked.device or 'GPU'} (G = {facts['threads']:,})"
    _say(asked, shape, distribution, drawn.parameters, where, facts["dtype"], exact=drawn.exact)


def _on_cpu(
    asked: Request, shape: tuple[int, ...], distribution: str, numbers: dict[str, float | int | None]
) -> None:
    """The same with PyTorch's CPU generator, which has a position in words and no layout."""
    from birthmark.cpu_prediction import cpu_prediction
    from birthmark.prediction_file import save

    if asked.shards != 1 or asked.mesh is not None or asked.offset or asked.cuda is not None:
        raise UsageError("--shards, --mesh, --offset and --cuda-version belong to a GPU, not to the CPU.")
    drawn = cpu_prediction(
        asked.seed,
        shape,
        index=asked.index or 0,
        dtype=asked.dtype,
        distribution=distribution,
        parameters=numbers,
        rows=parse_range("--rows", asked.rows, most=shape[0]) if asked.rows is not None else None,
        torch=asked.torch,
        cast=asked.cast,
    )
    save(asked.output, drawn)
    where = f"CPU, {asked.index or 0:,} words before"
    _say(asked, shape, distribution, drawn.parameters, where, drawn.dtype, exact=drawn.exact)


def _say(
    asked: Request,
    shape: tuple[int, ...],
    distribution: str,
    numbers: Mapping[str, float | int | None],
    where: str,
    dtype: str,
    *,
    exact: bool,
) -> None:
    """What was written, in two lines."""
    given = ", ".join(f"{name} {number}" for name, number in numbers.items())
    draw = f"{distribution}{f' ({given})' if given else ''}"
    typer.echo(f"{asked.output}: {draw}, seed {asked.seed}, {where}")
    quality = "bit for bit what stock PyTorch draws there" if exact else "not proved to the last bit"
    stored = f"{dtype} cast to {asked.cast}" if asked.cast else dtype
    rows = f", rows {asked.rows}" if asked.rows else ""
    typer.echo(f"values {'x'.join(map(str, shape))}{rows}, {stored}; {quality}")


def _distribution(named: str | None, numbers: dict[str, float | int | None]) -> str:
    """The draw: as named, or what its numbers say."""
    if named is not None:
        return named
    if {"a", "b"} & set(numbers):
        return "truncated-normal"
    bounds = {"low", "high"} & set(numbers)
    if not bounds:
        return "normal"
    if bounds != {"low", "high"}:
        raise UsageError("a uniform draw needs both --low and --high.")
    if {"mean", "std"} & set(numbers):
        raise UsageError("--mean and --std belong to a normal draw, --low and --high to a uniform one.")
    return "uniform"
