"""The vendor test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from birthmark.evidence.arithmetic import compare_arithmetics
from birthmark.evidence.case import Case
from birthmark.evidence.fit import fit

MakeCase = Callable[..., Case]


def test_float32_values_of_nvidia_exclude_the_others(make_case: MakeCase) -> None:
    """All telling values are NVIDIA's, and Pascal is excluded as well."""
    case = make_case(stored="float32")
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert chosen is not None

    test = compare_arithmetics(chosen, case.seed, case.everything, case.dtype)

    assert test is not None
    assert test.not_excluded == ("nvidia-volta+",)
    assert test.vendor.discriminating > 1000
    assert test.vendor.nvidia == test.vendor.discriminating
    assert "as far as it is known" in test.vendor.statement


def test_float32_values_of_amd_exclude_nvidia(make_case: MakeCase) -> None:
    """The stand-in's own values are AMD's, said with the stand-in's name."""
    case = make_case(stored="float32", arithmetic="amd", threads=622592)
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert chosen is not None

    test = compare_arithmetics(chosen, case.seed, case.everything, case.dtype)

    assert test is not None
    assert test.not_excluded == ("amd",)
    assert test.vendor.amd == test.vendor.discriminating
    assert "stand-in" in test.vendor.statement


def test_bfloat16_values_exclude_nothing(make_case: MakeCase) -> None:
    """A few thousand bfloat16 values leave every arithmetic possible, and the statement says so."""
    case = make_case()
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert chosen is not None

    test = compare_arithmetics(chosen, case.seed, case.everything, case.dtype)

    assert test is not None
    assert set(test.not_excluded) == {"nvidia-volta+", "nvidia-pascal-", "amd"}
    assert "cannot separate" in test.vendor.statement


def test_bfloat16_values_in_number_separate_the_vendors(make_case: MakeCase) -> None:
    """A hundred thousand of them hold enough telling ones."""
    case = make_case(rows=np.arange(1000, 1900))
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype)
    assert chosen is not None

    test = compare_arithmetics(chosen, case.seed, case.everything, case.dtype)

    assert test is not None
    assert "amd" not in test.not_excluded
    assert test.vendor.nvidia == test.vendor.discriminating > 8
