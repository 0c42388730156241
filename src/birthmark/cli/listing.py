"""`birthmark devices`: the table of GPUs, by G."""

from __future__ import annotations

import json as json_module
from itertools import groupby
from operator import attrgetter

import typer

from birthmark.devices.catalogue import Device, all_devices


def run(*, json: bool, threads: int | None) -> None:
    """Print the devices in the order of G; those that share one G stand together."""
    chosen = [device for device in all_devices() if threads in (None, device.threads)]
    chosen.sort(key=attrgetter("threads"))
    if json:
        typer.echo(json_module.dumps([_record(device) for device in chosen], indent=2))
        return
    if not chosen:
        typer.echo(f"No device of the table has G = {threads:,}.")
        return
    typer.echo(f"{'G':>9}  {'SMs':>4} {'threads/SM':>10}  device")
    for total, group in groupby(chosen, key=attrgetter("threads")):
        members = list(group)
        for position, device in enumerate(members):
            left = f"{total:>9,}" if position == 0 else " " * 9
            doubt = "" if device.confirmed else "  (unconfirmed)"
            typer.echo(f"{left}  {device.sm_count:>4} {device.threads_per_sm:>10,}  {device.name}{doubt}")
    typer.echo(
        "\nDevices with one G launch alike: their values cannot be told apart, except that AMD's and"
        "\nPascal's arithmetic differs from that of later NVIDIA devices in the last bits of float32."
    )


def _record(device: Device) -> dict[str, object]:
    return {
        "name": device.name,
        "vendor": device.vendor,
        "threads": device.threads,
        "sm_count": device.sm_count,
        "threads_per_sm": device.threads_per_sm,
        "capability": device.capability,
        "arithmetic": device.arithmetic,
        "confirmed": device.confirmed,
        "source": device.source,
        "note": device.note,
    }
