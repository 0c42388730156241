"""PyTorch releases and their rules: where each changes, how versions are written, which are refused."""

from __future__ import annotations

import pytest

from birthmark.errors import UsageError
from birthmark.samplers.torch_rules import parse, rules


@pytest.mark.parametrize(
    ("rule", "older", "newer", "values"),
    [
        ("uniform", "2.0.1", "2.1.0", ("2.0-", "2.1+")),
        ("truncated", "2.0.1", "2.1.0", ("2.0-", "2.1+")),
        ("truncated", "2.11.0", "2.12.0", ("2.1+", "2.12+")),
        ("offsets", "2.4.1", "2.5.0", ("2.4-", "2.5+")),
        ("integers", "2.6.0", "2.7.0", ("2.6-", "2.7+")),
        ("exponential", "1.9.1", "1.10.0", ("1.9-", "1.10+")),
    ],
)
def test_rules_change_at_their_release(rule: str, older: str, newer: str, values: tuple[str, str]) -> None:
    """The release before a change has the older rule, the release itself the newer."""
    assert (getattr(rules(older), rule), getattr(rules(newer), rule)) == values


def test_cuda_13_matters_for_truncated_normals_before_2_12() -> None:
    """Named by the version's own tag or apart; unnamed, CUDA up to 12 is taken."""
    assert rules("2.11.0+cu130").truncated == "2.1+cuda13"
    assert rules("2.11", "13.0").truncated == "2.1+cuda13"
    assert rules("2.11.0+cu130", "12.8").truncated == "2.1+"
    assert rules("2.11").truncated == "2.1+"
    assert rules("2.13.0+cu130").truncated == "2.12+"
    assert rules("2.0.1", "13").truncated == "2.0-"


@pytest.mark.parametrize(
    ("text", "release", "cuda"),
    [
        ("2.13", (2, 13), None),
        (" 2.4.1 ", (2, 4), None),
        ("2.11.0+cu128", (2, 11), (12, 8)),
        ("1.13.1+cu117", (1, 13), (11, 7)),
        ("2.6.0+rocm6.2.4", (2, 6), None),
        ("2.13.0+cpu", (2, 13), None),
        ("2.14.0.dev20260101+cu130", (2, 14), (13, 0)),
        ("2.3.0a0+gitabc", (2, 3), None),
        ("2.13.0rc1", (2, 13), None),
    ],
)
def test_versions_as_people_write_them(
    text: str, release: tuple[int, int], cuda: tuple[int, int] | None
) -> None:
    """Release and CUDA version of every form that torch.__version__ takes."""
    assert parse(text) == (release, cuda)
    assert rules(text).release == release


@pytest.mark.parametrize("text", ["", "2", "two.one", "2.x", "v2.1", "2.1;3"])
def test_what_is_no_version_is_refused(text: str) -> None:
    """Anything else is a usage error that shows how versions look."""
    with pytest.raises(UsageError, match="such as 2\\.13"):
        rules(text)


@pytest.mark.parametrize("text", ["1.6", "0.4", "2.16", "3.0"])
def test_releases_that_nobody_read_are_refused(text: str) -> None:
    """Older and newer releases than those read could have drawn anything."""
    with pytest.raises(UsageError, match=r"predicted for 1\.7 to 2\.15"):
        rules(text)


def test_a_cuda_version_is_a_number() -> None:
    """A CUDA version that is none is a usage error."""
    with pytest.raises(UsageError, match="such as 12\\.8"):
        rules("2.13", "cuda twelve")
