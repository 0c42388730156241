"""`birthmark bench`: this machine's speed, as ratios from one run."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping

import typer

from birthmark.bench import BenchResult, bench
from birthmark.bench.draws import GPU, DrawSpeeds, bench_draws
from birthmark.search.cpu_positions.rates import cpu_search_rates


def run(*, compare_c: bool, json: bool) -> None:
    """Measure and print."""
    result, draws = bench(compare_c=compare_c), bench_draws()
    cpu = cpu_search_rates(compare_c=compare_c)
    if json:
        record = {**_record(result), "cpu_seeds": cpu, "draws": _draws_record(draws) if draws else None}
        typer.echo(json_module.dumps(record, indent=2, allow_nan=False))
        return
    _line("kernel, one Philox block a seed", result.kernel, "")
    _line(
        "search loop with hit collection",
        result.search,
        f"{result.search_to_kernel:.2f} of the kernel's speed",
    )
    if result.c_20 is not None and result.kernel_to_c20 is not None:
        ratio = f"the kernel reaches {result.kernel_to_c20:.2f} of its speed"
        _line(f"C, 20 multiplications ({result.compiler})", result.c_20, ratio)
    if result.c_16 is not None and result.kernel_to_c16 is not None:
        ratio = f"the kernel reaches {result.kernel_to_c16:.2f} of its speed"
        _line("C, 16 multiplications", result.c_16, ratio)
    typer.echo(
        f"\nThe probe passes 1 seed in {1 / result.share:,.0f}. All 2^32 seeds and one block would take "
        f"{result.whole_range_seconds:.1f} s on {result.cores} free cores."
    )
    _show_cpu(cpu)
    if draws:
        _show(draws)


def _show_cpu(rates: Mapping[str, float | int | str | None]) -> None:
    """The section on seeds of the CPU generator."""
    typer.echo("\nSeeds of the CPU generator:")
    for name, key in (("seeding alone", "seeding"), ("four bits of each", "four_bits")):
        speed, ratio = rates[f"{key}_per_second"], rates.get(f"{key}_ratio")
        assert isinstance(speed, float)
        beside = "" if ratio is None else f"{ratio:.2f} of the best C's speed"
        typer.echo(f"{name:<36} {speed / 1e6:7.1f} M seeds/s per core  {beside}".rstrip())
    typer.echo(
        f"All 2^32 seeds at one position would take {rates['all_seeds_seconds']:.0f} s on "
        f"{rates['threads']} free cores."
    )


def _show(draws: DrawSpeeds) -> None:
    """The section on draws: times of one core, and what all of them make of it."""
    typer.echo(f"\nDraws of an {GPU} on this machine, and others' own:")
    for name, speed, ratio in (
        (
            "float32 normals, exact",
            draws.normals,
            f"{draws.to_torch:.2f} of torch's speed per core, {draws.to_torch_on_all:.2f} on all cores; "
            f"{draws.to_numpy:.2f} and {draws.to_numpy_on_all:.2f} of numpy's",
        ),
        ("torch.randn on the CPU", draws.torch_normals, ""),
        ("numpy's Generator(Philox)", draws.numpy_normals, ""),
        ("raw words, 32 bits", draws.words, f"{draws.words_to_numpy:.2f} of numpy's speed"),
        ("numpy's raw words, 32 bits", draws.numpy_words, ""),
    ):
        typer.echo(f"{name:<36} {speed.core:7.3f} ns a value  {ratio}".rstrip())


def _line(name: str, nanoseconds: float, ratio: str) -> None:
    typer.echo(f"{name:<36} {nanoseconds:7.3f} ns a seed   {ratio}".rstrip())


def _record(result: BenchResult) -> dict[str, object]:
    return {
        "kernel_ns": result.kernel,
        "search_ns": result.search,
        "c_20_ns": result.c_20,
        "c_16_ns": result.c_16,
        "search_to_kernel": result.search_to_kernel,
        "kernel_to_c_20": result.kernel_to_c20,
        "kernel_to_c_16": result.kernel_to_c16,
        "share_passing": result.share,
        "whole_range_seconds": result.whole_range_seconds,
        "cores": result.cores,
        "compiler": result.compiler,
    }


def _draws_record(draws: DrawSpeeds) -> dict[str, float]:
    return {
        "normals_ns": draws.normals.core,
        "torch_normals_ns": draws.torch_normals.core,
        "numpy_normals_ns": draws.numpy_normals.core,
        "words_ns": draws.words.core,
        "numpy_words_ns": draws.numpy_words.core,
        "normals_to_torch": draws.to_torch,
        "normals_to_numpy": draws.to_numpy,
        "normals_to_torch_on_all_cores": draws.to_torch_on_all,
        "normals_to_numpy_on_all_cores": draws.to_numpy_on_all,
        "words_to_numpy": draws.words_to_numpy,
    }
