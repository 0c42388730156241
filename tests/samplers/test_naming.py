"""Draws by name: defaults, order of numbers, samplers, exactness."""

from __future__ import annotations

from typing import Any

import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers
from birthmark.samplers.naming import KINDS, PERMUTATION, exact, numbers_of
from birthmark.samplers.torch_rules import rules


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("normal", {"std": 0.02}, Draw("normal", (0.0, 0.02), (5,))),
        ("uniform", {}, Draw("uniform", (0.0, 1.0), (5,), version="2.0-")),
        (
            "truncated-normal",
            {"b": 1.0, "std": 0.5},
            Draw("truncated-normal", (0.0, 0.5, -2.0, 1.0), (5,), version="2.0-"),
        ),
        ("exponential", {"rate": 3}, Exponential(3.0, version="1.9-")),
        ("log-normal", {}, LogNormal()),
        ("cauchy", {"median": 1}, Cauchy(1.0)),
        ("geometric", {"p": 0.5}, Geometric(0.5)),
        ("integers", {"low": 0, "high": 5.0}, Integers(0, 5, "float32", "2.6-")),
        ("integers", {}, Integers(None, None, "float32", "2.6-")),
        ("bernoulli", {}, Bernoulli(0.5)),
    ],
)
def test_names_become_samplers(name: str, given: dict[str, Any], expected: Any) -> None:
    """With torch's defaults for numbers left out, and the rules of the release."""
    numbers = numbers_of(name, given)
    assert KINDS[name].build(numbers, (5,), "float32", rules("1.9")) == expected
    assert list(numbers) == [parameter for parameter, _ in KINDS[name].parameters]


def test_what_has_no_name_or_number_is_refused() -> None:
    """Unknown draws and numbers, missing ones, and fractions of integers."""
    with pytest.raises(UnknownName, match="exponential"):
        numbers_of("exponentials", {})
    with pytest.raises(UsageError, match="expected low, high"):
        numbers_of("uniform", {"std": 1.0})
    with pytest.raises(UsageError, match="expected none"):
        numbers_of(PERMUTATION, {"n": 3})
    with pytest.raises(UsageError, match="needs the number 'p'"):
        numbers_of("geometric", {})
    with pytest.raises(UsageError, match="whole number"):
        KINDS["integers"].build({"low": 0.5, "high": 3}, (5,), "int64", rules("2.13"))


def test_only_what_words_decide_is_exact() -> None:
    """Tables that are not derived, and double precision functions, make a draw inexact."""
    nvidia, amd = "nvidia-volta+", "amd"
    assert exact(Draw("uniform", (0.0, 1.0), (5,), "float64"), amd)
    assert exact(Integers(0, 9), amd)
    assert exact(Bernoulli(0.5, "float64"), amd)
    assert exact(Draw("normal", (0.0, 1.0), (5,), "bfloat16"), nvidia)
    assert not exact(Draw("normal", (0.0, 1.0), (5,), "float64"), nvidia)
    assert not exact(Draw("normal", (0.0, 1.0), (5,)), amd)
    assert not exact(Draw("truncated-normal", (0.0, 1.0, -2.0, 2.0), (5,)), nvidia)
    assert exact(Draw("truncated-normal", (0.0, 1.0, -2.0, 2.0), (5,), version="2.12+"), nvidia)
    for sampler in (Exponential(), LogNormal(), Cauchy(), Geometric(0.5)):
        assert not exact(sampler, nvidia)
