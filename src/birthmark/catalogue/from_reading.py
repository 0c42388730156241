"""Entries of a reading: what a scan found in a checkpoint, as the catalogue keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from birthmark.catalogue.entry import Entry, parse
from birthmark.errors import BirthmarkError
from birthmark.reports.reading import FileModel, Finding, Reading


def entries_of(
    reading: Reading,
    *,
    model: str,
    maker: str,
    source: str,
    released: str | None = None,
    released_source: str | None = None,
    note: str | None = None,
) -> tuple[Entry, ...]:
    """One entry for each distinct seed and generator of a reading; one that says so where nothing was found.

    A seed that the checkpoint's own files declare is a statement of its maker, and an entry of its own.

    Args:
        reading: of a scan; its first finding with a seed speaks for all findings with that seed.
        model: the model's name in the catalogue.
        maker: who published it.
        source: a public reference that leads to the file.
        released: the model's date, YYYY-MM-DD or less.
        released_source: where that date stands; `source` where it is not given.
        note: for the reader.

    Raises:
        BirthmarkError: the reading has neither digests nor a revision, or an argument is no such thing.
    """
    digest = digest_of(reading.checkpoint.files)
    if digest is None and reading.checkpoint.revision is None:
        raise BirthmarkError(
            "the reading has neither the SHA-256 of every file nor a revision, so nobody could tell what it "
            "is of.",
            advice="Scan a local file of at most 256 MiB, or a pinned revision.",
        )
    about: dict[str, object] = {
        "model": model,
        "maker": maker,
        "released": released,
        "released_source": None if released is None else released_source or source,
        "subject": "checkpoint",
    }
    common = about | {
        "read_by": "birthmark",
        "kind": "reading",
        "verdict": reading.verdict,
        "source": source,
        "digest": digest,
        "revision": reading.checkpoint.revision,
        "command": reading.command,
        "version": reading.version,
        "note": note,
    }
    found = _first_of_each(reading.findings)
    records = [about | one for one in _declarations(found, source)]
    records += [common | _what_it_says(finding) for finding in found] or [common]
    return tuple(parse(record, "the reading") for record in records)


def _declarations(findings: Sequence[Finding], source: str) -> list[dict[str, object]]:
    declared = {one.declared.seed: one.declared.source for one in findings if one.declared is not None}
    return [
        {"read_by": "published", "kind": "declaration", "seed": seed, "source": f"{source}: {where}"}
        for seed, where in declared.items()
    ]


def digest_of(files: Sequence[FileModel]) -> str | None:
    """The SHA-256 of the file that was read; None where one is unknown.

    Of several files it is that of the text that `sha256sum` prints for them, in the order of their names.
    """
    digests = {file.name: file.sha256 for file in files}
    if not digests or None in digests.values():
        return None
    if len(digests) == 1:
        return next(iter(digests.values()))
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _first_of_each(findings: Sequence[Finding]) -> list[Finding]:
    first: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        first.setdefault((finding.generator, finding.seed), finding)
    return list(first.values())


def _what_it_says(finding: Finding) -> dict[str, object]:
    layout = finding.layout
    devices = layout.devices if layout and layout.threads else []
    counts = {device.sm_count for device in devices}
    exact = finding.bit_exact
    return {
        "tensor": finding.tensor,
        "generator": finding.generator,
        "arithmetic": finding.arithmetic,
        "seed": finding.seed,
        "offset": finding.offset,
        "index": finding.index,
        "sm_count": counts.pop() if len(counts) == 1 else None,
        "threads": layout.threads if layout else None,
        "not_excluded": layout.not_excluded if layout and layout.threads is None else [],
        "devices": [device.name for device in devices],
        "sigma": finding.holdout.sigma,
        "log10_p": finding.holdout.log10_p_global,
        "r": finding.holdout.r,
        "matched": {"count": exact.equal, "of": exact.of, "things": "values"} if exact.of else None,
    }
