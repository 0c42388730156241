"""Cut-offs, draw dtypes and versions of truncated normals, read off stored bits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from birthmark.devices.catalogue import table_threads
from birthmark.evidence.case import Case
from birthmark.evidence.cut import best_cut
from birthmark.evidence.elements import Elements
from birthmark.evidence.fit import fit, parameters
from birthmark.evidence.weigh import weigh
from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.truncated import sigmas_of, spread, symmetric

SHAPE = (8192, 144)
THREADS = 270_336
TRUNCATED: Any = "truncated-normal"


def truncated_case(
    truth: Draw, stored: str = "bfloat16", *, seed: int = 42, claimed: int = 42, factor: float = 1.0
) -> Case:
    """A case of a draw; its candidate knows neither the cut-off nor the dtype, as a search leaves it."""
    rows = np.sort(np.random.default_rng(7).choice(SHAPE[0], 40, replace=False)).astype(np.int64)
    indices = (rows[:, None] * SHAPE[1] + np.arange(SHAPE[1])).ravel()
    drawn = Hypothesis(truth, THREADS).values(seed, indices) * np.float32(factor)
    values = round_to(drawn, stored).astype(np.float64)
    guess = Draw(TRUNCATED, symmetric(float(values.std()), 3.0), SHAPE, stored)
    if truth.source == "normal":
        guess = Draw("normal", (0.0, float(values.std())), SHAPE, stored)
    elements = Elements(indices, values, indices // SHAPE[1])
    hidden = np.isin(elements.unit, rows[::2])
    return Case(
        "embedding", SHAPE, stored, "row", float(values.std()), Hypothesis(guess, THREADS), claimed,
        elements.keep(~hidden), elements.keep(hidden), 10**11, 1, table_threads(),
    )  # fmt: skip


@pytest.mark.parametrize("sigmas", [2.0, 3.0, math.inf])
@pytest.mark.parametrize(
    ("drawn", "stored"),
    [("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float16", "float16"), ("float32", "float32")],
)
def test_cut_off_dtype_and_std_are_read_off_the_bits(sigmas: float, drawn: str, stored: str) -> None:
    """Every value of a draw is given, with the cut-off, dtype and std that somebody wrote down."""
    truth = Draw(TRUNCATED, symmetric(0.02, sigmas), SHAPE, drawn)
    case = truncated_case(truth, stored)
    found = fit(case.hypothesis, case.seed, case.selection, stored)
    assert found is not None
    assert found.hypothesis.draw == truth
    assert found.equal == found.of
    assert found.scale.value == 0.02
    assert found.factor == 1.0


def test_a_wrong_seed_gives_no_bits() -> None:
    """The neighbouring seed equals next to nothing, whatever is cut off."""
    case = truncated_case(Draw(TRUNCATED, symmetric(0.02, 3.0), SHAPE), claimed=43)
    found = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert found is None or found.equal < 0.02 * found.of


@pytest.mark.parametrize("version", ["2.1+", "2.1+cuda13"])
def test_float32_tails_tell_the_cuda_version(version: str) -> None:
    """Values beyond 3.1 sigma differ between CUDA 12 and 13 in their last bits."""
    truth = Draw(TRUNCATED, symmetric(0.02, math.inf), SHAPE, version=version)
    case = truncated_case(truth, "float32")
    assert best_cut(case.hypothesis, 42, case.everything, "float32").draw.version == version


def test_versions_that_cannot_be_told_are_named() -> None:
    """Within 3 sigma all versions up to 2.11 draw alike; bfloat16 has none before 2.1."""
    for drawn, same in (("float32", ("2.1+cuda13", "2.0-")), ("bfloat16", ("2.1+cuda13",))):
        case = truncated_case(Draw(TRUNCATED, symmetric(0.02, 2.0), SHAPE, drawn))
        found = fit(case.hypothesis, 42, case.selection, case.dtype)
        assert found is not None
        assert found.same_versions == same


@pytest.mark.parametrize("sigmas", [2.0, 3.0])
def test_redrawn_values_tell_torch_2_12(sigmas: float) -> None:
    """A normal whose far values were drawn again is given whole, and a plain one is left alone."""
    truth = Draw(TRUNCATED, symmetric(0.02, sigmas), SHAPE, version="2.12+")
    case = truncated_case(truth)
    found = fit(case.hypothesis, 42, case.selection, case.dtype)
    assert found is not None
    assert found.hypothesis.draw == replace(truth, dtype="bfloat16")
    assert found.equal == found.of
    assert found.same_dtypes == ("float32",)
    plain = truncated_case(Draw("normal", (0.0, 0.02), SHAPE))
    assert best_cut(case.hypothesis, 42, plain.selection, "bfloat16") == case.hypothesis


def test_a_common_factor_is_found_beside_the_cut_off() -> None:
    """Decay scales the bounds with everything else."""
    case = truncated_case(Draw(TRUNCATED, symmetric(0.02, 2.0), SHAPE, "float32"), factor=0.7961)
    found = fit(case.hypothesis, 42, case.selection, case.dtype)
    assert found is not None
    assert found.factor == pytest.approx(0.7961, rel=1e-4)
    assert found.equal >= 0.99 * found.of
    assert sigmas_of(found.hypothesis.draw.parameters) == pytest.approx(2.0)


def test_a_truncated_draw_is_a_match() -> None:
    """Score, exactness and layout are judged as of any draw; the next seed is nothing."""
    judgement = weigh(truncated_case(Draw(TRUNCATED, symmetric(0.02, 3.0), SHAPE)))
    assert judgement.outcome == "match"
    assert judgement.exact.equal == judgement.exact.of
    assert judgement.fit.hypothesis.threads == THREADS
    assert judgement.decoys.max_sigma is not None
    assert judgement.decoys.max_sigma < 6
    false = weigh(truncated_case(Draw(TRUNCATED, symmetric(0.02, 3.0), SHAPE), claimed=43))
    assert false.outcome == "none"


@pytest.mark.parametrize(("sigmas", "expected"), [(2.0, 0.8796256610), (3.0, 0.9865784), (math.inf, 1.0)])
def test_spread_of_what_is_left(sigmas: float, expected: float) -> None:
    """The published constants: 0.87962566 at 2 sigma (JAX divides by it), 0.98658 at 3."""
    assert spread(sigmas) == pytest.approx(expected, abs=1e-6)


def test_parameters_follow_the_scale() -> None:
    """Another scale keeps the cut-off in sigmas, and torch's default bounds where they cut nothing off."""
    assert symmetric(0.1, 3.0) == (0.0, 0.1, -0.3, 0.3)
    assert symmetric(0.02, math.inf) == (0.0, 0.02, -2.0, 2.0)
    assert symmetric(1.0, math.inf)[3] > 8
    draw = Draw(TRUNCATED, (0.0, 0.0199, -0.0597, 0.0597), SHAPE)
    assert parameters(draw, 0.02) == (0.0, 0.02, -0.06, 0.06)
    assert parameters(replace(draw, parameters=symmetric(0.0199, math.inf)), 0.02) == (0.0, 0.02, -2.0, 2.0)
    assert parameters(Draw("uniform", (-1.0, 1.0), SHAPE), 0.5) == (-0.5, 0.5)
