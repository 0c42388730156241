"""Truncated normals behind values that look normal: intervals, order, answers, and what is not made up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.truncated import symmetric
from birthmark.search.engine import search
from birthmark.search.families import (
    LARGEST_TRUNCATED,
    NORMAL,
    REDRAWN_NORMAL,
    TRUNCATED_NORMAL,
    altered_families,
    looks_altered,
    looks_cut,
    other_families,
)
from birthmark.search.offsets import search_offsets
from birthmark.search.options import Options
from birthmark.search.plan import by_promise, hidden_plans, make_plan
from birthmark.search.stages import all_stages

SEED = 3_123_456_789
THREADS = 270_336
Make = Callable[..., Any]


def near(seed: int = SEED, half: int = 20_000, **more: Any) -> Options:
    """The seeds around one, without the dictionary."""
    return Options(seeds=(seed - half, seed + half), dictionary=False, ways=(1,), **more)


def cut(
    planted: Make,
    sigmas: float,
    drawn: str = "float32",
    version: str = "2.1+",
    *,
    offset: int = 0,
    stored: str = "bfloat16",
    **more: Any,
) -> Any:
    """A selection of a truncated draw, which the survey takes for normal."""
    made = planted(stored=stored, **more)
    draw = Draw("truncated-normal", symmetric(0.02, sigmas), made.shape, drawn, version)
    drawn_values = Hypothesis(draw, THREADS, offset=offset).values(SEED, made.indices())
    values: NDArray[np.float64] = round_to(drawn_values, stored).astype(np.float64)
    # Rows with a value at a far bound are no survivors to any survey.
    row = made.indices() // made.shape[1]
    wild = np.isin(row, row[np.abs(values) > 0.2])
    values[wild] = np.random.default_rng(3).normal(0, 0.02, int(wild.sum()))
    return made.selection(np.asarray(round_to(values, stored), np.float64))


def answers(outcome: Any) -> list[tuple[int, tuple[int, ...], str]]:
    return [(one.seed, one.not_excluded, one.hypothesis.draw.distribution) for one in outcome.candidates]


@pytest.mark.parametrize("stored", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("own_dtype", [True, False])
@pytest.mark.parametrize("sigmas", [2.0, 2.5, 3.0, 4.0, math.inf])
def test_intervals_hold_the_uniform(planted: Make, stored: str, own_dtype: bool, sigmas: float) -> None:
    """Whatever the cut-off, the dtype at draw time and the version, for every value that may be asked."""
    made = planted(stored=stored, rows=range(0, 400, 2))
    for version in ("2.1+", "2.1+cuda13"):
        draw = Draw(
            "truncated-normal",
            symmetric(0.02, sigmas),
            made.shape,
            stored if own_dtype else "float32",
            version,
        )
        hypothesis = Hypothesis(draw, THREADS)
        indices = made.indices()
        values = round_to(hypothesis.values(7, indices), stored).astype(np.float64)
        tame = np.abs(values) < 0.2
        selection = made.selection(np.where(tame, values, 0.0))
        low, high = TRUNCATED_NORMAL.raw_interval(selection, stored)
        raw = hypothesis.raw(7, indices)
        asked = tame & (np.abs(values) < LARGEST_TRUNCATED * selection.scale)
        assert np.all((low <= raw)[asked] & (raw <= high)[asked])
        assert np.median((high - low)[asked]) < 0.05
        other = hypothesis.raw(8, indices)
        assert np.mean((low <= other)[asked] & (other <= high)[asked]) < 0.05


@pytest.mark.parametrize("sigmas", [2.0, 3.0, math.inf])
@pytest.mark.parametrize(
    ("drawn", "stored"), [("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float32", "float32")]
)
def test_truncated_draws_are_found(planted: Make, sigmas: float, drawn: str, stored: str) -> None:
    """With seed and layout, whatever was cut off; the normal search alone finds nothing."""
    selection = cut(planted, sigmas, drawn, stored=stored)
    outcome = search(selection, near())
    assert answers(outcome) == [(SEED, (THREADS,), "truncated-normal")]
    assert outcome.searched.stages[-1].name.startswith("truncated ")
    assert search(selection, near(half=2000, truncated=False)).candidates == ()


def test_high_rows_find_it_over_the_table(planted: Make) -> None:
    """Where every layout has blocks of its own."""
    outcome = search(cut(planted, 3.0, rows=range(8150, 8190)), near(half=3000))
    assert (SEED, (THREADS,), "truncated-normal") in answers(outcome)
    assert outcome.searched.stages[-1].name == "truncated table"


@pytest.mark.parametrize(("sigmas", "stage"), [(2.0, "redrawn layout-free"), (3.0, "layout-free")])
def test_redrawn_normals_are_found(planted: Make, sigmas: float, stage: str) -> None:
    """Torch 2.12's draws are normals; those cut off at 2 sigma are found with the draw's own std."""
    outcome = search(cut(planted, sigmas, version="2.12+"), near(half=5000))
    assert answers(outcome) == [(SEED, (THREADS,), "normal")]
    assert outcome.searched.stages[-1].name == stage


class TestNegatives:
    def test_the_neighbouring_seeds_are_searched_in_vain(self, planted: Make) -> None:
        """Complete, with trials for every cut-off, and said in words."""
        outcome = search(cut(planted, 3.0), near(SEED + 100_000))
        plain = search(cut(planted, 3.0), near(SEED + 100_000, truncated=False))
        assert outcome.candidates == ()
        assert outcome.searched.complete
        assert outcome.searched.layouts == plain.searched.layouts
        assert outcome.searched.trials >= 4 * plain.searched.trials
        assert any(
            "truncated normal" in text and "every seed" in text for text in outcome.searched.hypotheses
        )
        assert not any("truncated" in text for text in plain.searched.hypotheses)

    def test_noise_has_no_seed(self, planted: Make) -> None:
        """Truncated values of another generator, against the whole dictionary."""
        made = planted()
        noise = np.random.default_rng(1).normal(0, 0.02, 4 * len(made.indices()))
        noise = noise[np.abs(noise) < 0.04][: len(made.indices())]
        selection = made.selection(np.asarray(round_to(noise, "bfloat16"), np.float64))
        outcome = search(selection, Options(seeds=(0, 0), ways=(1,)))
        assert outcome.candidates == ()
        assert outcome.searched.complete
        told = [text for text in outcome.searched.hypotheses if "dictionary's seeds only" in text]
        assert len(told) == 2

    def test_a_plain_normal_is_not_taken_for_a_truncated_one(self, planted: Make) -> None:
        """It is found first, and no truncated stage follows."""
        outcome = search(planted(seed=SEED).selection(), near())
        assert [one.hypothesis.draw.distribution for one in outcome.candidates] == ["normal"]
        assert not any("truncated" in stage.name for stage in outcome.searched.stages)

    def test_uniform_values_have_no_truncated_stage(self, planted: Make) -> None:
        """Nothing bell-shaped, nothing cut off."""
        assert other_families(planted(distribution="uniform").selection()) == ()


class TestOrder:
    def test_the_dictionary_of_all_goes_before_every_seed(self, planted: Make) -> None:
        """And the plain normal first in either, where the values do not end early."""
        selection = planted(rows=range(8100, 8190)).selection()
        found = all_stages(make_plan(selection, Options(seeds=(0, 999), ways=(1,))))
        assert [stage.title for stage in found] == [
            "dictionary",
            "wide dictionary",
            "truncated dictionary",
            "truncated wide dictionary",
            "table",
            "truncated table",
        ]

    def test_values_that_end_early_are_tried_as_truncated_first(self, planted: Make) -> None:
        """A cut-off at 2 sigma shows in a few thousand values, and a plain normal's tail does too."""
        selection = cut(planted, 2.0)
        assert looks_cut(selection, 2.0)
        assert not looks_cut(planted().selection(), 2.0)
        plan = make_plan(selection, near())
        hidden = hidden_plans(plan)
        assert plan.family == NORMAL
        assert [each.family for each in hidden] == [TRUNCATED_NORMAL, REDRAWN_NORMAL]
        assert by_promise(plan, hidden) == (*hidden, plan)
        plain = make_plan(planted().selection(), near())
        assert by_promise(plain, hidden) == (plain, *hidden)

    def test_few_values_show_nothing(self, planted: Make) -> None:
        """A hundred values without one beyond 2 sigma are no proof."""
        made = planted(shape=(64, 10), rows=range(10))
        assert not looks_cut(made.selection(np.linspace(-0.03, 0.03, 100)), 2.0)


