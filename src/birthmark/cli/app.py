"""The commands and their options; what they do is imported only when they run, so that help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from birthmark import __version__

HELP = """Reads where a neural network was born: seed, generator and GPU launch layout, from the weights that
training left alone.

Exit codes: 0 a finding, 1 failed, 2 usage, 3 all that was planned was searched and nothing found,
4 stopped early and resumable, 5 nothing to search, 6 a self-test failed.
"""

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A checkpoint: a file or a folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"birthmark {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command()
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


@app.command()
def inspect(model: Model, json: Json = False) -> None:
    """Tensors, dtypes and survivors of a checkpoint; no search."""
    from birthmark.cli.inspecting import run

    run(model, json=json)


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def devices(
    json: Json = False,
    threads: Annotated[int | None, typer.Option(help="Only the devices with this G.")] = None,
) -> None:
    """The table of GPUs, with what cannot be told apart."""
    from birthmark.cli.listing import run

    run(json=json, threads=threads)


@app.command("gpu-check")
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


@app.command()
def bench(
    compare_c: Annotated[
        bool, typer.Option("--compare-c", help="Build the C program of benchmarks/ and compare with it.")
    ] = False,
    json: Json = False,
) -> None:
    """This machine's speed, as ratios from one run."""
    from birthmark.cli.benching import run

    run(compare_c=compare_c, json=json)


@app.command()
def calibrate(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder for record, page and plots; it is continued.")
    ],
    nulls: Annotated[int, typer.Option(min=0, help="Null checkpoints of each of the ten families.")] = 20,
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


@app.command()
def lineage(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Two checkpoints or more.")],
    seeds: Annotated[
        bool, typer.Option("--seeds/--no-seeds", help="Also scan each for the seeds that people use.")
    ] = True,
    json: Json = False,
) -> None:
    """How checkpoints are related: one birth, descent, merge, or nothing in common."""
    from birthmark.cli.relating import run

    run(models, json=json, seeds=seeds)


@app.command()
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
