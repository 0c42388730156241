"""Mixtures in a reading: what is said of them, on the terminal and in the limits."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.reports.limits import limits
from birthmark.reports.mixtures import mixtures, rows_statement, sum_statement
from birthmark.reports.models import EitherModel, MixturePartModel, ShareModel
from birthmark.reports.outcomes import headline, propositions
from birthmark.reports.reading import Finding, Reading
from birthmark.reports.terminal import to_text

SHARE = {"value": 0.8, "lo": 0.65, "hi": 0.9}
OTHER = {"value": 0.2, "lo": 0.1, "hi": 0.35}


@pytest.fixture
def rows(make_reading: Any, make_finding: Any) -> Reading:
    """Rows of two layouts in one tensor."""
    layout = {"threads": 270336, "not_excluded": [270336], "devices": []}
    findings = [make_finding(share=SHARE), make_finding(share=OTHER, layout=layout)]
    parts = [
        {"finding": 0, "count": 8, "runs": [[4, 9], [12, 13]], "share": SHARE, "least_log10": 80.2},
        {"finding": 1, "count": 2, "runs": [[20, 21]], "share": OTHER},
    ]
    mixture = {
        "tensor": "model.embed_tokens.weight", "kind": "rows", "axis": "row", "parts": parts,
        "either": {"count": 1, "runs": [[2, 2]]}, "rows": [],
        "statement": "Of 10 rows that only one predicts.",
    }  # fmt: skip
    reading: Reading = make_reading(findings=findings, verdict="mixture", mixtures=[mixture])
    return reading


@pytest.fixture
def summed(make_reading: Any, make_finding: Any) -> Reading:
    """A merge of two draws."""
    merge = {"weight": 0.016, "beside": [{"seed": 5, "threads": 65536, "weight": 0.004}], "residual": 1e-9}
    findings = [make_finding(share=SHARE, merge=merge), make_finding(share=OTHER, merge=merge, seed=5)]
    parts: list[dict[str, Any]] = [
        {"finding": number, "count": 0, "runs": [], "share": None} for number in (0, 1)
    ]
    mixture = {
        "tensor": "model.embed_tokens.weight", "kind": "merge", "axis": "row", "parts": parts,
        "either": {"count": 0, "runs": []}, "rows": [], "statement": "5 rows are a weighted sum of 2 draws.",
    }  # fmt: skip
    reading: Reading = make_reading(findings=findings, verdict="mixture", mixtures=[mixture])
    return reading


def test_the_terminal_maps_the_rows(rows: Reading) -> None:
    """Which rows are whose, how surely, and which are either's."""
    text = " ".join(to_text(rows, 110).split())

    assert "come from 2 different initialisations" in text
    assert "Finding 1 4-9, 12-13; each with a ratio of 10^80 or more" in text
    assert "Finding 2 20-21" in text
    assert "Either 2" in text
    assert "Share 0.80, 95 % interval 0.65 to 0.90" in text


def test_a_merge_is_a_weighted_sum(summed: Reading) -> None:
    """Headline, propositions, facts and limits speak of a sum."""
    text = " ".join(to_text(summed, 110).split())

    assert headline(summed) == ("MIXTURE", "the survivors are a weighted sum of 2 initialisations.")
    assert "added to other draws" in propositions(summed.findings[0])[0][1]
    assert "0.004 x seed 5 on 65,536 threads" in text
    assert any("one scale" in text for text in limits("mixture", summed.findings, summed.searched))


def test_statements_name_origins_and_shares(make_finding: Any) -> None:
    """Two origins with one seed and layout are told apart by their offset; one row is singular."""
    findings = [Finding.model_validate(make_finding(offset=offset)) for offset in (0, 12)]
    parts = [
        MixturePartModel(finding=number, count=count, runs=[], share=ShareModel(value=0.5, lo=0.1, hi=0.9))
        for number, count in ((0, 1), (1, 3))
    ]
    text = rows_statement(findings, "row", parts, EitherModel(count=1, runs=[(4, 4)]))

    assert "1 row of seed 777" in text
    assert "at offset 0 (0.50, 95 % interval 0.10 to 0.90)" in text
    assert "at offset 12" in text
    assert "1 row that several predict alike is left out" in text
    assert sum_statement(findings, "row", parts, 7).startswith("7 rows are a weighted sum of 2 draws")


def test_one_origin_is_no_mixture(make_finding: Any) -> None:
    """Shards with a common rule, the same origin twice, and single findings need no account."""
    one = Finding.model_validate(make_finding())
    shards = [Finding.model_validate(make_finding(seed=seed, seed_rule="seed + rank")) for seed in (7, 8)]

    for findings in ([one], [one, one], shards):
        changed, found = mixtures(None, findings, [], [])  # type: ignore[arg-type]
        assert (changed, found) == (findings, [])
