"""Weighted sums of draws: weights, shares, rounding, and what is no merge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from birthmark.devices.catalogue import table_threads
from birthmark.evidence.case import Beside, Case
from birthmark.evidence.combination import combine, narrowest
from birthmark.evidence.elements import Elements
from birthmark.evidence.linear_mixture import given
from birthmark.evidence.weigh import Judgement, weigh
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.survivors.split import held_out

SHAPE = (4096, 128)
H100, B200, A100 = 270336, 303104, 221184
ROWS = np.sort(np.random.default_rng(5).choice(SHAPE[0], 30, replace=False)).astype(np.int64)
INDICES = (ROWS[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()

Parts = list[tuple[int, int, float]]


def beside(seed: int, threads: int) -> Beside:
    """A draw."""
    return Beside(Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), threads), seed)


def summed(
    parts: Parts, *, dtype: str = "bfloat16", rounded: str | None = None, noise: float = 0.0
) -> np.ndarray:
    """Stored values: each draw rounded on its own first, if at all, then added up and rounded once."""
    random = np.random.default_rng(2)
    total = noise * 0.02 * random.standard_normal(INDICES.size)
    for seed, threads, weight in parts:
        one = beside(seed, threads)
        drawn = one.hypothesis.values(one.seed, INDICES)
        total = total + weight * np.asarray(round_to(drawn, rounded) if rounded else drawn, np.float64)
    return np.asarray(round_to(total, dtype), np.float64)


def case_of(values: np.ndarray, draws: list[tuple[int, int]], dtype: str = "bfloat16") -> Case:
    """The case of the first draw beside the others."""
    unit = INDICES // SHAPE[1]
    elements = Elements(INDICES, values, unit)
    hidden = np.repeat(held_out("w", ROWS), SHAPE[1])
    all_of_them = [beside(*each) for each in draws]
    return Case(
        tensor="w", shape=SHAPE, dtype=dtype, axis="row", scale=float(values.std()),
        hypothesis=all_of_them[0].hypothesis, seed=all_of_them[0].seed,
        selection=elements.keep(~hidden), holdout=elements.keep(hidden),
        trials=10**7, holdout_trials=1, layouts=table_threads(), beside=tuple(all_of_them[1:]),
    )  # fmt: skip


def judged(parts: Parts, **how: object) -> list[Judgement]:
    """Each draw of a merge judged beside the others, or the first ones only."""
    first = int(str(how.pop("first", len(parts))))
    values = summed(parts, **how)  # type: ignore[arg-type]
    draws = [(seed, threads) for seed, threads, _ in parts]
    dtype = str(how.get("dtype", "bfloat16"))
    return [
        weigh(case_of(values, [draws[number], *draws[:number], *draws[number + 1 :]], dtype))
        for number in range(first)
    ]


@pytest.mark.parametrize(
    ("dtype", "rounded"),
    [("bfloat16", "bfloat16"), ("float32", None), ("float32", "bfloat16")],
)
def test_a_merge_is_a_match_of_each_of_its_draws(dtype: str, rounded: str | None) -> None:
    """Whatever was rounded on the way: each draw is found in what the other leaves, with its share."""
    found = judged([(42, H100, 0.7), (1234, B200, 0.3)], dtype=dtype, rounded=rounded)

    for one, share in zip(found, (0.7, 0.3), strict=True):
        assert one.combination is not None
        assert one.outcome == "match"
        assert one.fit.hypothesis.draw.parameters == (0.0, 0.02)
        interval = one.combination.share()
        assert interval.lo - 2e-4 <= share <= interval.hi + 2e-4
        assert interval.hi - interval.lo < 0.001
        assert one.selection.r is not None and one.selection.r > 0.999  # noqa: PT018
        assert one.holdout.log10_p_global is not None and one.holdout.log10_p_global < -100  # noqa: PT018
        assert one.survivors.tolist() == ROWS.tolist()
    assert found[0].combination is not None
    assert found[0].combination.rounded == (rounded if dtype == "float32" else None)
    assert found[0].layouts is not None and found[0].layouts.not_excluded == (H100,)  # noqa: PT018
    assert found[1].layouts is not None and found[1].layouts.not_excluded == (B200,)  # noqa: PT018


def test_launches_of_one_seed_add_up() -> None:
    """The same seed on two devices: both layouts are singled out."""
    found = judged([(42, H100, 0.6), (42, A100, 0.4)], dtype="float32")

    assert [one.outcome for one in found] == ["match", "match"]
    assert [one.fit.hypothesis.threads for one in found] == [H100, A100]


def test_three_draws_add_up() -> None:
    """A merge of three has three shares, which add up to one."""
    (found,) = judged([(42, H100, 0.5), (7, B200, 0.3), (1234, A100, 0.2)], first=1)

    assert found.outcome == "match"
    assert found.combination is not None
    shares = [found.combination.share(number).value for number in range(3)]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.001)


def test_two_of_three_draws_are_a_trace() -> None:
    """Where a third draw is missing, more than rounding is left: no merge is claimed."""
    values = summed([(42, H100, 0.4), (7, B200, 0.3), (1234, A100, 0.3)])
    found = weigh(case_of(values, [(42, H100), (7, B200)]))

    assert found.outcome == "weak-trace"
    assert any("no merge is claimed" in note for note in found.notes)


def test_noise_beside_a_draw_is_no_merge() -> None:
    """A second draw that is not there finds nothing in what the first leaves."""
    values = summed([(42, H100, 0.7)], noise=0.4)

    assert weigh(case_of(values, [(42, H100), (1234, B200)])).outcome == "weak-trace"
    assert weigh(case_of(values, [(1234, B200), (42, H100)])).outcome == "none"


@pytest.mark.parametrize("wrong", [(43, H100), (42, B200)], ids=["next seed", "other layout"])
def test_a_wrong_draw_is_nothing(wrong: tuple[int, int]) -> None:
    """The neighbouring seed, or the other layout, in place of a draw."""
    values = summed([(42, H100, 0.7), (1234, B200, 0.3)])
    found = weigh(case_of(values, [wrong, (1234, B200)]))

    assert found.outcome in ("none", "weak-trace")


def test_rows_of_two_launches_side_by_side_are_no_sum() -> None:
    """Rows on which two launches agree fit any sum of them, but say nothing for it."""
    own, other = summed([(42, H100, 1.0)]), summed([(42, B200, 1.0)])
    values = np.where((INDICES // SHAPE[1]) % 3 == 0, other, own)

    assert weigh(case_of(values, [(42, H100), (42, B200)])).outcome not in ("match", "seed-only")


def test_altered_rows_do_not_move_the_weights() -> None:
    """A third of the rows trained: the fit leaves them out, and they are no survivors."""
    values = summed([(42, H100, 0.7), (1234, B200, 0.3)], dtype="float32")
    touched = np.isin(INDICES // SHAPE[1], ROWS[::3])
    values = np.where(touched, 0.02 * np.random.default_rng(3).standard_normal(values.size), values)
    found = weigh(
        case_of(values.astype(np.float32).astype(np.float64), [(42, H100), (1234, B200)], "float32")
    )

    assert found.combination is not None
    assert found.outcome == "match"
    assert found.combination.share().value == pytest.approx(0.7, abs=1e-6)
    assert set(found.survivors) == set(ROWS) - set(ROWS[::3])


def test_what_a_merge_gives_can_be_asked_of_any_element() -> None:
    """The census asks of rows that the search never saw."""
    (found,) = judged([(42, H100, 0.7), (1234, B200, 0.3)], first=1)
    everything = found.case.everything

    assert given(found, everything).all()
    wrong = replace(everything, values=everything.values + 0.01)
    assert given(found, wrong).mean() < 0.05


def test_intervals_cover_the_truth() -> None:
    """In about 95 % of merges, rounded twice to bfloat16, the share lies in its interval."""
    inside = []
    for number in range(40):
        values = summed([(number, H100, 0.7), (1000 + number, B200, 0.3)], rounded="bfloat16")
        draws = (beside(number, H100), beside(1000 + number, B200))
        share = combine(draws, Elements(INDICES, values, INDICES // SHAPE[1]), "bfloat16").share()
        inside.append(share.lo <= 0.7 <= share.hi)

    assert np.mean(inside) >= 0.85


def test_the_narrowest_dtype_is_the_values_own() -> None:
    """Bfloat16 values in a float32 file are bfloat16 values."""
    values = np.array([0.5, 1.0 + 2.0**-7, 3.0])

    assert narrowest(values, "float32") == "bfloat16"
    assert narrowest(values + 2.0**-9, "float32") == "float16"
    assert narrowest(values + 2.0**-20, "float32") == "float32"
    assert narrowest(values, "bfloat16") == "bfloat16"
