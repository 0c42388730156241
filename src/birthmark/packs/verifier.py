"""Verifying a pack: everything that follows from its rows is computed again and compared with what it says.

Digests find accidents. They do not stop somebody who writes reading and digests anew: what counts is that
scores, bit-exact counts, controls and verdict are recomputed from the rows, and that the rows' digests can
be compared with the published checkpoint. What only the checkpoint or the search can know is named as
stated, not verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from birthmark import __version__
from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import BirthmarkError, PackError
from birthmark.evidence.exactness import same_bits
from birthmark.evidence.verdict import overall
from birthmark.packs.comparing import first_difference
from birthmark.packs.container import MOST_BYTES, parse
from birthmark.packs.format import MANIFEST, READING, Manifest, case_names, manifest_of
from birthmark.packs.mixtures import mixture_checks
from birthmark.packs.origins import AnyCase, unpack_any
from birthmark.packs.parts import canonical, read_json
from birthmark.packs.weighing import Check, Weighed, survivors_check, weigh_any
from birthmark.reports.limits import limits
from birthmark.reports.questions import questions
from birthmark.reports.reading import Finding, Reading, from_json

#: Keys of a finding that the rows of a pack do not decide.
NOT_FROM_ROWS = frozenset({"survivors", "altered", "declared", "stands_for", "trained", "without_seed"})


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What a verification that succeeded looked at; one that fails raises instead.

    Attributes:
        reading: the reading in the pack.
        version: the birthmark that wrote the pack.
        checks: what was recomputed, what was compared, what is only stated.
    """

    reading: Reading
    version: str
    checks: tuple[Check, ...]


def verify(path: str | Path, checkpoint: Checkpoint | None = None) -> VerificationReport:
    """Verify a pack offline.

    Args:
        path: the pack.
        checkpoint: the published checkpoint, to compare the pack's rows with; without it the rows are taken
            as the pack gives them.

    Raises:
        PackError: it cannot be read, was altered, does not say what its rows say, or has rows that are not
            the checkpoint's; names what differs.
    """
    return verify_bytes(_read(Path(path)), checkpoint)


def verify_bytes(data: bytes, checkpoint: Checkpoint | None = None) -> VerificationReport:
    """Verify the bytes of a pack; see `verify`."""
    members = parse(data)
    manifest = _manifest(members)
    reading = _reading(members[READING])
    if manifest.cases != len(reading.findings):
        raise PackError(f"the pack holds {manifest.cases} cases for {len(reading.findings)} findings.")
    checks = [
        Check("digests", "digest", f"{len(manifest.sha256)} members have the SHA-256 the manifest gives.")
    ]
    weighed = []
    for number, stated in enumerate(reading.findings):
        case = unpack_any(number, members)
        if checkpoint is not None:
            checks.append(_against(checkpoint, case, number))
        one = weigh_any(number, case, stated.declared)
        weighed.append(one)
        _compare(number, stated, one, same_version=manifest.version == __version__)
        survivors = survivors_check(number, stated, one)
        checks += [*one.checks, *([survivors] if survivors else [])]
        if stated.seed_rule is not None and one.finding.seed_rule is None:
            detail = f"{stated.seed_rule}: a rule behind the seeds of several findings."
            checks.append(Check(f"finding {number + 1}, seed rule", "stated", detail))
    _verdict(reading, weighed, same_version=manifest.version == __version__)
    checks += mixture_checks(reading, same_version=manifest.version == __version__)
    checks.append(Check("verdict", "recomputed", f"{reading.verdict!r} follows from the findings."))
    checks.append(
        Check(
            "source, search, notes",
            "stated",
            "where the checkpoint came from, its files and their digests, the command, the seeds and layouts "
            "searched, the trials, the notes, and the survivors outside the pack. None of that follows from "
            "the rows: compare with the published checkpoint (--against), and run the command again.",
        )
    )
    return VerificationReport(reading, manifest.version, tuple(checks))


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise PackError(f"{path} has {size:,} bytes; an evidence pack has at most {MOST_BYTES:,}.")
        data = path.read_bytes()
    except OSError as error:
        raise PackError(f"cannot read {path}: {error.strerror or type(error).__name__}.") from error
    if not data:
        raise PackError(f"{path} is empty; an evidence pack was expected.")
    return data


