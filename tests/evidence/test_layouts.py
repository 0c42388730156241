"""Which layouts the survivors tell apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from birthmark.evidence.case import Case
from birthmark.evidence.fit import Fit, fit, unfitted
from birthmark.evidence.layouts import compare_layouts, differing, next_best
from birthmark.hypothesis import Draw, Hypothesis

MakeCase = Callable[..., Case]


def _fitted(case: Case) -> Fit:
    found = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert found is not None
    return found


def test_survivors_beyond_one_wave_single_out_the_layout(make_case: MakeCase) -> None:
    """Rows all over a large tensor leave only the true G, and not its neighbour either."""
    case = make_case()

    test = compare_layouts(_fitted(case), case.seed, case.everything, case.dtype, case.layouts, exact=True)

    assert test.separated
    assert test.not_excluded == (270336,)
    assert test.at_least is None


def test_survivors_below_one_wave_leave_every_larger_layout(make_case: MakeCase) -> None:
    """Rows up to element 180,000 exclude the smaller G's and none of the larger ones."""
    case = make_case(rows=np.arange(1200, 1250))

    test = compare_layouts(_fitted(case), case.seed, case.everything, case.dtype, case.layouts, exact=True)

    last = int(case.everything.indices[-1])
    assert not test.separated
    assert test.not_excluded == tuple(threads for threads in case.layouts if threads > last)
    assert test.at_least == -(-(last + 1) // 256) * 256


def test_a_tensor_below_one_wave_leaves_every_layout(make_case: MakeCase) -> None:
    """n <= G for every G of the table: nothing is excluded."""
    case = make_case(shape=(128, 128), rows=np.arange(40))

    test = compare_layouts(_fitted(case), case.seed, case.everything, case.dtype, case.layouts, exact=True)

    assert not test.separated
    assert test.not_excluded == case.layouts


def test_two_telling_elements_do_not_exclude_a_layout(make_case: MakeCase) -> None:
    """A layout is not excluded on the word of one or two values, which may have been altered."""
    case = make_case(shape=(1024, 40), rows=np.arange(1024), threads=40960 - 256)
    edge = case.everything
    few = edge.keep(edge.indices < 40960 - 256 + 2)

    test = compare_layouts(_fitted(case), case.seed, few, case.dtype, (40960,), exact=True)

    assert 40960 in test.not_excluded


def test_a_trace_singles_out_the_layout_by_its_correlation(make_case: MakeCase) -> None:
    """Where no value is unchanged the correlation of telling elements decides; a wrong seed decides not."""
    rng = np.random.default_rng(0)
    case = make_case(
        rows=np.arange(2000, 2400), change=lambda values, _: values + 0.05 * rng.normal(size=values.size)
    )
    trace = unfitted(case.hypothesis, case.scale, len(case.selection))

    found = compare_layouts(trace, case.seed, case.everything, case.dtype, case.layouts, exact=False)
    wrong = compare_layouts(trace, case.seed + 1, case.everything, case.dtype, case.layouts, exact=False)

    assert found.separated
    assert not wrong.separated


def test_next_best_layout_fails_where_it_differs(make_case: MakeCase) -> None:
    """The runner-up scores on the elements that it shares with the true layout and nowhere else."""
    case = make_case()

    following = next_best(_fitted(case), case.seed, case.holdout, case.layouts)

    assert following is not None
    assert following.threads != 270336
    assert following.score.r is not None
    assert following.differing.r is not None
    assert following.score.r < 0.9
    assert abs(following.differing.r) < 0.15
    assert following.score.trials > 40


def test_there_is_no_next_layout_where_all_predict_alike(make_case: MakeCase) -> None:
    """Below one wave there is no other layout to score."""
    case = make_case(shape=(128, 128), rows=np.arange(40))

    assert next_best(_fitted(case), case.seed, case.holdout, case.layouts) is None


@pytest.mark.parametrize("threads", [512, 1024])
def test_differing_is_what_predicts_other_values(threads: int) -> None:
    """Elements that two layouts place differently have different values, the others equal ones."""
    one = Hypothesis(Draw("normal", (0.0, 1.0), (64, 64)), 768)
    other = Hypothesis(Draw("normal", (0.0, 1.0), (64, 64)), threads)
    indices = np.arange(4096)

    places = differing(one, other, indices)

    assert np.array_equal(places, one.standard(9, indices) != other.standard(9, indices))


@pytest.mark.parametrize(("exact", "words"), [(True, "at least 3 more"), (False, "at least 6 sigma")])
def test_the_level_of_exclusion_is_said(make_case: MakeCase, exact: bool, words: str) -> None:
    """What excludes a layout, and among how many, for exact values and for traces."""
    case = make_case()
    test = compare_layouts(_fitted(case), case.seed, case.everything, case.dtype, case.layouts, exact=exact)

    assert words in test.level
    assert f"of {len(case.layouts)} compared" in test.level
    assert "cannot be excluded" in test.level
