"""Decoys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from birthmark.evidence.case import Case
from birthmark.evidence.decoys import NEAR, decoy_seeds, score_decoys
from birthmark.evidence.elements import Elements
from birthmark.evidence.score import score
from birthmark.recipes.sharding import Sharding

MakeCase = Callable[..., Case]


def test_decoys_of_a_true_seed_lie_far_below_it(make_case: MakeCase) -> None:
    """The background is standard normal, and the candidate stands out."""
    case = make_case()

    found = score_decoys(case.hypothesis, case.seed, case.holdout)

    assert found.count == sum(found.counts) == 4096
    assert found.mean == pytest.approx(0.0, abs=0.1)
    assert found.std == pytest.approx(1.0, abs=0.05)
    assert found.max_sigma is not None
    assert 2.5 < found.max_sigma < 6.0
    assert found.candidate_sigma == pytest.approx(32.0, abs=0.1)


def test_decoys_are_scored_exactly_like_a_candidate(make_case: MakeCase) -> None:
    """A single decoy's score is what `score` gives it, shards with seeds of their own included."""
    for sharding in (Sharding(), Sharding(4, "megatron")):
        case = make_case(threads=8192, sharding=sharding)
        some = case.holdout.thinned(1024)

        found = score_decoys(case.hypothesis, case.seed, case.holdout, count=1)

        seed = int(decoy_seeds(1, case.seed)[0])
        assert found.max_sigma == pytest.approx(
            score(some.values, case.hypothesis.standard(seed, some.indices)).sigma
        )


def test_decoys_of_a_trace_use_more_elements(make_case: MakeCase) -> None:
    """A correlation of a tenth needs more elements to rise above its decoys, and gets them."""
    rng = np.random.default_rng(0)
    case = make_case(
        rows=np.arange(3000, 3200), change=lambda values, _: values + 0.2 * rng.normal(size=values.size)
    )

    found = score_decoys(case.hypothesis, case.seed, case.holdout)

    assert found.n == 4096
    assert found.candidate_sigma is not None
    assert found.max_sigma is not None
    assert found.candidate_sigma > found.max_sigma


def test_decoy_seeds_avoid_the_candidate_and_repeat_themselves() -> None:
    """The list is fixed, and a candidate on it is left out with its neighbours."""
    first = decoy_seeds(100, 42)
    candidate = int(first[10])

    without = decoy_seeds(100, candidate + 1)

    assert np.array_equal(first, decoy_seeds(100, 42))
    assert candidate not in without
    assert all(abs(int(seed) - candidate - 1) > NEAR for seed in without)


def test_decoys_of_constant_values_are_none(make_case: MakeCase) -> None:
    """Where no correlation exists there are no decoys, and no NaN."""
    case = make_case()
    constant = replace(
        case, holdout=Elements(case.holdout.indices, np.ones(len(case.holdout)), case.holdout.unit)
    )

    found = score_decoys(constant.hypothesis, constant.seed, constant.holdout)

    assert (found.count, found.max_sigma, found.mean, found.candidate_sigma) == (0, None, None, None)


def test_a_false_candidate_is_one_of_its_decoys(make_case: MakeCase) -> None:
    """Decoys that score at least as high are counted, and give the candidate its measured p."""
    case = make_case()
    found = score_decoys(case.hypothesis, 1_000_003, case.holdout, count=255)
    true = score_decoys(case.hypothesis, case.seed, case.holdout, count=255)

    assert 0 < found.reached < 255
    assert found.log10_p_measured == pytest.approx(np.log10((1 + found.reached) / 256))
    assert true.reached == 0
    assert true.log10_p_measured == pytest.approx(np.log10(1 / 256))
    assert true.statement is not None
    assert "Gaussian tail" in true.statement
