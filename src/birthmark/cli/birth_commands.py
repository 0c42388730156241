"""Commands that compute births: predict, trace, rewind; options only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from birthmark.cli.arguments import Json, Model


def predict(
    seed: Annotated[int, typer.Option(help="The seed, as torch.manual_seed takes it.")],
    shape: Annotated[str, typer.Option(help="The tensor's shape, e.g. 128256,4096.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    device: Annotated[
        str | None, typer.Option(help='The GPU, e.g. "H100 SXM" (see `birthmark devices`), or cpu.')
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="G, for a GPU that is not in the table, instead of --device.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="The dtype at draw time.")] = "float32",
    distribution: Annotated[
        str | None,
        typer.Option(
            help="normal, uniform, truncated-normal, exponential, log-normal, cauchy, geometric, integers, "
            "bernoulli or permutation (default: what the numbers say, else normal)."
        ),
    ] = None,
    mean: Annotated[str | None, typer.Option(metavar="NUMBER", help="Mean of a normal draw (0).")] = None,
    std: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Standard deviation of a normal draw (1).")
    ] = None,
    low: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Lower bound of a uniform draw, or of integers.")
    ] = None,
    high: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Upper bound of a uniform draw, or of integers.")
    ] = None,
    a: Annotated[
        str | None, typer.Option("--a", metavar="NUMBER", help="Lower bound of a truncated normal (-2).")
    ] = None,
    b: Annotated[
        str | None, typer.Option("--b", metavar="NUMBER", help="Upper bound of a truncated normal (2).")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Another number of the draw, e.g. rate=2 (several times)."),
    ] = None,
    torch_version: Annotated[
        str | None, typer.Option(help="The release of PyTorch, e.g. 2.4.1 (default: the newest known).")
    ] = None,
    cuda_version: Annotated[
        str | None, typer.Option(help="The CUDA version of that build, e.g. 12.8, where it matters.")
    ] = None,
    cast: Annotated[
        str | None, typer.Option(help="A dtype that the values were rounded to after the draw.")
    ] = None,
    shards: Annotated[
        int, typer.Option(min=1, help="Megatron's tensor-parallel ranks; --seed is then that of rank 0.")
    ] = 1,
    mesh: Annotated[
        str | None, typer.Option(metavar="EXTENTS", help="A distributed tensor's mesh, e.g. 2,4.")
    ] = None,
    placements: Annotated[
        str | None,
        typer.Option(help="For each dimension of the mesh: which of the tensor's it cuts, or r; e.g. 0,r."),
    ] = None,
    rows: Annotated[str | None, typer.Option(metavar="START:STOP", help="Only these rows.")] = None,
    offset: Annotated[int, typer.Option(min=0, help="A GPU generator's offset; a multiple of 4.")] = 0,
    index: Annotated[
        int | None,
        typer.Option(min=0, max=1 << 62, help="With --device cpu: 32-bit words drawn before (0)."),
    ] = None,
) -> None:
    """Initial values for a seed and a device, as an array file."""
    from birthmark.cli.predicting import Request, run

    run(
        Request(
            seed=seed,
            shape=shape,
            output=output,
            device=device,
            threads=threads,
            dtype=dtype,
            distribution=distribution,
            numbers={"mean": mean, "std": std, "low": low, "high": high, "a": a, "b": b},
            others=parameter or (),
            torch=torch_version,
            cuda=cuda_version,
            cast=cast,
            shards=shards,
            mesh=mesh,
            placements=placements,
            rows=rows,
            offset=offset,
            index=index,
        )
    )


def trace(
    program: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE:FUNCTION]",
            help="Your own code that builds the model, such as my_model.py:build. It is run.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The trace to write.")] = Path("draws.json"),
    hf_config: Annotated[
        Path | None,
        typer.Option(help="Instead of code: a config.json of transformers. No code beside it is run."),
    ] = None,
    device: Annotated[
        str, typer.Option(help="Where the model is built: cpu, or cuda, which needs no GPU.")
    ] = "cpu",
    dtype: Annotated[
        str | None, typer.Option(help="With --hf-config: the dtype to build in, instead of its own.")
    ] = None,
    torch: Annotated[
        str | None,
        typer.Option(help="The PyTorch release whose draws are meant (default: the installed one)."),
    ] = None,
) -> None:
    """The draws of a real model's constructor, in order, as a file."""
    from birthmark.cli.tracing import run

    run(program=program, config=hf_config, output=output, device=device, dtype=dtype, release=torch)


def rewind(
    model: Model,
    trace: Annotated[Path, typer.Option(help="A trace of the model, from `birthmark trace`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The safetensors file to write.")],
    reading: Annotated[
        Path | None, typer.Option(help="The reading of a scan (JSON): its seed, and where it was drawn.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed, instead of a reading.")] = None,
    device: Annotated[str | None, typer.Option(help="The GPU that drew; see `birthmark devices`.")] = None,
    threads: Annotated[int | None, typer.Option(help="G, for a GPU that is not in the table.")] = None,
    cpu: Annotated[bool, typer.Option("--cpu", help="It was drawn on the CPU.")] = False,
    prefix: Annotated[
        str | None, typer.Option(help="What stands before the model's names in the checkpoint.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="The checkpoint may lack tensors of the trace.")
    ] = False,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Write the file even if nothing of it can be verified.")
    ] = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """The whole checkpoint as it was before training, with what of it can be verified."""
    from birthmark.cli.rewinding import Request, run

    run(
        Request(
            model=model,
            trace=trace,
            output=output,
            reading=reading,
            seed=seed,
            device=device,
            threads=threads,
            cpu=cpu,
            prefix=prefix,
            partial=partial,
            unverified=unverified,
            json=json,
            quiet=quiet,
        )
    )
