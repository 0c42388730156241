"""Nominal scales."""

from __future__ import annotations

import math

import pytest

from birthmark.evidence.nominal import fans, nominals, usual
from birthmark.hypothesis import Draw


@pytest.mark.parametrize(
    ("near", "shape", "distribution", "value"),
    [
        (0.0200001, (8192, 144), "normal", 0.02),
        (0.0060003, (4096, 128), "normal", 0.006),
        (1.0002, (300,), "normal", 1.0),
        (math.sqrt(2 / 1084) * 1.001, (300, 784), "normal", math.sqrt(2.0 / 1084.0)),
        (1 / 28.01, (300, 784), "uniform", 1.0 / 28.0),
        (math.sqrt(6 / 784), (300, 784), "uniform", math.sqrt(3.0) * (math.sqrt(2.0) / math.sqrt(784))),
        (0.02 / math.sqrt(64) * 1.002, (4096, 4096), "normal", 0.02 / math.sqrt(64)),
        (1 / 64.001, (1000, 5), "normal", 1.0 / 64.0),
        (0.0123001, (1000, 5), "normal", 0.0123),
    ],
)
def test_nominals_offer_what_recipes_write(
    near: float, shape: tuple[int, ...], distribution: str, value: float
) -> None:
    """Decimals, Xavier's, Kaiming's, PyTorch's default, depth scaling and 1/sqrt(k) are offered."""
    draw = Draw(distribution, (-1.0, 1.0), shape)  # type: ignore[arg-type]

    assert value in [nominal.value for nominal in nominals(near, draw)]


def test_nominals_stay_near_the_estimate() -> None:
    """Nothing further than one per cent is offered, and nothing twice."""
    values = [nominal.value for nominal in nominals(0.0137, Draw("normal", (0.0, 1.0), (512, 512)))]

    assert all(abs(value / 0.0137 - 1.0) <= 0.01 for value in values)
    assert len(set(values)) == len(values)


@pytest.mark.parametrize(
    ("shape", "expected"), [((300, 784), (784, 300)), ((64, 3, 7, 7), (147, 3136)), ((10,), None), ((), None)]
)
def test_fans_are_torchs(shape: tuple[int, ...], expected: tuple[int, int] | None) -> None:
    """fan_in and fan_out count as torch's `_calculate_fan_in_and_fan_out` does."""
    assert fans(shape) == expected


def test_usual_scales_begin_with_the_most_frequent() -> None:
    """A normal of unknown origin is taken for 0.02 first, a uniform for PyTorch's default."""
    assert usual(Draw("normal", (0.0, 1.0), (8, 8)))[0].value == 0.02
    assert usual(Draw("uniform", (-1.0, 1.0), (8, 9)))[0].value == pytest.approx(1 / 3)
