"""A case of any kind weighed anew: the finding that its rows give, and what was looked at for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from birthmark.errors import BirthmarkError, PackError
from birthmark.evidence.case import Case
from birthmark.evidence.exactness import Units
from birthmark.evidence.judge import Judged
from birthmark.evidence.layout_case import LayoutCase, weigh_layout
from birthmark.evidence.origin_case import OriginCase, weigh_origin
from birthmark.evidence.verdict import Claim
from birthmark.evidence.weigh import weigh
from birthmark.packs.origins import AnyCase
from birthmark.reports.assemble import claim
from birthmark.reports.findings import finding
from birthmark.reports.reading import DeclaredModel, Finding
from birthmark.reports.seed_free import layout_claim, layout_finding
from birthmark.reports.solved import origin_claim, origin_finding

#: A listed survivor must have more than this share of its packed elements explained, an unlisted row less
#: than that.
CLEARLY_NOT, CLEARLY = 0.5, 0.95


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        what: in a few words.
        how: "recomputed" from the rows, "digest" compared, or "stated" by the pack and not verifiable from
            it.
        detail: the numbers, in words.
    """

    what: str
    how: Literal["recomputed", "digest", "stated"]
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What a case gives.

    Attributes:
        finding: as a reading would have it; survivors outside the pack are not in it.
        claim: the same as the overall verdict sees it.
        units: how each unit of the pack fares; None where no value is predicted.
        checks: what was looked at, (what, how, detail) each.
    """

    finding: Finding
    claim: Claim
    units: Units | None
    checks: tuple[Check, ...]


def weigh_any(number: int, case: AnyCase, declared: DeclaredModel | None) -> Weighed:
    """Weigh a case.

    Args:
        number: of its finding, from 0.
        case: of any kind.
        declared: a seed that the reading says the checkpoint's files declare.

    Raises:
        PackError: it cannot be computed, or does not support a finding.
    """
    name = f"finding {number + 1}"
    try:
        if isinstance(case, Case):
            return _of_layout_and_seed(name, case, declared)
        if isinstance(case, OriginCase):
            return _of_origin(name, case, declared)
        return _of_layout_alone(name, case)
    except PackError:
        raise
    except BirthmarkError as error:
        raise PackError(f"{name} cannot be computed from its rows: {error}") from error


def _of_layout_and_seed(name: str, case: Case, declared: DeclaredModel | None) -> Weighed:
    judgement = weigh(case)
    if judgement.outcome == "none":
        raise _unsupported(name, judgement.reason)
    judged = Judged(judgement, None)
    found = finding(judged, declared)
    exact = judgement.outcome in ("match", "seed-only")
    controls = (
        f"seed + 1, moved rows, the next layout, {judgement.decoys.count:,} decoys and the vendor test."
    )
    checks = (*_scores(name, found, "seed and layout"), Check(f"{name}, controls", "recomputed", controls))
    return Weighed(found, claim(judged), judgement.units if exact else None, checks)


def _of_origin(name: str, case: OriginCase, declared: DeclaredModel | None) -> Weighed:
    judgement = weigh_origin(case)
    if judgement.outcome == "none":
        raise _unsupported(name, judgement.reason)
    found = origin_finding(judgement, judgement.units, declared)
    controls = f"seed + 1, moved rows, the next place in the stream and {judgement.decoys.count:,} decoys."
    checks = [*_scores(name, found, "seed and index"), Check(f"{name}, controls", "recomputed", controls)]
    if found.solve is not None:
        detail = (
            f"{found.solve.equations:,} equations of rank {found.solve.rank:,}: how the seed was come by. "
            "The rows are held against the seed itself."
        )
        checks.append(Check(f"{name}, equations", "stated", detail))
    return Weighed(found, origin_claim(judgement), judgement.units, tuple(checks))


def _of_layout_alone(name: str, case: LayoutCase) -> Weighed:
    read = weigh_layout(case)
    if read.result != "layout":
        raise _unsupported(name, read.reason)
    found = layout_finding(read, case.survivors)
    detail = (
        f"{len(case.selection) + len(case.holdout):,} values give the stated layout again, chosen among "
        f"{read.trials:,} suppositions and confirmed on pairs that did not choose it."
    )
    return Weighed(
        found, layout_claim(read, case.survivors), None, (Check(f"{name}, layout", "recomputed", detail),)
    )


def _scores(name: str, found: Finding, by: str) -> tuple[Check, Check]:
    return (
        Check(
            f"{name}, scores",
            "recomputed",
            f"{found.selection.n:,} values of the selection and {found.holdout.n:,} of the hold-out give the "
            "stated r, sigma and probabilities (for the stated number of trials).",
        ),
        Check(
            f"{name}, bits",
            "recomputed",
            f"{found.bit_exact.equal:,} of {found.bit_exact.of:,} stored values equal the value that {by} "
            "predict.",
        ),
    )


def _unsupported(name: str, reason: str) -> PackError:
    return PackError(f"{name}: its rows do not support it: {reason} (the pack says it is a finding).")


def survivors_check(number: int, stated: Finding, weighed: Weighed) -> Check | None:
    """Whether the stated survivors agree with the rows in the pack; None where no value is predicted.

    The whole rows decided; a pack may hold a part of each, so only what is clear is held against the list.

    Raises:
        PackError: a listed row is not predicted, or a predicted one is not listed.
    """
    name, listed, altered = f"finding {number + 1}", stated.survivors.ids, stated.altered
    if listed is not None and (len(listed) != stated.survivors.count or listed != sorted(set(listed))):
        raise PackError(f"{name}: survivors.ids and survivors.count do not agree.")
    if altered.ids is not None and (
        len(altered.ids) != altered.count
        or (listed is not None and not set(altered.ids) <= set(listed))
        or altered.elements < altered.count
    ):
        raise PackError(f"{name}: altered.ids do not agree with its count or with the survivors.")
    units = weighed.units
    if units is None:
        if stated.survivors.count and stated.outcome != "layout-only":
            raise PackError(f"{name}: a {stated.outcome} has no survivors, but some are listed.")
        return None
    if listed is not None:
        share = units.explained / np.maximum(units.elements, 1)
        inside = np.isin(units.ids, np.asarray(listed, dtype=np.int64))
        wrong = units.ids[inside & (share < CLEARLY_NOT)]
        missing = units.ids[~inside & (share > CLEARLY)]
        for ids, words in (
            (wrong, "is listed as a survivor but not predicted"),
            (missing, "is predicted but not listed"),
        ):
            if ids.size:
                raise PackError(f"{name}: {stated.survivors.axis} {int(ids[0])} {words}.")
    inside_pack = int(np.count_nonzero(units.predicted))
    return Check(
        f"{name}, survivors",
        "recomputed",
        f"{inside_pack:,} of the {stated.survivors.count:,} stated survivors lie in the pack, and all of "
        "these are predicted; any others are only stated.",
    )
