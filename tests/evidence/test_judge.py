"""Judging the candidates of a search against a checkpoint, with the census of its tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from birthmark.checkpoints import open_checkpoint
from birthmark.evidence.elements import units_of
from birthmark.evidence.judge import Judgements, distinct, judge
from birthmark.evidence.verdict import overall
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.recipes.sharding import Sharding
from birthmark.reports.assemble import claim
from birthmark.survivors.split import Holdout, Selection, held_out
from birthmark.survivors.survivor import Axis, Survivors

SHAPE = (2048, 160)
G = 65536


@dataclass(frozen=True)
class Found:
    """A candidate, as a search hands it over."""

    hypothesis: Hypothesis
    seed: int


TRUTH = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), G)


def _trained(keep: np.ndarray, axis: Axis = "row", truth: Hypothesis = TRUTH, seed: int = 7) -> np.ndarray:
    """A tensor in which only the rows (or columns) `keep` still hold their initial values."""
    values = truth.tensor(seed).astype(np.float64)
    noise = 0.02 * np.random.default_rng(0).normal(size=values.shape)
    mask = np.ones(values.shape, bool)
    if axis == "column":
        mask[:, keep] = False
    else:
        mask[keep] = False
    return np.where(mask, values + noise, values)


def _judge(
    in_memory: Any,
    values: np.ndarray,
    surveyed: np.ndarray,
    candidates: list[Found],
    axis: Axis = "row",
    dtype: str = "bfloat16",
    **options: Any,
) -> Judgements:
    shape = values.shape
    stored = round_to(values, dtype)
    every = np.arange(values.size)
    unit = units_of(every, shape, axis)
    inside = np.isin(unit, surveyed)
    hidden = held_out("w", surveyed)
    out = inside & np.isin(unit, surveyed[hidden])
    seen = inside & ~out
    flat = stored.ravel().astype(np.float64)
    selection = Selection(
        "w",
        shape,
        dtype,
        axis,
        "normal",
        0.02,
        0.01,
        every[seen],
        flat[seen],
        unit[seen],
        np.ones(int(seen.sum())),
    )
    survivors = Survivors("w", shape, dtype, axis, surveyed, np.ones(surveyed.size), "normal", 0.02, 0.01)
    return judge(
        in_memory("w", stored, dtype),
        survivors,
        selection,
        Holdout("w", axis, every[out], unit[out]),
        candidates,
        trials=10**11,
        **options,
    )


def test_the_census_finds_every_survivor(in_memory: Any) -> None:
    """Rows that the survey missed are found, rows that it took for survivors by mistake are not."""
    keep = np.arange(100, 2000, 50)
    surveyed = np.concatenate([keep[:20], [3, 7, 11]])

    found = _judge(in_memory, _trained(keep), np.sort(surveyed), [Found(TRUTH, 7)])

    (one,) = found.findings
    assert one.judgement.outcome == "match"
    assert one.census is not None
    assert one.census.ids.tolist() == keep.tolist()
    assert one.census.altered.size == 0
    assert one.census.judged == one.census.of == 2048


def test_the_census_lists_altered_rows(in_memory: Any) -> None:
    """Rows with a few changed elements are survivors, and listed apart."""
    keep = np.arange(100, 2000, 50)
    values = _trained(keep)
    values[keep[4], :7] += 0.01
    values[keep[9], 90:100] += 0.01

    (one,) = _judge(in_memory, values, keep, [Found(TRUTH, 7)]).findings

    assert one.census is not None
    assert one.census.ids.tolist() == keep.tolist()
    assert one.census.altered.tolist() == [keep[4], keep[9]]
    assert one.census.altered_elements == 17


def test_columns_are_judged_like_rows(in_memory: Any) -> None:
    """Untouched input columns are survivors as well."""
    keep = np.array([0, 3, 17, 40, 41, 77, 90, 101, 130, 159])

    (one,) = _judge(in_memory, _trained(keep, "column"), keep[:9], [Found(TRUTH, 7)], axis="column").findings

    assert one.judgement.outcome == "match"
    assert one.census is not None
    assert one.census.ids.tolist() == keep.tolist()


def test_the_best_of_several_candidates_is_taken_and_all_are_counted(in_memory: Any) -> None:
    """False candidates do not hide the true one; each that was scored is a trial on the hold-out."""
    keep = np.arange(100, 2000, 50)
    candidates = [Found(TRUTH, 8), Found(replace(TRUTH, threads=40960), 7), Found(TRUTH, 7)]

    (one,) = _judge(in_memory, _trained(keep), keep, candidates).findings

    assert one.judgement.case.seed == 7
    assert one.judgement.fit.hypothesis.threads == G
    assert one.judgement.holdout.trials == 3


def test_false_candidates_are_no_findings(in_memory: Any) -> None:
    """A false candidate is judged, and reported as nothing."""
    keep = np.arange(100, 2000, 50)

    found = _judge(in_memory, _trained(keep), keep, [Found(TRUTH, 8)])

    assert found.findings == ()
    assert [one.judgement.outcome for one in found.judged] == ["none"]


def test_no_candidates_give_no_judgements(in_memory: Any) -> None:
    """A search without candidates leaves nothing to judge."""
    keep = np.arange(100, 2000, 50)

    assert _judge(in_memory, _trained(keep), keep, []).judged == ()


def test_a_vector_is_one_row(in_memory: Any) -> None:
    """A bias is split by its elements, and is one survivor; below one wave it carries no layout."""
    truth = Hypothesis(Draw("normal", (0.0, 1.0), (300,)), 40960, offset=8)
    values = truth.tensor(3).astype(np.float64)
    every = np.arange(300)
    away = held_out("w", every)
    zeros = np.zeros(300, np.int64)
    one_row = np.zeros(1, np.int64)
    selection = Selection(
        "w", (300,), "float32", "row", "normal", 1.0, 0.05,
        every[~away], values[~away], zeros[~away], np.ones(int((~away).sum())),
    )  # fmt: skip

    found = judge(
        in_memory("w", values, "float32"),
        Survivors("w", (300,), "float32", "row", one_row, np.ones(1), "normal", 1.0, 0.05),
        selection,
        Holdout("w", "row", every[away], zeros[away]),
        [Found(truth, 3)],
        trials=51_000,
    )

    (one,) = found.findings
    assert one.judgement.outcome == "seed-only"
    assert one.judgement.exact.equal == 300
    assert one.census is not None
    assert one.census.ids.tolist() == [0]


def test_what_is_found_again_is_reported_once(in_memory: Any) -> None:
    """Two searches that find the same origin give one finding, the later one; other origins stay."""
    keep = np.arange(100, 2000, 50)
    first = _judge(in_memory, _trained(keep), keep, [Found(TRUTH, 7)])
    again = _judge(in_memory, _trained(keep), keep[:30], [Found(TRUTH, 7)])
    wrong = _judge(in_memory, _trained(keep), keep, [Found(TRUTH, 8)])

    kept = distinct([first, wrong, again])

    assert [group.judged for group in kept] == [wrong.judged, again.judged]
    assert distinct([]) == ()


def test_shards_are_judged_one_by_one(in_memory: Any) -> None:
    """Each shard is a finding with its own seed and its own rows."""
    truth = replace(TRUTH, sharding=Sharding(2, "megatron"))
    keep = np.arange(10, 2000, 50)

    found = _judge(in_memory, _trained(keep, truth=truth), keep, [Found(truth, 7)])

    assert [one.judgement.case.seed_of_rank for one in found.findings] == [7, 8]
    ids = [one.census.ids.tolist() for one in found.findings if one.census]
    assert ids == [[row for row in keep if row < 1024], [row for row in keep if row >= 1024]]


def test_a_mixture_becomes_two_judgements(in_memory: Any) -> None:
    """Rows of another layout become a second finding; rows both predict are counted in both and said so."""
    keep = np.arange(0, 2048, 32)
    values = _trained(keep)
    other = _trained(keep, truth=replace(TRUTH, threads=77824))
    second = keep[2::4]
    values[second] = other[second]

    found = _judge(in_memory, values, keep, [Found(TRUTH, 7)])

    first, rest = found.findings
    assert [one.judgement.fit.hypothesis.threads for one in (first, rest)] == [G, 77824]
    assert first.census is not None
    assert rest.census is not None
    assert set(first.census.ids) | set(rest.census.ids) == set(keep)
    assert first.shared == rest.shared == np.intersect1d(first.census.ids, rest.census.ids).size > 0


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("hopper-42", "match"),
        ("decay-152", "match"),
        ("partial-3pct", "match"),
        ("redrawn-offset", "match"),
        ("merged-two-layouts", "mixture"),
        ("megatron-tp2-a100", "match"),
        ("rocm-mi300x-f32", "match"),
        ("truncated-float32", "none"),
        ("numpy-pcg64", "none"),
    ],
)
def test_cases_with_known_answers(cases: Any, answers: dict[str, Any], name: str, verdict: str) -> None:
    """With the true seed and layout in hand each case gets its verdict, and its survivors to the row."""
    truth = answers[name]
    parts = truth.get("parts", [])
    rows = sorted({row for part in parts for row in part["rows"]} or set(truth["survivors"]["rows"]))
    source = parts[0] if parts else truth
    threads = (source.get("layout") or {"G": 270336})["G"]
    with open_checkpoint(cases / truth["path"]) as checkpoint:
        name_ = truth["tensor"]
        info = checkpoint.tensors[name_]
        width = info.matrix_shape[1]
        # Some trained rows among them, as a survey would let through.
        surveyed = np.union1d(rows, np.arange(5, info.shape[0], 900)).astype(np.int64)
        hidden = held_out(name_, surveyed)
        indices = [(surveyed[side][:, None] * width + np.arange(width)).ravel() for side in (~hidden, hidden)]
        values = checkpoint.take(name_, surveyed[~hidden]).astype(np.float64).ravel()
        selection = Selection(
            name_, info.shape, info.dtype, "row", "normal", float(values.std()), 0.01,
            indices[0], values, indices[0] // width, np.ones(values.size),
        )  # fmt: skip
        survivors = Survivors(
            name_, info.shape, info.dtype, "row", surveyed, np.ones(surveyed.size), "normal", 0.02, 0.01
        )
        hypothesis = Hypothesis(
            Draw("normal", (0.0, selection.scale), info.shape),
            threads,
            offset=truth.get("offset") or 0,
            sharding=Sharding(truth.get("tp", 1), "megatron" if "tp" in truth else "single"),
        )
        seed = source.get("seed") or (truth.get("seeds") or [42])[0]
        found = judge(
            checkpoint,
            survivors,
            selection,
            Holdout(name_, "row", indices[1], indices[1] // width),
            [Found(hypothesis, seed)],
            trials=2 * 10**11,
        )

    assert overall([claim(one) for one in found.findings]) == verdict
    if verdict == "none":
        return
    judged = set().union(*(one.census.ids.tolist() for one in found.findings if one.census))
    assert judged == set(rows)
    altered = set().union(*(one.census.altered.tolist() for one in found.findings if one.census))
    assert altered == set(truth.get("partly_altered", {}).get("rows", []))
    if "factor" in truth:
        assert found.findings[0].judgement.fit.factor == pytest.approx(truth["factor"], rel=1e-5)
