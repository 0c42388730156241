"""Entries of readings: what a scan said, no more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reports.conftest import finding_dict, reading_of

from birthmark.catalogue.from_reading import digest_of, entries_of
from birthmark.errors import BirthmarkError
from birthmark.reports.reading import FileModel, Reading

HERE: dict[str, Any] = {"model": "Alpha-1", "maker": "Acme", "source": "example.org/alpha-1"}


def read(**changes: Any) -> Reading:
    """A reading whose only file has a digest."""
    checkpoint = {
        "source": "alpha",
        "revision": None,
        "files": [{"name": "alpha", "size": 3, "sha256": "ab" * 32}],
        "bytes_read": 3,
        "tensors_read": [],
    }
    return reading_of(**({"checkpoint": checkpoint} | changes))


def test_a_finding_becomes_an_entry() -> None:
    """Seed, layout, devices, scores of the hold-out and exact bits are those of the finding."""
    (entry,) = entries_of(read(findings=[finding_dict()]), released="2026-11-30", **HERE)
    finding = read(findings=[finding_dict()]).findings[0]
    assert (entry.seed, entry.generator, entry.tensor) == (finding.seed, finding.generator, finding.tensor)
    assert finding.layout is not None
    assert entry.threads == finding.layout.threads
    assert entry.devices == [device.name for device in finding.layout.devices]
    assert (entry.sigma, entry.log10_p) == (finding.holdout.sigma, finding.holdout.log10_p_global)
    assert entry.matched is not None
    assert (entry.matched.count, entry.matched.of) == (finding.bit_exact.equal, finding.bit_exact.of)
    assert (entry.released, entry.released_source) == ("2026-11-30", "example.org/alpha-1")
    assert (entry.read_by, entry.digest) == ("birthmark", "ab" * 32)


def test_each_seed_once() -> None:
    """Findings of one seed are one entry; another seed is another."""
    several = [finding_dict(), finding_dict(tensor="other"), finding_dict(seed=77, seed_hex="0x4d")]
    assert [entry.seed for entry in entries_of(read(findings=several), **HERE)][1:] == [77]


def test_a_declared_seed_is_its_makers_statement() -> None:
    """It stands apart from what was read, with the file that declares it."""
    declared = {"seed": 42, "source": "training_args.bin", "agrees": False}
    said, found = entries_of(read(findings=[finding_dict(declared=declared)]), **HERE)
    assert (said.read_by, said.kind, said.seed) == ("published", "declaration", 42)
    assert said.source == "example.org/alpha-1: training_args.bin"
    assert found.seed == finding_dict()["seed"]


def test_nothing_found_is_an_entry_too() -> None:
    """It has a verdict and no seed."""
    (entry,) = entries_of(read(verdict="none", findings=[]), **HERE)
    assert (entry.verdict, entry.seed, entry.tensor) == ("none", None, None)


def test_a_reading_of_nobody_knows_what_is_refused() -> None:
    """Without a digest of each file, or a revision, there is no entry; with a revision there is."""
    checkpoint = read().checkpoint.model_dump() | {"files": [{"name": "a", "size": 3, "sha256": None}]}
    with pytest.raises(BirthmarkError, match="neither the SHA-256"):
        entries_of(read(checkpoint=checkpoint, findings=[]), **HERE)
    pinned = read(checkpoint=checkpoint | {"revision": "0123abc"}, findings=[])
    assert entries_of(pinned, **HERE)[0].revision == "0123abc"
    with pytest.raises(BirthmarkError, match="no date"):
        entries_of(read(), released="soon", **HERE)


def test_several_files_have_the_digest_of_their_list() -> None:
    """It does not depend on their order, and changes with a name or a digest."""
    one = FileModel(name="a", size=1, sha256="aa" * 32)
    two = FileModel(name="b", size=1, sha256="bb" * 32)
    assert digest_of([one]) == "aa" * 32
    assert digest_of([one, two]) == digest_of([two, one])
    # printf '%s  a\n%s  b\n' aa...  bb... | sha256sum
    assert digest_of([one, two]) == "484bcbb7d16ffcba78a16ecc948318c2f39b3bebb677b643fad91391750add89"
    assert digest_of([one, FileModel(name="c", size=1, sha256="bb" * 32)]) != digest_of([one, two])
    assert digest_of([one, FileModel(name="c", size=1, sha256=None)]) is None
    assert digest_of([]) is None
