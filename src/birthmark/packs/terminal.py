"""A verification on a terminal: what the pack says, what was recomputed, what is only stated."""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from birthmark.packs.verifier import VerificationReport
from birthmark.reports import wording
from birthmark.reports.outcomes import headline


def render(report: VerificationReport, console: Console) -> None:
    """Print a verification that succeeded."""
    title, subtitle = headline(report.reading)
    console.print()
    console.print(
        Text(
            "VERIFIED  the findings follow from the rows in this pack; the rest is listed as stated.",
            style="bold",
        )
    )
    console.print()
    console.print(Padding(Text(f"{title}  {subtitle}"), (0, 0, 0, 2)))
    console.print(Padding(Text(wording.safe(report.reading.checkpoint.source), style="dim"), (0, 0, 1, 2)))
    table = Table.grid(padding=(0, 2))
    table.add_column(width=10, no_wrap=True)
    table.add_column(width=20)
    table.add_column(overflow="fold")
    for check in report.checks:
        table.add_row(Text(check.how), Text(check.what), Text(wording.safe(check.detail)))
    console.print(Padding(table, (0, 0, 0, 2)))
    console.print()
    console.print(Padding(Text(f"Written by birthmark {wording.safe(report.version)}."), (0, 0, 0, 2)))
    console.print()


def to_text(report: VerificationReport, width: int = 80) -> str:
    """A verification as plain text of a given width."""
    stream = io.StringIO()
    render(report, Console(file=stream, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"
