"""From grounds to verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from birthmark.evidence.score import Score
from birthmark.evidence.verdict import Claim, Grounds, judge_grounds, overall


def _score(log10_p: float | None, n: int = 3000) -> Score:
    reason = None if log10_p is not None else "too few"
    return (
        Score(n, 0.9, 40.0, log10_p, log10_p, 1, reason)
        if log10_p is not None
        else Score(n, *(None,) * 4, 1, reason)
    )


GOOD = Grounds(
    selection=_score(-500.0),
    holdout=_score(-500.0),
    above_background=True,
    predicted_selection=2000,
    predicted_holdout=2000,
    separated=True,
)


def test_exact_significant_and_separated_is_a_match() -> None:
    """All three together make a match."""
    assert judge_grounds(GOOD)[0] == "match"
    assert judge_grounds(replace(GOOD, separated=None))[0] == "match"


def test_unseparated_layouts_are_seed_only() -> None:
    """The seed is known, the layout is not."""
    assert judge_grounds(replace(GOOD, separated=False))[0] == "seed-only"


@pytest.mark.parametrize(
    "change",
    [
        {"predicted_selection": 0, "predicted_holdout": 0},
        {"predicted_holdout": 0},
        {"predicted_selection": 10, "predicted_holdout": 10},
    ],
)
def test_significance_without_exactness_is_a_weak_trace(change: dict[str, int]) -> None:
    """A correlation of 0.98 from a wrong sampler is no match, however significant."""
    outcome, reason = judge_grounds(replace(GOOD, **change))  # type: ignore[arg-type]

    assert outcome == "weak-trace"
    assert "rounding" in reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"holdout": _score(-3.0)}, "hold-out does not confirm"),
        ({"selection": _score(-3.0)}, "after all trials"),
        ({"above_background": False}, "decoy"),
        ({"holdout": _score(None, 2), "selection": _score(-9.0)}, "no score"),
    ],
)
def test_what_is_not_significant_is_nothing(change: dict[str, object], words: str) -> None:
    """Exact bits do not help a score that is not rare: neither side replaces the other."""
    outcome, reason = judge_grounds(replace(GOOD, **change))  # type: ignore[arg-type]

    assert outcome == "none"
    assert words in reason


def test_a_selection_alone_must_be_much_rarer() -> None:
    """Without a hold-out the selection must carry the finding by itself."""
    alone = replace(GOOD, holdout=_score(None, 0), predicted_holdout=0)

    assert judge_grounds(alone)[0] == "match"
    assert judge_grounds(replace(alone, selection=_score(-11.0)))[0] == "none"


def test_overall_takes_the_strongest_outcome() -> None:
    """One match among weak traces makes a match; no finding makes none."""
    weak = Claim("weak-trace", "a", ("philox", 1, 256, 0))
    seed = Claim("seed-only", "a", ("philox", 1, 256, 0))
    match = Claim("match", "a", ("philox", 1, 256, 0))
    layout = Claim("layout-only", "a", ("philox", None, 256, 0))

    assert overall([]) == "none"
    assert overall([weak]) == "weak-trace"
    assert overall([weak, layout]) == "layout-only"
    assert overall([weak, seed]) == "seed-only"
    assert overall([weak, seed, match]) == "match"


def test_two_origins_in_one_tensor_are_a_mixture() -> None:
    """Two seeds or two layouts in one tensor are a mixture; one origin twice, or two tensors, are not."""
    first = Claim("match", "a", ("philox", 1, 256, 0))

    assert overall([first, replace(first, origin=("philox", 1, 512, 0))]) == "mixture"
    assert overall([first, replace(first, origin=("philox", 2, 256, 0))]) == "mixture"
    assert overall([first, first]) == "match"
    assert overall([first, replace(first, tensor="b", origin=("philox", 1, 256, 4))]) == "match"
