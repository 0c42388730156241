"""From findings to the reading: the overall verdict, the limits and the notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from birthmark import __version__
from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.judge import Judged, Judgements
from birthmark.evidence.process_words import expert_rules, notes_of
from birthmark.evidence.remarks import threshold_note
from birthmark.evidence.seed_free import SeedFree
from birthmark.evidence.solved import HostLook, SolvedReading
from birthmark.evidence.verdict import Claim, overall
from birthmark.reports.account import NOTHING_SEARCHED
from birthmark.reports.controls import with_controls
from birthmark.reports.digests import digested
from birthmark.reports.findings import finding
from birthmark.reports.limits import limits
from birthmark.reports.meaning import with_meaning
from birthmark.reports.mixtures import mixtures, unexplained_notes
from birthmark.reports.questions import questions
from birthmark.reports.reading import (
    CheckpointModel,
    DeclaredModel,
    FileModel,
    Finding,
    Reading,
    SearchedModel,
    Verdict,
)
from birthmark.reports.seed_free import (
    family_model,
    layout_claim,
    layout_finding,
    seed_free_notes,
    with_layouts,
)
from birthmark.reports.solved import solved_claim, solved_finding, solved_notes, with_looks
from birthmark.survivors.survivor import Survivors


def assemble(
    checkpoint: Checkpoint,
    judgements: Iterable[Judgements],
    searched: SearchedModel,
    *,
    command: str,
    tensors_read: Sequence[str],
    revision: str | None = None,
    declared: DeclaredModel | None = None,
    layouts: Sequence[tuple[Survivors, SeedFree]] = (),
    confirmed: Mapping[str, SeedFree] = MappingProxyType({}),
    solved: Sequence[SolvedReading] = (),
    looks: Sequence[HostLook] = (),
    notes: Sequence[str] = (),
) -> Reading:
    """The reading of a checkpoint that was searched.

    Args:
        checkpoint: still open.
        judgements: one for each search that ended; those without candidates included.
        searched: what was searched, all searches together.
        command: how the reading can be made again.
        tensors_read: names of the tensors whose values were read.
        revision: the pinned revision of a remote checkpoint; None for a local one.
        declared: a seed that the checkpoint's own files declare.
        layouts: what was read without a seed, whatever came of it, each with the survivors it was read from.
        confirmed: tensors of the findings whose layout was read once more without the seed.
        solved: the draws without a launch layout that were found.
        looks: each look for such draws, whatever came of it.
        notes: what else a reader should know.
    """
    all_judgements = list(judgements)
    judged = [one for group in all_judgements for one in group.judged]
    reported = [one for one in judged if one.is_finding]
    names = list(checkpoint.tensors)
    rules = expert_rules(reported, names)
    cuts = Counter(map(_cut, reported))
    findings = [
        finding(one, declared, rules.get(number), seen=cuts[_cut(one)]) for number, one in enumerate(reported)
    ]
    remarks = [note for group in all_judgements for note in group.notes] if reported else []
    remarks += [note for one in (reported or judged[:1]) for note in one.judgement.notes]
    remarks += [*_about(reported, findings), *notes_of(judged, names)]
    seedless = [(survivors, one) for survivors, one in layouts if one.result == "layout"]
    findings += [layout_finding(one, survivors) for survivors, one in seedless]
    remarks += [note for survivors, one in layouts for note in seed_free_notes(one, survivors.tensor)]
    findings += [solved_finding(one, declared) for one in solved]
    remarks += solved_notes(solved, looks)
    findings, mixed = mixtures(checkpoint, findings, reported, solved)
    remarks += unexplained_notes(mixed, reported)
    findings = with_controls(checkpoint, findings, reported, solved, confirmed)
    findings, meaning_notes = with_meaning(checkpoint, findings)
    remarks += meaning_notes
    searched = with_looks(with_layouts(searched, layouts), looks, len(solved))
    verdict: Verdict = overall(
        [
            *map(claim, reported),
            *(layout_claim(one, survivors) for survivors, one in seedless),
            *map(solved_claim, solved),
        ]
    )
    files, digest_notes = digested(checkpoint)
    return Reading(
        version=__version__,
        command=command,
        checkpoint=_checkpoint(checkpoint, files, tensors_read, revision),
        verdict=verdict,
        findings=findings,
        searched=searched,
        limits=limits(verdict, findings, searched),
        notes=list(
            dict.fromkeys(
                [
                    *notes,
                    *remarks,
                    *([threshold_note()] if judged or seedless or solved else []),
                    *digest_notes,
                ]
            )
        ),
        mixtures=mixed,
        questions=questions(findings, mixed),
        families=[
            family_model(one, survivors.tensor)
            for survivors, one in layouts
            if one.result == "family" and all(found.tensor != survivors.tensor for found in findings)
        ],
    )


def not_searched(
    checkpoint: Checkpoint,
    reason: str,
    *,
    command: str,
    tensors_read: Sequence[str] = (),
    revision: str | None = None,
    notes: Sequence[str] = (),
) -> Reading:
    """The reading of a checkpoint in which there is nothing to search; `reason` becomes its first note."""
    files, digest_notes = digested(checkpoint)
    return Reading(
        version=__version__,
        command=command,
        checkpoint=_checkpoint(checkpoint, files, tensors_read, revision),
        verdict="not-searched",
        findings=[],
        searched=NOTHING_SEARCHED,
        limits=limits("not-searched", [], NOTHING_SEARCHED),
        notes=[reason, *notes, *digest_notes],
    )


def _cut(judged: Judged) -> tuple[object, ...]:
    """What shards of one tensor under one rule have in common."""
    case = judged.judgement.case
    return case.tensor, case.seed, case.hypothesis.sharding, case.hypothesis.offset


def claim(judged: Judged) -> Claim:
    """A finding as the overall verdict sees it."""
    case = judged.judgement.case
    hypothesis = judged.judgement.fit.hypothesis
    # Shards of one cut may have been drawn on several devices: that is no mixture.
    threads = hypothesis.threads if case.rank is None else None
    origin = (hypothesis.generator, case.seed, threads, hypothesis.offset)
    return Claim(judged.judgement.outcome, case.tensor, origin)


def _checkpoint(
    checkpoint: Checkpoint, files: list[FileModel], tensors_read: Sequence[str], revision: str | None
) -> CheckpointModel:
    return CheckpointModel(
        source=checkpoint.source,
        revision=revision,
        files=files,
        bytes_read=checkpoint.bytes_read,
        tensors_read=list(tensors_read),
    )


def _about(reported: Sequence[Judged], findings: Sequence[Finding]) -> list[str]:
    """Why keys of the findings are null."""
    notes = []
    for one, found in zip(reported, findings, strict=True):
        if one.shared:
            notes.append(
                f"{one.shared:,} {found.survivors.axis}s are predicted alike by several parts of the mixture."
            )
        if found.layout and found.layout.threads is not None and not found.layout.devices:
            notes.append(
                f"No device of the table has a layout of {found.layout.threads:,} threads and this "
                "arithmetic."
            )
        if found.platform is None:
            notes.append(
                "platform is null: the layout and the arithmetic do not leave just one vendor possible."
            )
        if found.survivors.ids is None:
            notes.append("survivors.ids is null: too many to list.")
        if found.controls.next_layout is None:
            notes.append(
                "controls.next_layout is null: no other layout of the table predicts different values here."
            )
    if findings:
        notes.append(
            "share is null where the survivors of a tensor have one origin, merge where they are one draw "
            "and no weighted sum. index and solve are null: they belong to other generators and methods. "
            "declared is null where the files declare no seed. likelihood is null where the selection does "
            "not correlate or no hold-out remains. Why trained or without_seed is null, the questions say."
        )
    return notes
