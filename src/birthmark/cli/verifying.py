"""`birthmark verify`: recompute an evidence pack."""

from __future__ import annotations

import json as json_module
from pathlib import Path

import typer


def run(pack: Path, *, checkpoint: str | None, json: bool) -> None:
    """Verify and say what was looked at; an altered pack raises and ends in exit code 1."""
    from birthmark.checkpoints import open_checkpoint
    from birthmark.packs.terminal import render
    from birthmark.packs.verifier import verify

    if checkpoint is None:
        report = verify(pack)
    else:
        with open_checkpoint(checkpoint) as opened:
            report = verify(pack, opened)
    if json:
        checks = [{"what": each.what, "how": each.how, "detail": each.detail} for each in report.checks]
        typer.echo(json_module.dumps({"pack": str(pack), "verified": True, "checks": checks}, indent=2))
        return
    from rich.console import Console

    render(report, Console(highlight=False))
