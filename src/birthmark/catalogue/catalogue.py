"""The catalogue's entries: those that come with birthmark and those of a user's own file, as one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from birthmark.catalogue.entry import Entry, as_record, parse
from birthmark.checkpoints.strict_json import parse_object
from birthmark.errors import BirthmarkError, UnknownName, UsageError
from birthmark.reports.output import write_whole

SCHEMA: Final = "birthmark.catalogue/1"
#: The least digits by which a digest can be looked up.
LEAST_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All entries, in the order of their files."""

    entries: tuple[Entry, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Every model and draw once, in order."""
        return tuple(dict.fromkeys(entry.model for entry in self.entries))

    @property
    def makers(self) -> tuple[str, ...]:
        """Every maker once, in order."""
        return tuple(dict.fromkeys(entry.maker for entry in self.entries if entry.maker is not None))

    def of_model(self, model: str) -> tuple[Entry, ...]:
        """The entries about a model; case does not matter.

        Raises:
            UnknownName: there is none; the message lists the nearest.
        """
        found = tuple(entry for entry in self.entries if entry.model.casefold() == model.casefold())
        if not found:
            raise UnknownName("model", model, self.models)
        return found

    def of_maker(self, maker: str) -> Catalogue:
        """The entries about one maker's models; case does not matter.

        Raises:
            UnknownName: there is none; the message lists the nearest.
        """
        folded = maker.casefold()
        found = tuple(entry for entry in self.entries if (entry.maker or "").casefold() == folded)
        if not found:
            raise UnknownName("maker", maker, self.makers)
        return Catalogue(found)

    def of_digest(self, digest: str) -> tuple[Entry, ...]:
        """The readings of the file with this SHA-256, or one that begins so; possibly none.

        Raises:
            UsageError: fewer than 8 digits, or something else than hexadecimal ones.
        """
        wanted = digest.strip().lower()
        if len(wanted) < LEAST_DIGITS or not set(wanted) <= set("0123456789abcdef"):
            raise UsageError(
                f"digest {digest!r}: expected at least {LEAST_DIGITS} hexadecimal digits of a SHA-256."
            )
        return tuple(entry for entry in self.entries if (entry.digest or "").startswith(wanted))


def bundled() -> Catalogue:
    """The entries that come with birthmark."""
    raw = (files("birthmark.catalogue") / "entries.json").read_bytes()
    return Catalogue(_entries(raw, "the catalogue's entries.json"))


def load(own: Path | None) -> Catalogue:
    """The bundled entries, and those of the user's file if it exists.

    Raises:
        BirthmarkError: that file is not what `add` writes.
    """
    more = read(own) if own is not None and own.exists() else ()
    return Catalogue((*bundled().entries, *more))


def read(path: Path) -> tuple[Entry, ...]:
    """The entries of a file.

    Raises:
        BirthmarkError: it cannot be read, or holds something else.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BirthmarkError(f"cannot read {path}: {error.strerror or error}.") from error
    return _entries(raw, str(path))


def add(path: Path, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Put entries into the user's file, which appears whole; its folder is made.

    Returns:
        Those that were new.

    Raises:
        BirthmarkError: the file holds something else.
        OutputError: it cannot be written.
    """
    there = read(path) if path.exists() else ()
    new = tuple(entry for entry in entries if entry not in there)
    if new:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BirthmarkError(f"cannot make the folder {path.parent}: {error.strerror}.") from error
        write_whole(path, to_json((*there, *new)).encode())
    return new


def to_json(entries: Iterable[Entry]) -> str:
    """Entries as a file of the catalogue."""
    document = {"schema": SCHEMA, "entries": [as_record(entry) for entry in entries]}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def own_file() -> Path:
    """Where a user's own entries are kept unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "birthmark" / "catalogue.json"


def _entries(raw: bytes, what: str) -> tuple[Entry, ...]:
    document = parse_object(raw, what)
    records: Any = document.get("entries")
    if document.get("schema") != SCHEMA or not isinstance(records, list) or len(document) != 2:
        raise BirthmarkError(
            f"{what} is no catalogue: expected an object with schema {SCHEMA!r} and a list of entries."
        )
    return tuple(
        parse(record, f"{what}, entry {number} ({_name(record)})") for number, record in enumerate(records, 1)
    )


def _name(record: object) -> str:
    model = record.get("model") if isinstance(record, dict) else None
    return model[:80] if isinstance(model, str) else "without a model"
