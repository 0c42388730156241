"""Linear merges: the draws that add up to survivors, and what must not be taken for one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from birthmark.errors import NothingToSearch
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.search.merge_scores import LEAST_R, promising
from birthmark.search.merges import merged_draws
from birthmark.search.options import Options
from birthmark.survivors.split import Selection

SHAPE = (4096, 128)
H100, B200, A100 = 270336, 303104, 221184
SEEDS = np.arange(2000, dtype=np.uint64)
ROWS = np.sort(np.random.default_rng(1).choice(SHAPE[0], 40, replace=False)).astype(np.int64)
#: Three layouts, so that a search is quick.
THREE = Options(layouts=(H100, B200, A100), workers=1)


def survivors(
    parts: list[tuple[int, int, float]],
    *,
    noise: float = 0.0,
    dtype: str = "bfloat16",
    shuffled: bool = False,
    wrong: int = 0,
) -> Selection:
    """Survivors that are a weighted sum of draws (seed, G, weight) and of noise; `wrong` rows are nothing."""
    random = np.random.default_rng(7)
    indices = (ROWS[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
    values = noise * 0.02 * random.standard_normal(indices.size)
    for seed, threads, weight in parts:
        drawn = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), threads).values(seed, indices)
        values = values + weight * drawn.astype(np.float64)
    rows = values.reshape(len(ROWS), -1)
    if shuffled:
        rows = rows[random.permutation(len(ROWS))]
    rows[:wrong] = 0.02 * random.standard_normal((wrong, SHAPE[1]))
    stored = round_to(rows.ravel(), dtype).astype(np.float64)
    return Selection(
        "w", SHAPE, dtype, "row", "normal", float(stored.std()), 0.01,
        indices, stored, indices // SHAPE[1], np.ones(indices.size),
    )  # fmt: skip


def found(selection: Selection, options: Options = THREE) -> list[tuple[int, int]]:
    """Seed and G of each draw that comes out of a search."""
    return [
        (one.seed, one.hypothesis.threads) for one in merged_draws(selection, options, seeds=SEEDS).candidates
    ]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.95])
def test_two_draws_are_found_the_larger_one_first(share: float, dtype: str) -> None:
    """Other seeds and layouts, at any share; the sum is explained, so that no third draw is sought."""
    selection = survivors([(42, H100, share), (1234, B200, 1 - share)], dtype=dtype)
    outcome = merged_draws(selection, THREE, seeds=SEEDS)

    assert {(one.seed, one.hypothesis.threads) for one in outcome.candidates} == {(42, H100), (1234, B200)}
    assert outcome.candidates[1].r > 0.99
    assert outcome.searched.trials == 2 * len(SEEDS) * 3
    assert outcome.searched.stages[0].trials == outcome.searched.trials


def test_two_launches_of_one_seed_are_found() -> None:
    """The same seed on two devices: the draws agree in the first wave and differ beyond."""
    assert set(found(survivors([(42, H100, 0.6), (42, A100, 0.4)]))) == {(42, H100), (42, A100)}


def test_three_draws_are_found() -> None:
    """A merge of three has three draws."""
    parts = [(42, H100, 1 / 3), (7, B200, 1 / 3), (1234, A100, 1 / 3)]

    assert set(found(survivors(parts))) == {(42, H100), (7, B200), (1234, A100)}


def test_one_draw_and_noise_is_one_draw() -> None:
    """Noise beside a draw is no second one."""
    assert found(survivors([(42, H100, 0.7)], noise=0.4)) == [(42, H100)]


def parts_of(parts: list[tuple[int, int, float]]) -> list[tuple[int, int]]:
    """Parts without their weights."""
    return [(seed, threads) for seed, threads, _ in parts]


def test_a_few_wrong_rows_do_no_harm() -> None:
    """A row that is no survivor, among the lowest, hides nothing."""
    parts = [(42, H100, 0.8), (1234, B200, 0.2)]

    assert found(survivors(parts, wrong=1))[:2] == parts_of(parts)


@pytest.mark.parametrize(
    "selection",
    [
        survivors([], noise=1.0),
        survivors([(42, H100, 0.7), (1234, B200, 0.3)], shuffled=True),
        survivors([(2042, H100, 0.7), (2234, B200, 0.3)]),
        survivors([(42, 262144, 0.7), (1234, 196608, 0.3)]),
    ],
    ids=["noise", "shuffled rows", "seeds that are not tried", "layouts that are not tried"],
)
def test_nothing_is_found_where_nothing_is(selection: Selection) -> None:
    """Noise, shuffled rows, and draws outside of what is tried (beyond their first wave) give nothing."""
    beyond = selection.indices >= 303104
    far = replace(
        selection,
        indices=selection.indices[beyond],
        values=selection.values[beyond],
        unit=selection.unit[beyond],
        probability=selection.probability[beyond],
    )

    assert found(far) == []


def test_promising_seeds_correlate() -> None:
    """Of 2,000 seeds the true one is kept, with hardly any other."""
    selection = survivors([(42, H100, LEAST_R), (3000, B200, 0.83)])
    draw = Draw("normal", (0.0, 0.02), SHAPE)
    best = promising(selection, SEEDS, [Hypothesis(draw, H100)], 1, 8)

    assert best[0] == 42
    assert len(best) <= 2


def test_too_little_is_refused() -> None:
    """Uniform survivors, and too few of them, are not searched, and the reason is given."""
    selection = survivors([(42, H100, 0.7), (1234, B200, 0.3)])
    few = replace(
        selection, indices=selection.indices[:100], values=selection.values[:100], unit=selection.unit[:100]
    )

    with pytest.raises(NothingToSearch, match="normal"):
        merged_draws(replace(selection, distribution="uniform"), THREE, seeds=SEEDS)
    with pytest.raises(NothingToSearch, match="128 are needed"):
        merged_draws(few, THREE, seeds=SEEDS)
