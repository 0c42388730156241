"""Which arithmetic, draw dtype, scale and factor fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from birthmark.evidence.case import Case
from birthmark.evidence.fit import Fit, fit
from birthmark.evidence.scale import centred

MakeCase = Callable[..., Case]


def _fitted(case: Case, declared: float | None = None) -> Fit:
    found = fit(case.hypothesis, case.seed, case.selection, case.dtype, declared)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("arithmetic", "threads"), [("nvidia-volta+", 270336), ("nvidia-pascal-", 61440), ("amd", 622592)]
)
def test_fit_names_the_arithmetic_of_float32_values(
    make_case: MakeCase, arithmetic: str, threads: int
) -> None:
    """Float32 values tell the arithmetic, and all of them equal its predictions."""
    found = _fitted(make_case(arithmetic=arithmetic, threads=threads, stored="float32"))

    assert found.hypothesis.arithmetic == arithmetic
    assert found.equal == found.of
    assert found.factor == 1.0


def test_fit_keeps_the_expected_arithmetic_where_values_are_coarse(make_case: MakeCase) -> None:
    """In bfloat16 the arithmetic of the layout's known devices is kept."""
    assert _fitted(make_case(arithmetic="amd", threads=270336)).hypothesis.arithmetic == "nvidia-volta+"
    assert _fitted(make_case(arithmetic="amd", threads=622592)).hypothesis.arithmetic == "amd"


@pytest.mark.parametrize(("drawn", "stored"), [("float32", "bfloat16"), ("bfloat16", "bfloat16")])
def test_fit_tells_the_dtype_of_a_uniform_draw(make_case: MakeCase, drawn: str, stored: str) -> None:
    """A uniform's bounds are rounded to the dtype at draw time, and that shows."""
    case = make_case(distribution="uniform", scale=1 / 12.3, drawn=drawn, stored=stored)

    found = _fitted(case)

    assert found.hypothesis.draw.dtype == drawn
    assert found.equal == found.of


def test_fit_does_not_tell_the_dtype_of_a_normal_draw(make_case: MakeCase) -> None:
    """A normal rounds once, at the draw or at the cast: neither is claimed."""
    assert _fitted(make_case(drawn="bfloat16")).same_dtypes == ("float32",)
    assert _fitted(make_case(drawn="float32")).same_dtypes == ("bfloat16",)
    assert _fitted(make_case(drawn="float64", stored="float64")).same_dtypes == ()


def test_fit_reads_a_common_factor(make_case: MakeCase) -> None:
    """Decay leaves a factor; the usual scale it was drawn with is taken for granted."""
    found = _fitted(make_case(change=lambda values, _: values.astype(np.float32) * np.float32(0.7961)))

    assert found.decayed
    assert found.factor == pytest.approx(0.7961, rel=1e-5)
    assert found.equal == found.of


def test_fit_takes_the_declared_scale_for_the_factor(make_case: MakeCase) -> None:
    """A declared scale goes before the usual ones."""
    case = make_case(scale=0.031, change=lambda values, _: values.astype(np.float32) * np.float32(0.7013))

    assert _fitted(case, declared=0.031).factor == pytest.approx(0.7013, rel=1e-5)
    assert _fitted(case).factor != pytest.approx(0.7013, rel=1e-3)


def test_fit_sees_that_values_were_rounded_before_they_were_scaled(make_case: MakeCase) -> None:
    """A bfloat16 draw that was scaled afterwards is reproduced bit for bit, which proves its scale."""
    case = make_case(drawn="bfloat16", change=lambda values, _: values.astype(np.float32) * np.float32(0.83))

    found = _fitted(case)

    assert found.rounded_first
    assert found.factor == pytest.approx(0.83, rel=1e-4)
    assert found.equal == found.of


def test_fit_of_a_wrong_seed_equals_next_to_nothing(make_case: MakeCase) -> None:
    """A wrong seed gives a scale of sorts, but not the bits."""
    found = _fitted(make_case(searched={"seed": 43}))

    assert found.equal < 0.02 * found.of


def test_centred_uniforms_lie_about_zero() -> None:
    """A unit uniform becomes the share of the bound."""
    assert centred("uniform", np.array([0.0, 0.5, 1.0])).tolist() == [-1.0, 0.0, 1.0]
    assert centred("normal", np.array([0.5])).tolist() == [0.5]
