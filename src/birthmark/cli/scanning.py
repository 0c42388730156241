"""`birthmark scan`: from options to a reading on the terminal, in files, and as an exit code."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import typer

from birthmark.cli.parsing import parse_range
from birthmark.errors import OutputError, UsageError

#: Exit codes of a scan that ended.
FOUND, SEARCHED, STOPPED, NOTHING = 0, 3, 4, 5


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, as they were given."""

    model: str
    json: bool
    output: Path | None
    pack: Path | None
    tensors: tuple[str, ...]
    offset: int
    seeds: str | None
    devices: tuple[str, ...]
    quick: bool
    exhaustive: bool
    ledger: Path | None
    resume: bool
    cpu: bool
    trace: Path | None
    prefix: str | None
    workers: int | None
    quiet: bool


def run(request: Request) -> None:
    """Scan, show the reading, write what was asked for, and leave with the exit code."""
    from birthmark.checkpoints import open_checkpoint
    from birthmark.cli.progress import Terminal
    from birthmark.packs.writer import write_pack
    from birthmark.recipes.trace_file import load
    from birthmark.reports.output import write_whole
    from birthmark.scan import ScanOptions, scan

    if not request.model.strip():
        raise UsageError("MODEL is empty: name a file or a folder.")
    for path in (request.output, request.pack):
        if path is not None:
            check_writable(path)  # before minutes of searching, not after
    if request.output and request.pack and request.output.resolve() == request.pack.resolve():
        raise UsageError("--output and --pack name the same file; give each its own.")
    options = search_options(request)
    if request.offset % 4 or request.offset >= 1 << 63:
        raise UsageError(f"--offset {request.offset}: expected a multiple of 4, from 0 to 2^63 - 4.")
    if request.prefix is not None and request.trace is None:
        raise UsageError("--prefix says where a trace's tensors lie; it needs --trace.")
    if request.ledger is not None and not request.ledger.parent.is_dir():
        raise UsageError(f"--ledger {request.ledger}: its folder does not exist; choose one that does.")
    own = request.ledger is None
    path = default_ledger(request) if request.ledger is None else request.ledger
    if own and not request.resume:
        path.unlink(missing_ok=True)
    if request.resume and not path.exists():
        raise UsageError(f"--resume: there is no ledger at {path}.", advice="Start without --resume.")
    with open_checkpoint(request.model) as checkpoint, Terminal(quiet=request.quiet) as progress:
        result = scan(
            checkpoint,
            ScanOptions(
                options,
                request.tensors,
                path,
                request.resume,
                request.cpu,
                load(request.trace) if request.trace is not None else None,
                request.prefix,
            ),
            command=shlex.join(["birthmark", *sys.argv[1:]]),
            progress=progress,
        )
    reading = result.reading
    if request.output is not None:
        write_whole(request.output, reading.to_json().encode())
    if request.json:
        typer.echo(reading.to_json(), nl=False)
    else:
        from rich.console import Console

        from birthmark.reports.terminal import render

        render(reading, Console(highlight=False))
    if request.pack is not None:
        write_pack(request.pack, reading, result.cases)
    if result.stopped:
        how = (
            f"The same command with --resume goes on; the ledger is {path}."
            if path.exists()
            else "Nothing was kept yet; the same command starts again."
        )
        typer.echo(f"Stopped. {how}", err=True)
    elif own:
        path.unlink(missing_ok=True)
    sys.exit(exit_code(reading.verdict, stopped=result.stopped))


def exit_code(verdict: str, *, stopped: bool) -> int:
    """The documented exit code of a scan."""
    if verdict not in ("none", "not-searched"):
        return FOUND
    if stopped:
        return STOPPED
    return SEARCHED if verdict == "none" else NOTHING


def search_options(request: Request):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """The search that the options ask for."""
    from birthmark.devices.catalogue import find
    from birthmark.search.options import Options

    if request.quick and (request.exhaustive or request.seeds):
        raise UsageError("--quick stops before any range of seeds; leave out --seeds and --exhaustive.")
    layouts = tuple(sorted({find(name).threads for name in request.devices})) or None
    if layouts and request.exhaustive:
        raise UsageError("--exhaustive means every layout; leave out --device.")
    seeds = (0, 1 << 32)
    if request.quick:
        seeds = (0, 0)
    elif request.seeds is not None:
        seeds = parse_range("--seeds", request.seeds, most=1 << 64)
    return Options(
        seeds=seeds,
        dictionary=request.seeds is None,
        layouts=layouts,
        offset=request.offset,
        exhaustive=request.exhaustive,
        workers=request.workers,
    )


def default_ledger(request: Request) -> Path:
    """Where a scan keeps its progress unless told otherwise: a file for each model and plan, in the cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "birthmark"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot keep the search's progress in {folder}: {error.strerror}.",
            advice="Name a file for it with --ledger.",
        ) from error
    plan = (
        str(Path(request.model).resolve()),
        request.tensors,
        request.offset,
        request.seeds,
        request.devices,
        request.quick,
        request.exhaustive,
        (str(request.trace), request.prefix) if request.trace is not None else None,
    )
    return folder / f"{blake2b(repr(plan).encode(), digest_size=10).hexdigest()}.ledger"


def check_writable(path: Path) -> None:
    """Refuse an output that could not be written, before minutes of searching and not after.

    Raises:
        OutputError: it is a folder, or its folder is missing or may not be written to.
    """
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder.", advice="Name a file in it.")
    if path.exists() and not path.is_file():
        raise OutputError(f"cannot write {path}: it is no ordinary file.", advice="Name another one.")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise OutputError(
            f"cannot write {path}: {path.parent} is not a folder that can be written to.",
            advice="Choose another one.",
        )
