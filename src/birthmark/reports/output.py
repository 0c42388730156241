"""Files that are whole or not there: written beside their place and moved onto it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from birthmark.errors import OutputError


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that a reader never sees a part of it.

    Raises:
        OutputError: it cannot be written; nothing is left behind, and a file that was there is unchanged.
    """
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder.", advice="Name a file in it.")
    if target.exists() and not target.is_file():
        raise OutputError(f"cannot write {target}: it is no ordinary file.", advice="Name another one.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise _refused(target, error) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _refused(target, error) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """The process's umask; the only way to read it is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refused(target: Path, error: OSError) -> OutputError:
    reason = error.strerror or type(error).__name__
    return OutputError(
        f"cannot write {target}: {reason}.", advice="Choose a folder that exists and can be written to."
    )
