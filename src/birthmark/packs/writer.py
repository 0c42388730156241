"""Writing a pack: the reading and the cases behind its findings, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from birthmark import __version__
from birthmark.errors import UsageError
from birthmark.packs.container import build
from birthmark.packs.format import MANIFEST, READING, manifest_of
from birthmark.packs.origins import AnyCase, pack_any
from birthmark.packs.parts import canonical
from birthmark.reports.output import write_whole
from birthmark.reports.reading import Reading


def write_pack(path: str | Path, reading: Reading, cases: Sequence[AnyCase]) -> None:
    """Write an evidence pack.

    Args:
        path: where to; by custom its name ends in `.bmk`.
        reading: the reading.
        cases: the case of each finding, in the order of the findings; none where nothing was found.

    Raises:
        UsageError: not one case for each finding.
        OutputError: it cannot be written; nothing is left behind.
    """
    write_whole(path, pack_bytes(reading, cases))


def pack_bytes(reading: Reading, cases: Sequence[AnyCase], version: str = __version__) -> bytes:
    """The bytes of a pack: the same for the same reading and cases, on every machine."""
    if len(cases) != len(reading.findings):
        raise UsageError(f"{len(cases)} cases for {len(reading.findings)} findings: expected one for each.")
    members: dict[str, bytes] = {READING: reading.to_json().encode()}
    for number, case in enumerate(cases):
        members |= pack_any(number, case)
    manifest = canonical(manifest_of(members, version, len(cases)))
    return build({MANIFEST: manifest, **members})
