"""The command line: parse, call, render, exit code. No room knows of it."""

from __future__ import annotations

import os
import sys

from birthmark.errors import BirthmarkError

#: What typer makes of Ctrl-C, and what we say of it where no search was at work that keeps a ledger.
INTERRUPTED = 130
STOPPED = "stopped before there was a result; the same command starts again."


def main() -> None:
    """Run the command line; every failure ends in one line on stderr and a documented exit code."""
    import typer

    from birthmark.cli.app import app

    try:
        code = app(standalone_mode=False)
    except BirthmarkError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail(STOPPED, 4)
    except BrokenPipeError:
        # Whoever read our output went away (`birthmark devices | head`); Python need not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("out of memory; close other programs or scan one tensor with --tensor.", 1)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        _fail(f"{named}{error.strerror or error}.", 1)
    except Exception as error:  # noqa: BLE001 - the promise is one line, whatever happens
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())  # type: ignore[attr-defined]  # noqa: T201
            sys.exit(2)
        wrong_usage = getattr(error, "format_message", None)  # how typer says that options make no sense
        if wrong_usage is not None:
            _fail(f"{wrong_usage().rstrip('.')}. See birthmark --help.", 2)
        _fail(f"internal error: {type(error).__name__}: {error}. Set BIRTHMARK_DEBUG=1 to see where.", 1)
    else:
        if code == INTERRUPTED:
            _fail(STOPPED, 4)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, exit_code: int) -> None:
    """Print one line and leave; the traceback only for those who ask for it."""
    if os.environ.get("BIRTHMARK_DEBUG"):
        import traceback

        traceback.print_exc()
    print(f"birthmark: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201 - this is the interface
    sys.exit(exit_code)
