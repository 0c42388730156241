"""Judging a case: each outcome with its negative twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements
from birthmark.evidence.weigh import weigh
from birthmark.recipes.sharding import Sharding

MakeCase = Callable[..., Case]


@pytest.mark.parametrize("stored", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_a_true_candidate_is_a_match(make_case: MakeCase, stored: str, distribution: str) -> None:
    """Every value equals its prediction, and both scores are as high as they can be."""
    judgement = weigh(make_case(stored=stored, distribution=distribution))

    assert judgement.outcome == "match"
    assert judgement.exact.equal == judgement.exact.of == 40 * 144
    assert judgement.survivors.size == 40
    assert judgement.unexplained.size == 0
    assert judgement.layouts is not None
    assert judgement.layouts.not_excluded == (270336,)
    assert judgement.holdout.r == pytest.approx(1.0, abs=1e-4)
    assert judgement.selection.trials == 10**11


@pytest.mark.parametrize(
    "searched",
    [
        {"seed": 43},
        {"seed": 2**32 + 42},
        {"threads": 233472, "offset": 4},
        {"offset": 4},
        {"sharding": Sharding(2, "megatron")},
    ],
)
def test_a_false_candidate_is_nothing(make_case: MakeCase, searched: dict[str, object]) -> None:
    """Another seed, offset or sharding is no finding."""
    shape = (8192, 144)
    rows = np.sort(np.random.default_rng(1).choice(np.arange(4096, 8192), 40, replace=False))

    judgement = weigh(make_case(shape=shape, rows=rows, searched=searched))

    assert judgement.outcome == "none"
    assert judgement.survivors.size == 0


def test_a_neighbouring_layout_is_nothing_beyond_its_wave(make_case: MakeCase) -> None:
    """With rows beyond one wave only, the next G is as false as a false seed."""
    case = make_case(rows=np.arange(6000, 6040), searched={"threads": 270336 + 256})

    assert weigh(case).outcome == "none"


def test_shuffled_values_are_nothing(make_case: MakeCase) -> None:
    """The right values at the wrong places are no finding."""
    case = make_case()
    rng = np.random.default_rng(0)
    shuffled = replace(
        case,
        selection=replace(case.selection, values=rng.permutation(case.selection.values)),
        holdout=replace(case.holdout, values=rng.permutation(case.holdout.values)),
    )

    assert weigh(shuffled).outcome == "none"


def test_noise_is_nothing(make_case: MakeCase) -> None:
    """Normal values of another generator are no finding."""
    rng = np.random.default_rng(42)

    assert weigh(make_case(change=lambda values, _: 0.02 * rng.normal(size=values.size))).outcome == "none"


def test_a_selection_that_the_holdout_does_not_confirm_is_nothing(make_case: MakeCase) -> None:
    """A fit to the selection alone is what a hold-out is there to find out."""
    case = make_case()
    rng = np.random.default_rng(0)
    overfitted = replace(
        case, holdout=replace(case.holdout, values=0.02 * rng.normal(size=len(case.holdout)))
    )

    assert weigh(overfitted).outcome == "none"


def test_survivors_below_one_wave_are_seed_only(make_case: MakeCase) -> None:
    """The seed is certain, the layout is open."""
    judgement = weigh(make_case(rows=np.arange(20)))

    assert judgement.outcome == "seed-only"
    assert judgement.layouts is not None
    assert judgement.layouts.at_least == -(-20 * 144 // 256) * 256
    assert any("cannot separate the layouts" in note for note in judgement.notes)


def test_a_wrong_sampler_is_a_weak_trace_however_well_it_correlates(make_case: MakeCase) -> None:
    """A truncation at two sigma correlates at 0.98 and more, and is still no match."""

    def truncated(values: np.ndarray, _: np.ndarray) -> np.ndarray:
        low, high = ndtr(-2.0), ndtr(2.0)
        return 0.02 * ndtri(low + (high - low) * ndtr(values / 0.02))

    judgement = weigh(make_case(change=truncated))

    assert judgement.holdout.r is not None
    assert judgement.holdout.r > 0.98
    assert judgement.outcome == "weak-trace"
    assert judgement.survivors.size == 0


def test_trained_values_are_a_weak_trace(make_case: MakeCase) -> None:
    """A correlation of 0.2 over many values is significant, and claims no survivors."""
    rng = np.random.default_rng(0)
    case = make_case(
        rows=np.arange(3000, 3400), change=lambda values, _: values + 0.1 * rng.normal(size=values.size)
    )

    judgement = weigh(case)

    assert judgement.outcome == "weak-trace"
    assert judgement.survivors.size == 0
    assert judgement.fit.factor is None


def test_rows_touched_once_are_not_survivors(make_case: MakeCase) -> None:
    """Impostors that correlate at 0.95 are scored and counted, but not called survivors."""
    rng = np.random.default_rng(0)

    def touched(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
        ids = np.unique(unit)
        moved = np.isin(unit, ids[::4])
        return values + np.where(moved, 0.006 * rng.normal(size=values.size), 0.0)

    judgement = weigh(make_case(change=touched))

    assert judgement.outcome == "match"
    assert judgement.survivors.size == 30
    assert judgement.unexplained.size == 10
    assert judgement.exact.of == 40 * 144


def test_altered_elements_are_listed_apart(make_case: MakeCase) -> None:
    """Three per cent of altered elements leave a match, with the altered rows named."""
    rng = np.random.default_rng(0)

    def altered(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
        hit = (rng.random(values.size) < 0.03) & np.isin(unit, np.unique(unit)[:20])
        return values + np.where(hit, 0.02, 0.0)

    judgement = weigh(make_case(change=altered))

    assert judgement.outcome == "match"
    assert judgement.survivors.size == 40
    assert 15 <= int(judgement.units.altered.sum()) <= 20
    assert judgement.units.altered_elements == judgement.exact.of - judgement.exact.equal


def test_decay_in_rounded_steps_is_a_match_by_its_near_misses(make_case: MakeCase) -> None:
    """Two hundred float32 multiplications forbid equality; the values are explained all the same."""

    def decayed(values: np.ndarray, _: np.ndarray) -> np.ndarray:
        result = values.astype(np.float32)
        for _step in range(200):
            result = result * np.float32(1 - 1e-3)
        return result

    judgement = weigh(make_case(stored="float32", change=decayed))

    assert judgement.outcome == "match"
    assert judgement.survivors.size == 40
    assert judgement.exact.equal < judgement.exact.of
    assert judgement.exact.within_ulp[3] > judgement.exact.equal
    assert judgement.fit.factor == pytest.approx((1 - 1e-3) ** 200, rel=1e-4)


def test_an_unknown_sine_unit_is_arithmetic_not_training(make_case: MakeCase) -> None:
    """Deviations of a millionth of sigma in float32 leave a match, and the notes say what they are."""
    rng = np.random.default_rng(0)
    case = make_case(
        stored="float32", change=lambda values, _: values + 0.02 * 4e-7 * rng.normal(size=values.size)
    )

    judgement = weigh(case)

    assert judgement.outcome == "match"
    assert judgement.exact.equal < judgement.exact.of / 2
    assert any("not training" in note for note in judgement.notes)


def test_a_case_without_a_holdout_rests_on_its_selection(make_case: MakeCase) -> None:
    """No hold-out gives a reason, not a crash; the selection alone must then be very rare."""
    case = make_case()
    nothing = Elements(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))

    judgement = weigh(replace(case, holdout=nothing))

    assert judgement.holdout.reason is not None
    assert judgement.outcome == "match"
    assert any("hold-out" in note for note in judgement.notes)


def test_constant_values_are_nothing(make_case: MakeCase) -> None:
    """A constant tensor gives reasons, never NaN."""
    judgement = weigh(make_case(change=lambda values, _: np.full(values.size, 0.02)))

    assert judgement.outcome == "none"
    assert judgement.selection.r is None


def test_few_elements_are_too_few(make_case: MakeCase) -> None:
    """Ten true values cannot outweigh 10^11 trials, and nothing is claimed."""
    case = make_case()

    judgement = weigh(replace(case, selection=case.selection.thinned(10), holdout=case.holdout.thinned(10)))

    assert judgement.outcome == "none"


def test_weighing_twice_gives_the_same_numbers(make_case: MakeCase) -> None:
    """Nothing in a judgement is left to chance."""
    case = make_case(stored="float32")
    first, second = weigh(case), weigh(case)

    assert first.selection == second.selection
    assert first.decoys == second.decoys
    assert first.notes == second.notes


def test_shards_have_seeds_of_their_own(make_case: MakeCase) -> None:
    """Each shard of a vocabulary-parallel tensor is a case with the next seed."""
    case = make_case(seed=3952, threads=221184, sharding=Sharding(2, "megatron"))

    assert case.ranks() == (0, 1)
    parts = [case.of_rank(rank) for rank in case.ranks()]
    assert [part.seed_of_rank for part in parts] == [3952, 3953]
    assert sum(len(part.everything) for part in parts) == len(case.everything)
    assert [weigh(part).outcome for part in parts] == ["match", "match"]


def test_unsharded_cases_have_no_ranks(make_case: MakeCase) -> None:
    """One seed serves the whole tensor."""
    assert make_case().ranks() == ()