def _manifest(members: dict[str, bytes]) -> Manifest:
    if MANIFEST not in members or READING not in members:
        raise PackError("this zip file is no evidence pack: it has no manifest.json and reading.json.")
    manifest = read_json(Manifest, members[MANIFEST], MANIFEST)
    expected = [MANIFEST, READING, *(name for number in range(manifest.cases) for name in case_names(number))]
    if list(members) != expected:
        raise PackError(
            f"the pack holds {len(members)} members; its {manifest.cases} cases need {len(expected)}."
        )
    actual = manifest_of(members, manifest.version, manifest.cases)
    for name, digest in actual.sha256.items():
        if manifest.sha256.get(name) != digest:
            raise PackError(f"{name} was altered: its SHA-256 is not the one in the manifest.")
    if members[MANIFEST] != canonical(actual):
        raise PackError(f"{MANIFEST} was altered: it is not written as birthmark writes it.")
    return manifest


def _reading(data: bytes) -> Reading:
    try:
        reading = from_json(data)
    except BirthmarkError as error:
        raise PackError(f"{READING}: {error}") from error
    # A pack of an earlier version lacks keys that came later; what it has is written as birthmark writes it.
    if reading.to_json(only_given=True).encode() != data:
        raise PackError(f"{READING} was altered: it is not written as birthmark writes it.")
    return reading


def _against(checkpoint: Checkpoint, case: AnyCase, number: int) -> Check:
    """Whether the pack's values are the checkpoint's, bit for bit."""
    info = checkpoint.tensors.get(case.tensor)
    if info is None or info.shape != case.shape or info.dtype != case.dtype:
        raise PackError(
            f"finding {number + 1} is about {case.tensor} of shape {case.shape} in {case.dtype}; "
            f"{checkpoint.source} has no such tensor."
        )
    everything = case.everything
    same = same_bits(checkpoint.elements(case.tensor, everything.indices), everything.values)
    if not same.all():
        first = int(np.flatnonzero(~same)[0])
        raise PackError(
            f"finding {number + 1}: {int((~same).sum()):,} of its {same.size:,} values are not those of "
            f"{checkpoint.source}, the first in {case.axis} {int(everything.unit[first])}."
        )
    detail = f"all {same.size:,} values are those of {checkpoint.source}, bit for bit."
    return Check(f"finding {number + 1}, rows", "recomputed", detail)


def _compare(number: int, stated: Finding, weighed: Weighed, *, same_version: bool) -> None:
    again = weighed.finding
    # The share of a mixture's rows follows from all of them, that of a merge from the rows of the pack.
    skipped = set(NOT_FROM_ROWS) if again.merge is not None else {*NOT_FROM_ROWS, "share"}
    if again.seed_rule is None:  # a rule that several tensors show together
        skipped.add("seed_rule")
    difference = first_difference(
        stated.model_dump(mode="json", exclude=skipped, exclude_unset=True),
        again.model_dump(mode="json", exclude=skipped),
        texts=same_version,
        later=True,
    )
    if difference is not None:
        key, said, found = difference
        raise PackError(f"finding {number + 1} says {key} = {said}, but its rows give {found}.")


def _verdict(reading: Reading, weighed: list[Weighed], *, same_version: bool) -> None:
    if not weighed and reading.verdict in ("none", "not-searched"):
        return
    found = overall([one.claim for one in weighed])
    if reading.verdict != found:
        raise PackError(
            f"the reading's verdict is {reading.verdict!r}, but its findings amount to {found!r}."
        )
    if same_version and reading.limits != limits(found, reading.findings, reading.searched):
        raise PackError("the reading's limits are not those that its findings have.")
    given = "questions" in reading.model_fields_set
    if same_version and given and reading.questions != questions(reading.findings, reading.mixtures):
        raise PackError("the reading's questions are not answered as its findings answer them.")
