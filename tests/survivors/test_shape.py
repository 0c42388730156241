"""Shapes of distributions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.survivors.shape import SHAPES, fit_shape

Random = np.random.Generator


def cut(random: Random, size: int, limit: float) -> NDArray[np.float64]:
    """Normal values, those beyond a limit drawn again."""
    values = random.standard_normal(8 * size)
    return values[np.abs(values) < limit][:size]


KNOWN: dict[str, Callable[[Random, int], NDArray[np.float64]]] = {
    "normal": lambda random, size: random.standard_normal(size),
    "uniform": lambda random, size: random.uniform(-1, 1, size),
    "normal, cut off at 2 standard deviations": lambda random, size: cut(random, size, 2.0),
    "normal, cut off at 3 standard deviations": lambda random, size: cut(random, size, 3.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_shapes_are_recognised(name: str) -> None:
    """Values of a shape agree with it, whatever their scale."""
    fit = fit_shape(1e-9 * KNOWN[name](np.random.default_rng(0), 100_000))

    assert fit.shape.name == name
    assert fit.off < 4.0


@pytest.mark.parametrize("size", [64, 1000])
@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_few_values_of_a_shape_agree_with_it(name: str, size: int) -> None:
    """Of 200 small draws none deviates by more than five standard errors."""
    random = np.random.default_rng(1)

    assert max(fit_shape(KNOWN[name](random, size)).off for _ in range(200)) < 5.0


@pytest.mark.parametrize(
    "other",
    [
        lambda random: random.laplace(size=5000),
        lambda random: random.standard_t(5, size=5000),
        lambda random: random.choice([-1.0, 1.0], 5000),
        lambda random: random.standard_normal(5000) * random.uniform(0.3, 1.7, 5000),
        lambda random: random.uniform(0.0, 1.0, 5000),
        lambda random: np.abs(random.standard_normal(5000)),
    ],
    ids=["laplace", "student", "signs", "mixed scales", "one-sided uniform", "half normal"],
)
def test_other_shapes_are_refused(other: Callable[[Random], NDArray[np.float64]]) -> None:
    """Heavier tails, two values, mixtures and one-sided values agree with no known shape."""
    assert fit_shape(other(np.random.default_rng(2))).off > 6.0


def test_moments_of_the_shapes() -> None:
    """The moments of each shape are those of its distribution function."""
    grid = np.linspace(-9.0, 9.0, 400_001)
    middle = 0.5 * (grid[1:] + grid[:-1])
    for shape in SHAPES:
        mass = np.diff(shape.below(grid))
        assert (mass * middle**2).sum() == pytest.approx(1.0, abs=1e-4)
        assert (mass * middle**4).sum() == pytest.approx(shape.kurtosis, rel=1e-4)
        assert (mass * middle**8).sum() == pytest.approx(shape.eighth, rel=1e-3)


def test_the_bound_of_a_uniform_is_its_parameter() -> None:
    """A uniform's parameter is its bound, a normal's its standard deviation."""
    random = np.random.default_rng(3)

    assert fit_shape(random.uniform(-0.05, 0.05, 20_000)).parameter == pytest.approx(0.05, rel=0.02)
    assert fit_shape(random.standard_normal(20_000) * 0.05).parameter == pytest.approx(0.05, rel=0.02)
