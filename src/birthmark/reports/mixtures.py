"""Mixtures in the schema's keys: tensors whose survivors come from more than one origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements
from birthmark.evidence.judge import Judged
from birthmark.evidence.mixture_account import MixtureAccount, Origin, account_for, runs
from birthmark.evidence.origin_prediction import predict as predict_origin
from birthmark.evidence.prediction import predict
from birthmark.evidence.solved import SolvedReading
from birthmark.evidence.verdict import PREDICTED
from birthmark.reports import wording
from birthmark.reports.findings import share_model
from birthmark.reports.models import (
    EitherModel,
    MixtureModel,
    MixturePartModel,
    RowEvidenceModel,
)
from birthmark.reports.reading import Finding


def mixtures(
    checkpoint: Checkpoint,
    findings: Sequence[Finding],
    judged: Sequence[Judged],
    solved: Sequence[SolvedReading],
) -> tuple[list[Finding], list[MixtureModel]]:
    """What came together in each tensor, and the findings with their shares of it.

    Args:
        checkpoint: open; some values of each row of a mixture are read.
        findings: those of `judged` first, then any others, those of `solved` last.
        judged: what has a launch layout.
        solved: what has none.
    """
    several: dict[str, list[int]] = {}
    shards = Counter((one.tensor, one.seed_rule) for one in findings)
    for number, one in enumerate(findings):
        # Several shards of one rule have their own rows by design.
        if one.outcome in PREDICTED and (one.seed_rule is None or shards[one.tensor, one.seed_rule] < 2):
            several.setdefault(one.tensor, []).append(number)
    found, changed = [], list(findings)
    for tensor, numbers in several.items():
        if len(numbers) < 2 or len({_name(findings[number]) for number in numbers}) < 2:
            continue
        if any(findings[number].merge is not None for number in numbers):
            found.append(_merged(findings, tensor, numbers, judged))
            continue
        info = checkpoint.tensors[tensor]
        origins = [_origin(number, findings, judged, solved) for number in numbers]
        axis = findings[numbers[0]].survivors.axis
        account = account_for(checkpoint, tensor, info.shape, axis, origins)
        model = _of_rows(findings, tensor, numbers, account)
        found.append(model)
        for part in model.parts:
            changed[part.finding] = changed[part.finding].model_copy(update={"share": part.share})
    return changed, found


def unexplained_notes(mixed: Sequence[MixtureModel], judged: Sequence[Judged]) -> list[str]:
    """How many rows of a mixture were taken for survivors and are nobody's: the shares leave them out.

    Args:
        mixed: the mixtures of a reading.
        judged: what has a launch layout, in the order of the first findings.
    """
    notes = []
    for one in mixed:
        parts = [judged[part.finding] for part in one.parts if part.finding < len(judged)]
        if one.kind != "rows" or len(parts) < len(one.parts):
            continue
        scored = np.unique(np.concatenate([part.judgement.units.ids for part in parts]))
        given = [part.judgement.survivors if part.census is None else part.census.ids for part in parts]
        rest = np.setdiff1d(scored, np.concatenate(given)).size
        if rest:
            was, are = ("was", "is") if rest == 1 else ("were", "are")
            notes.append(
                f"{wording.units(rest, one.axis)} of {one.tensor} that {was} taken for survivors {are} "
                "predicted by none of its origins: another birth, or training that touched them. Shares are "
                "of the others."
            )
    return notes


def _name(one: Finding) -> tuple[object, ...]:
    """What must differ between two origins."""
    return one.generator, one.seed, one.layout.threads if one.layout else None, one.offset, one.index


def _origin(
    number: int, findings: Sequence[Finding], judged: Sequence[Judged], solved: Sequence[SolvedReading]
) -> Origin:
    if number < len(judged):
        judgement, census = judged[number].judgement, judged[number].census
        case = judgement.case

        def near(elements: Elements) -> NDArray[np.bool_]:
            return predict(judgement.fit, case.seed, elements, case.dtype).near

        ids = judgement.survivors if census is None else census.ids
        return Origin(ids, near, judgement.units.chance)
    one = solved[number - (len(findings) - len(solved))]
    assert one.units is not None

    def near_solved(elements: Elements) -> NDArray[np.bool_]:
        return predict_origin(one.judgement.origin, elements).near

    return Origin(one.units.ids[one.units.predicted], near_solved, one.judgement.chance)


def _of_rows(
    findings: Sequence[Finding], tensor: str, numbers: Sequence[int], account: MixtureAccount
) -> MixtureModel:
    parts = [
        MixturePartModel(
            finding=number,
            count=part.own.size,
            runs=runs(part.own),
            share=share_model(part.share) if part.share is not None else None,
            least_log10=part.least_log10,
            median_log10=part.median_log10,
        )
        for number, part in zip(numbers, account.parts, strict=True)
    ]
    axis = findings[numbers[0]].survivors.axis
    rows = [
        RowEvidenceModel(id=row, part=best if best >= 0 else None, log10=ratio)
        for row, best, ratio in zip(
            account.ids.tolist(), account.best.tolist(), account.log10.tolist(), strict=True
        )
    ]
    either = EitherModel(count=account.either.size, runs=runs(account.either))
    return MixtureModel(
        tensor=tensor,
        kind="rows",
        axis=axis,
        parts=parts,
        either=either,
        rows=rows,
        statement=rows_statement(findings, axis, parts, either),
    )


def rows_statement(
    findings: Sequence[Finding], axis: str, parts: Sequence[MixturePartModel], either: EitherModel
) -> str:
    """A mixture of rows in a sentence or two."""
    decided = sum(part.count for part in parts)
    each = "; ".join(
        f"{wording.units(part.count, axis)} of {_told(findings, parts, part)}{_share(part)}" for part in parts
    )
    text = f"Of {wording.units(decided, axis)} that only one origin predicts: {each}."
    if either.count:
        text += (
            f" {wording.units(either.count, axis)} that several predict alike "
            f"{'is' if either.count == 1 else 'are'} left out of the shares."
        )
    return text


def _told(findings: Sequence[Finding], parts: Sequence[MixturePartModel], part: MixturePartModel) -> str:
    """An origin in words, with its place in the stream where that alone tells it from another one."""
    name = wording.origin(findings[part.finding])
    if sum(wording.origin(findings[each.finding]) == name for each in parts) > 1:
        name += f" at {wording.position(findings[part.finding])}"
    return name


def _merged(
    findings: Sequence[Finding], tensor: str, numbers: Sequence[int], judged: Sequence[Judged]
) -> MixtureModel:
    """A weighted sum: every row holds every draw, so there is no map of rows."""
    numbers = [number for number in numbers if findings[number].merge is not None]
    parts = [
        MixturePartModel(finding=number, count=0, runs=[], share=findings[number].share) for number in numbers
    ]
    census = judged[numbers[0]].census
    count = 0 if census is None else int(census.ids.size)
    axis = findings[numbers[0]].survivors.axis
    return MixtureModel(
        tensor=tensor,
        kind="merge",
        axis=axis,
        parts=parts,
        either=EitherModel(count=0, runs=[]),
        rows=[],
        statement=sum_statement(findings, axis, parts, count),
    )


def sum_statement(
    findings: Sequence[Finding], axis: str, parts: Sequence[MixturePartModel], count: int
) -> str:
    """A merge in a sentence."""
    each = "; ".join(f"{_told(findings, parts, part)}{_share(part)}" for part in parts)
    return f"{wording.units(count, axis)} are a weighted sum of {len(parts)} draws: {each}."


def _share(part: MixturePartModel) -> str:
    share = part.share
    if share is None:
        return ""
    return f" ({wording.share(share)})"
