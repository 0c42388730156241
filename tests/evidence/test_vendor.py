"""What counts of last bits are worth, on simulated vendors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from birthmark.evidence.arithmetic import compare_arithmetics
from birthmark.evidence.case import Case
from birthmark.evidence.fit import Fit, fit
from birthmark.evidence.plain_float64 import plain_normals
from birthmark.evidence.vendor import (
    ENOUGH_STAND_IN,
    TELLING_BFLOAT16,
    VendorTest,
    against_amd,
    against_float64,
    imitation,
    statement,
)

MakeCase = Callable[..., Case]

#: What a simulated AMD agrees with: NVIDIA, the stand-ins, neither.
SIMULATED = (0.3, 0.6, 0.1)


def vendor_of(case: Case) -> VendorTest:
    """The vendor test of a case, at the fit that the product would use."""
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert isinstance(chosen, Fit)
    found = compare_arithmetics(chosen, case.seed, case.everything, case.dtype)
    assert found is not None
    return found.vendor


@pytest.mark.parametrize(
    ("stored", "rows"), [("float32", range(4000, 4030)), ("bfloat16", range(1000, 1700))]
)
@pytest.mark.parametrize(("arithmetic", "threads"), [("nvidia-volta+", 270336), ("amd", 622592)])
def test_draws_of_either_vendor_are_told_apart(
    make_case: MakeCase, arithmetic: str, threads: int, stored: str, rows: range
) -> None:
    """Enough values give a ratio above 100 for the vendor that drew them, in float32 and in bfloat16."""
    case = make_case(arithmetic=arithmetic, threads=threads, stored=stored, rows=np.array(rows, np.int64))
    found = vendor_of(case).likelihood

    assert found is not None
    assert (found.log10 > 2) if arithmetic.startswith("nvidia") else (found.log10 < -2)


@pytest.mark.parametrize("n", [10, 40, 377])
def test_simulated_tables_rarely_look_like_nvidia(n: int) -> None:
    """Tables that agree with NVIDIA in 0.3 of the telling values favour AMD, and hardly ever NVIDIA."""
    random = np.random.default_rng(n)
    found = []
    for nvidia, amd, _ in random.multinomial(n, SIMULATED, 500).tolist():
        one = against_amd(nvidia, amd)
        assert one is not None
        found.append(one.log10)

    assert np.mean(np.array(found) < 0.0) > 0.9
    assert np.mean(np.array(found) >= 1.0) <= 0.005
    assert max(abs(each) for each in found) < 100.0


def test_wrong_ratios_are_as_rare_as_they_say() -> None:
    """Over all tables that the model allows, a ratio of 10 or more for NVIDIA has less than 1 in 10."""
    random = np.random.default_rng(1)
    shares = random.beta(3.0, 6.0, 4000)
    ratios = [against_amd(k := int(random.binomial(30, share)), 30 - k) for share in shares]

    assert np.mean([one is not None and one.log10 >= 1.0 for one in ratios]) <= 0.1


def test_no_count_is_certainty() -> None:
    """The ratio grows with the counts no faster than unknown tables allow."""
    few, many, most = (against_amd(n, 0) for n in (10, 377, 100_000))
    assert few is not None and many is not None and most is not None  # noqa: PT018

    assert 2 < few.log10 < many.log10 < 13
    assert most.log10 < 6 * math.log10(100_000)


def test_blurred_last_bits_do_not_speak_for_amd() -> None:
    """NVIDIA's values after a decay: a quarter moved to the neighbour, which often is AMD's value."""
    found = against_amd(7500, 2500)

    assert found is not None
    assert found.log10 > -1.0


@pytest.mark.parametrize("survivors", [1_000, 20_000, 45_000])
def test_few_bfloat16_survivors_cannot_separate(survivors: int) -> None:
    """Below some 50,000 too few values tell, and the statement says how many it takes."""
    telling = int(survivors * TELLING_BFLOAT16)
    text = statement(telling, telling, 0, of=survivors, dtype="bfloat16")

    assert telling < ENOUGH_STAND_IN
    assert "cannot separate the vendors" in text
    assert telling == 0 or "50,000" in text


def test_a_gpu_is_told_from_a_program_in_float64(make_case: MakeCase) -> None:
    """In float32 an imitation in plain float64 gives other last bits, and the values say whose they are."""
    gpu = vendor_of(make_case(stored="float32", rows=np.arange(4000, 4010))).float64
    assert gpu is not None and gpu.likelihood is not None  # noqa: PT018

    assert gpu.nvidia == gpu.discriminating > 100
    assert gpu.neither == 0
    assert gpu.likelihood.log10 > 6
    turned = against_float64(gpu.other, gpu.nvidia)
    assert turned is not None
    assert turned.log10 == pytest.approx(-gpu.likelihood.log10)


def test_a_program_in_float64_is_no_gpu_of_either_vendor(make_case: MakeCase) -> None:
    """Its values are nearer to AMD's stand-ins than to NVIDIA's, and named as the program's all the same."""
    case = make_case(stored="float32", rows=np.arange(4000, 4020))
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert isinstance(chosen, Fit)
    every = case.everything
    normals = plain_normals(chosen.hypothesis, case.seed, every.indices)
    assert normals is not None
    made = replace(every, values=np.asarray(np.float32(chosen.scale.value * normals), np.float64))
    found = compare_arithmetics(chosen, case.seed, made, "float32")

    assert found is not None
    assert found.not_excluded == ()
    assert found.vendor.imitated
    assert "plain float64" in found.vendor.statement
    assert found.vendor.likelihood is None
    assert found.vendor.amd > found.vendor.nvidia
    real = compare_arithmetics(chosen, case.seed, every, "float32")
    assert real is not None
    assert not real.vendor.imitated


@pytest.mark.parametrize(("best", "plain"), [(0, 5), (30, 100), (100, 0)])
def test_few_or_divided_values_name_no_program(best: int, plain: int) -> None:
    """Six values and four fifths of all are needed."""
    assert imitation(best, plain, best_name="AMD's") is None


def test_agreement_by_chance_has_no_ratio() -> None:
    """Where nearly all telling values hold neither side's, a lead among the rest is worth nothing."""
    assert against_amd(55, 110, 2454) is None
    assert against_amd(55, 110, 200) is not None


def test_values_that_tell_nothing_have_no_ratio() -> None:
    """Where no value holds either arithmetic's there is nothing to weigh."""
    assert against_amd(0, 0) is None


@pytest.mark.parametrize(
    ("discriminating", "nvidia", "amd", "words"),
    [
        (0, 0, 0, "alike"),
        (1, 1, 0, "1 value would"),
        (7, 7, 0, "cannot separate"),
        (100, 100, 0, "NVIDIA's as far as"),
        (100, 0, 95, "as the stand-in tables model it"),
        (100, 20, 40, "looks like AMD's"),
        (100, 5, 40, "not NVIDIA's, nor AMD's"),
        (100, 40, 5, "looks like NVIDIA's"),
        (100, 30, 25, "does not decide"),
        (100, 0, 0, "does not decide"),
        (1000, 50, 110, "chance gives"),
        (1000, 90, 240, "not NVIDIA's, nor AMD's"),
    ],
)
def test_statement_never_claims_more_than_the_counts(
    discriminating: int, nvidia: int, amd: int, words: str
) -> None:
    """Each kind of count has its sentence."""
    assert words in statement(discriminating, nvidia, amd)
