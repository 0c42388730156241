"""All commands as one program; what they do is imported only when they run, so that help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from birthmark import __version__
from birthmark.cli import birth_commands, reading_commands, tool_commands

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


#: In the order of the help.
COMMANDS = (
    reading_commands.scan,
    reading_commands.inspect,
    birth_commands.predict,
    birth_commands.trace,
    birth_commands.rewind,
    reading_commands.traces,
    reading_commands.verify,
    tool_commands.devices,
    tool_commands.gpu_check,
    tool_commands.bench,
    tool_commands.calibrate,
    reading_commands.lineage,
    tool_commands.catalogue,
)
for command in COMMANDS:
    app.command()(command)
