"""Mixtures of a reading follow from its findings, and what does not is refused."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.errors import PackError
from birthmark.evidence.shares import counted_share
from birthmark.packs.mixtures import mixture_checks
from birthmark.reports.mixtures import rows_statement
from birthmark.reports.models import EitherModel, MixturePartModel
from birthmark.reports.reading import Reading


def share(count: int, of: int) -> dict[str, float]:
    """A share as a reading has it."""
    one = counted_share(count, of)
    return {"value": one.value, "lo": one.lo, "hi": one.hi}


@pytest.fixture
def reading(match: Any) -> Reading:
    """A reading of two findings: rows 1 to 4 of the one, 4 to 6 of the other."""
    first = match[0].findings[0].model_dump(mode="json")
    second = first | {
        "seed": 99,
        "survivors": {"axis": "row", "count": 3, "ids": [4, 5, 6]},
        "share": share(2, 5),
    }
    first = first | {"survivors": {"axis": "row", "count": 4, "ids": [1, 2, 3, 4]}, "share": share(3, 5)}
    document = match[0].model_dump(mode="json") | {"findings": [first, second]}
    findings = Reading.model_validate(document).findings
    parts = [
        {"finding": 0, "count": 3, "runs": [[1, 3]], "share": share(3, 5)},
        {"finding": 1, "count": 2, "runs": [[5, 6]], "share": share(2, 5)},
    ]
    either = {"count": 1, "runs": [[4, 4]]}
    text = rows_statement(
        findings,
        "row",
        [MixturePartModel.model_validate(part) for part in parts],
        EitherModel.model_validate(either),
    )
    mixture = {
        "tensor": first["tensor"], "kind": "rows", "axis": "row", "parts": parts, "either": either,
        "rows": [], "statement": text,
    }  # fmt: skip
    return Reading.model_validate(document | {"mixtures": [mixture]})


def test_a_true_mixture_is_recomputed(reading: Reading) -> None:
    """Rows, shares and the sentence follow from the listed survivors."""
    (check,) = mixture_checks(reading, same_version=True)

    assert (check.what, check.how) == ("mixture 1", "recomputed")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda m: m["parts"][0].update(count=4), r"parts\[0\].count"),
        (lambda m: m["parts"][0].update(runs=[[1, 2]]), r"parts\[0\].runs"),
        (lambda m: m["parts"][1]["share"].update(value=0.9), r"parts\[1\].share.value"),
        (lambda m: m["either"].update(count=0, runs=[]), "either"),
        (lambda m: m.update(statement="All rows are mine."), "statement"),
        (lambda m: m["parts"][1].update(finding=0), "one twice"),
        (lambda m: m["parts"][1].update(finding=7), "not there"),
        (lambda m: m.update(tensor="another"), "other tensors"),
    ],
)
def test_what_does_not_follow_is_refused(reading: Reading, edit: Any, words: str) -> None:
    """Each claim of a mixture that its findings do not carry is named."""
    document = reading.model_dump(mode="json")
    edit(document["mixtures"][0])

    with pytest.raises(PackError, match=words):
        mixture_checks(Reading.model_validate(document), same_version=True)


def test_a_share_of_a_finding_is_that_of_the_mixture(reading: Reading) -> None:
    """A finding cannot state another share than the mixture gives it."""
    document = reading.model_dump(mode="json")
    document["findings"][0]["share"] = share(1, 5)

    with pytest.raises(PackError, match="says share"):
        mixture_checks(Reading.model_validate(document), same_version=True)


def test_unlisted_survivors_leave_a_mixture_stated(reading: Reading) -> None:
    """Where there are too many rows to list, the division is stated; other versions may word it so."""
    document = reading.model_dump(mode="json")
    document["findings"][0]["survivors"]["ids"] = None
    (check,) = mixture_checks(Reading.model_validate(document), same_version=True)
    assert check.how == "stated"

    document = reading.model_dump(mode="json")
    document["mixtures"][0]["statement"] = "Put otherwise."
    assert mixture_checks(Reading.model_validate(document), same_version=False)[0].how == "recomputed"
