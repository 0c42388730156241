"""The mixtures of a reading, held against its own findings: whose rows are whose, and the shares of that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from birthmark.errors import PackError
from birthmark.evidence.mixture_account import runs
from birthmark.evidence.shares import counted_share
from birthmark.packs.comparing import first_difference
from birthmark.packs.weighing import Check
from birthmark.reports.mixtures import rows_statement, sum_statement
from birthmark.reports.models import EitherModel, MixtureModel, MixturePartModel, ShareModel
from birthmark.reports.reading import Finding, Reading


def mixture_checks(reading: Reading, *, same_version: bool) -> list[Check]:
    """What was looked at in the mixtures of a reading.

    Args:
        reading: whose findings were verified.
        same_version: whether this birthmark wrote it, so that its sentences must be the same.

    Raises:
        PackError: a mixture does not follow from the survivors and shares of the findings that it names.
    """
    checks = []
    for number, mixture in enumerate(reading.mixtures):
        named = [part.finding for part in mixture.parts]
        if len(set(named)) != len(named) or not all(each < len(reading.findings) for each in named):
            raise PackError(f"mixture {number + 1} names findings that are not there, or one twice.")
        findings = [reading.findings[each] for each in named]
        if any(one.tensor != mixture.tensor for one in findings):
            raise PackError(f"mixture {number + 1} names findings of other tensors.")
        checks.append(_checked(number, reading.findings, mixture, findings, texts=same_version))
    return checks


def _checked(
    number: int,
    everything: Sequence[Finding],
    mixture: MixtureModel,
    findings: Sequence[Finding],
    *,
    texts: bool,
) -> Check:
    name = f"mixture {number + 1}"
    if mixture.kind == "merge":
        expected = [
            MixturePartModel(finding=part.finding, count=0, runs=[], share=one.share)
            for part, one in zip(mixture.parts, findings, strict=True)
        ]
        either = EitherModel(count=0, runs=[])
        statement = sum_statement(everything, mixture.axis, expected, findings[0].survivors.count)
        check = Check(name, "recomputed", "the shares are those that the weights of its findings give.")
    else:
        listed = [one.survivors.ids for one in findings]
        if any(ids is None for ids in listed):
            return Check(name, "stated", "its findings list too few of their rows to divide them anew.")
        ids = [np.asarray(each, np.int64) for each in listed if each is not None]
        units, times = np.unique(np.concatenate(ids), return_counts=True)
        several = units[times > 1]
        own = [np.setdiff1d(each, several) for each in ids]
        decided = sum(each.size for each in own)
        expected = [
            part.model_copy(
                update={"count": each.size, "runs": runs(each), "share": _share(each.size, decided)}
            )
            for part, each in zip(mixture.parts, own, strict=True)
        ]
        either = EitherModel(count=several.size, runs=runs(several))
        statement = rows_statement(everything, mixture.axis, expected, either)
        check = Check(
            name,
            "recomputed",
            "its rows and shares are those that the listed survivors give; the likelihood ratios of single "
            "rows are stated.",
        )
    again = mixture.model_copy(update={"parts": expected, "either": either, "statement": statement})
    difference = first_difference(mixture.model_dump(mode="json"), again.model_dump(mode="json"), texts=texts)
    if difference is not None:
        key, said, found = difference
        raise PackError(f"{name} says {key} = {said}, but its findings give {found}.")
    for part, one in zip(expected, findings, strict=True):
        if one.share != part.share:
            raise PackError(f"finding {part.finding + 1} says share = {one.share}, {name} {part.share}.")
    return check


def _share(count: int, of: int) -> ShareModel | None:
    if not of:
        return None
    share = counted_share(count, of)
    return ShareModel(value=share.value, lo=share.lo, hi=share.hi)