def test_offsets_of_truncated_tensors(planted: Make) -> None:
    """A later tensor of a known seed is found as what it is."""
    outcome = search_offsets(cut(planted, 3.0, offset=40), SEED, (221_184, THREADS), Options(ways=(1,)))
    (candidate,) = outcome.candidates
    assert (candidate.hypothesis.offset, candidate.not_excluded) == (40, (THREADS,))
    assert candidate.hypothesis.draw.distribution == "truncated-normal"
    assert search_offsets(cut(planted, 3.0, offset=40), SEED + 1, (221_184, THREADS)).candidates == ()


class TestAltered:
    """Survivors of which a good part of the elements was altered."""

    def test_the_draws_scale_is_supposed_where_the_values_are_wider(self, planted: Make) -> None:
        """A third of the elements makes 0.023 of 0.02; the usual scale a little below is tried."""
        selection = planted(altered=0.35).selection()
        assert selection.scale > 0.022
        assert [family.scale for family in altered_families(selection)] == [0.02]
        assert looks_altered(selection)
        low, high = altered_families(selection)[0].raw_interval(selection, "bfloat16")
        made = planted(altered=0.35)
        raw = np.asarray(made.hypothesis().standard(made.seed, made.indices()), np.float64)
        held = (raw >= low) & (raw <= high)
        assert 0.6 < held.mean() < 0.75

    def test_nothing_is_supposed_of_values_as_they_were_drawn(self, planted: Make) -> None:
        """Neither of the usual scale, nor of an unusual one, nor of uniforms."""
        assert altered_families(planted().selection()) == ()
        assert not looks_altered(planted().selection())
        assert altered_families(planted(distribution="uniform").selection()) == ()
        selection = planted().selection()
        assert altered_families(replace(selection, scale=0.0137)) == ()

    @pytest.mark.parametrize("stored", ["bfloat16", "float32"])
    def test_their_seed_is_found(self, planted: Make, stored: str) -> None:
        """With 35 % of the elements altered, where the intervals of their own scale fail."""
        selection = planted(altered=0.35, stored=stored).selection()
        outcome = search(selection, near(777, 700))
        assert [one.seed for one in outcome.candidates] == [777]
        assert search(selection, near(2_777, 700)).candidates == ()

    def test_many_seeds_are_tried_with_it_only_where_the_values_look_it(self, planted: Make) -> None:
        """It costs more than the plain search, and a wide range of seeds takes minutes already."""
        heavy = planted(altered=0.35).selection()
        light = replace(heavy, values=planted().values() * heavy.scale / 0.02)
        for selection, expected in ((heavy, True), (light, False)):
            plan = make_plan(selection, Options(ways=(1,)))
            order = by_promise(plan, hidden_plans(plan))
            assert any(each.family.scale is not None for each in order) is expected
            plan = make_plan(selection, near())
            order = by_promise(plan, hidden_plans(plan))
            assert any(each.family.scale is not None for each in order)
