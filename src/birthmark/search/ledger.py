"""The ledger: an append-only file that says which work units are finished and what they found.

One JSON object a line. The first line says which search it is; each other line is one finished unit. Every
line ends with a checksum of itself and all lines before. Lines reach the disk in batches, at the latest every
second; a line that a kill tore in half is dropped on resuming, and nothing else, so at most the units in
flight and those of the last second are done again. Only one process writes a ledger at a time.
"""

from __future__ import annotations

import json
import os
import time
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from birthmark.errors import LedgerError, OutputError

SCHEMA = "birthmark.ledger/1"
#: Seconds that finished units wait for the disk at most, and how many of them.
FLUSH_SECONDS, FLUSH_LINES = 1.0, 64


class Ledger:
    """A ledger file, opened by `begin` and written by one process.

    Args:
        path: the file.
        resume: go on with an existing ledger; otherwise the file must not exist.
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path)
        self.resume = resume
        self._file: IO[bytes] | None = None
        self._chain = ""
        self._waiting = 0
        self._flushed = 0.0

    def begin(self, fingerprint: str, description: str) -> list[dict[str, Any]]:
        """Open the file for one search.

        Args:
            fingerprint: what only this search has.
            description: the search in a few words, for a person who confuses two ledgers.

        Returns:
            The records of finished units, in file order; none for a new ledger.

        Raises:
            LedgerError: the file exists and `resume` is not set, or is missing and it is; it is damaged, is
                of another search, or another process writes it.
            OutputError: it cannot be written.
        """
        header = {"schema": SCHEMA, "search": fingerprint, "description": description}
        self._open()
        lines, sound = self._read()
        if lines:
            self._check(header, lines[0])
        stream = self._stream()
        stream.truncate(sound)
        stream.seek(sound)
        if not lines:
            self.append(header)
            self.flush()
        return lines[1:]

    def append(self, record: dict[str, Any]) -> None:
        """Add one line; it is on the disk after `flush`, at the latest a second later."""
        body = _text(record)
        self._chain = _checksum(self._chain, body)
        self._write(f'{body[:-1]},"sum":"{self._chain}"}}\n'.encode())
        self._waiting += 1
        if self._waiting >= FLUSH_LINES or time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Put all lines on the disk."""
        stream = self._stream()
        try:
            stream.flush()
            os.fsync(stream.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        """Flush and close the file, and let others write it."""
        if self._file is not None:
            self.flush()
            self._file.close()
            self._file = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        if self._file is not None:
            raise LedgerError(f"{self.path} already serves a search: each search needs a ledger of its own.")
        exists = self.path.exists()
        if exists and not self.resume:
            raise LedgerError(f"{self.path} exists.", advice="Resume it, or name another file.")
        if self.resume and not exists:
            raise LedgerError(f"{self.path} does not exist, so there is nothing to resume.")
        try:
            self._file = self.path.open("r+b" if exists else "x+b")
        except OSError as error:
            raise self._unwritable(error) from error
        self._lock()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows has no such lock; there two writers are the user's to avoid
            return
        stream = self._stream()
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            stream.close()
            self._file = None
            raise LedgerError(f"{self.path} is being written by another process; wait for it.") from error

    def _read(self) -> tuple[list[dict[str, Any]], int]:
        """The sound lines and the bytes they take; only the last line may be torn."""
        stream = self._stream()
        stream.seek(0)
        records: list[dict[str, Any]] = []
        sound = 0
        torn = None
        for number, line in enumerate(stream, start=1):
            if torn is not None:
                raise LedgerError(f"line {torn} of {self.path} is damaged: its checksum does not fit.")
            record, chain = _parsed(line, self._chain)
            if record is None:
                torn = number
                continue
            records.append(record)
            self._chain = chain
            sound += len(line)
        if torn == 1 and sound == 0 and not _torn_header(stream):
            raise LedgerError(f"{self.path} is not a ledger of birthmark; name another file.")
        return records, sound

    def _check(self, expected: dict[str, Any], header: dict[str, Any]) -> None:
        if header.get("schema") != SCHEMA:
            raise LedgerError(
                f"{self.path} has schema {header.get('schema')!r}, expected {SCHEMA!r}; name another file."
            )
        if header.get("search") != expected["search"]:
            raise LedgerError(
                f"{self.path} belongs to another search ({header.get('description')}, "
                f"{str(header.get('search'))[:8]}), not to this one ({expected['description']}, "
                f"{expected['search'][:8]}); name another file."
            )

    def _stream(self) -> IO[bytes]:
        if self._file is None:
            raise LedgerError(f"{self.path} is not open.")
        return self._file

    def _write(self, line: bytes) -> None:
        try:
            self._stream().write(line)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(f"the ledger {self.path} cannot be written: {error.strerror or error}.")


def _text(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _checksum(chain: str, body: str) -> str:
    """Eight hex digits of a line and, through `chain`, of all lines before it."""
    return blake2b(f"{chain}\n{body}".encode(), digest_size=4).hexdigest()


def _parsed(line: bytes, chain: str) -> tuple[dict[str, Any] | None, str]:
    """The record of a line and its checksum; None where the line is not whole."""
    if not line.endswith(b"\n"):
        return None, ""
    try:
        record = json.loads(line)
        found = record.pop("sum")
        sound = found == _checksum(chain, _text(record))
    except (ValueError, AttributeError, KeyError, TypeError):
        return None, ""
    return (record, found) if sound else (None, "")


def _torn_header(stream: IO[bytes]) -> bool:
    """Whether the only line of a file is the beginning of a header that a kill cut off."""
    stream.seek(0)
    begun = f'{{"schema":"{SCHEMA}"'.encode()
    text = stream.read(len(begun) + 1)
    return begun.startswith(text) or text.startswith(begun)
