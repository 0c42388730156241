"""Which version of PyTorch follows which rule on the CPU."""

from __future__ import annotations

import pytest

from birthmark.errors import UsageError
from birthmark.samplers.cpu_versions import NEWEST, CpuVersion, version_of


def test_patch_releases_and_builds_are_their_version() -> None:
    """Only the first two numbers count, and they order as numbers."""
    assert version_of("2.13.0+cpu") == version_of(NEWEST) == CpuVersion(2, 13)
    assert version_of("1.13.1") < version_of("2.0") < version_of("2.9") < version_of("2.11")


def test_rules_change_where_they_changed() -> None:
    """Each rule holds on one side of its version and not on the other."""
    halves = [version_of(text).half for text in ("2.11", "2.12", "2.13")]

    assert halves == ["narrow", "scalar", "vector"]
    assert version_of("1.13").one_minus
    assert not version_of("2.0").one_minus
    assert version_of("2.12").open_end
    assert not version_of("2.11").open_end
    assert version_of("2.6").by_mkl("bernoulli")
    assert not version_of("2.7").by_mkl("bernoulli")
    assert not version_of("1.13").by_mkl("exponential")
    assert not version_of("2.6").by_mkl("cauchy")


@pytest.mark.parametrize(
    ("version", "span", "dtype", "wide"),
    [
        ("2.7", 1 << 28, "int64", True),
        ("2.7", (1 << 28) - 1, "int64", False),
        ("2.7", 1 << 28, "int32", True),
        ("2.6", 1 << 28, "int64", False),
        ("2.6", 1 << 32, "int64", True),
        ("2.6", 1 << 32, "float16", False),
    ],
)
def test_wide_ranges(version: str, span: int, dtype: str, wide: bool) -> None:
    """From 2.7 on ranges of 2^28 take two words in every dtype, before that of 2^32 in some."""
    assert version_of(version).wide(span, dtype) is wide


@pytest.mark.parametrize("text", ["", "2", "new", "2.x", "v2.13", "2,13"])
def test_what_is_no_version_is_refused(text: str) -> None:
    """The message shows the form."""
    with pytest.raises(UsageError, match=r"such as 2\.13"):
        version_of(text)
