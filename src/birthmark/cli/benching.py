"""`birthmark bench`: this machine's speed, as ratios from one run."""

from __future__ import annotations

import json as json_module

import typer

from birthmark.bench import BenchResult, bench


def run(*, compare_c: bool, json: bool) -> None:
    """Measure and print."""
    result = bench(compare_c=compare_c)
    if json:
        typer.echo(json_module.dumps(_record(result), indent=2, allow_nan=False))
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
