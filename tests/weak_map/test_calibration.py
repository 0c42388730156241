"""The objection that was raised: can structure fake a trace? Scores of wrong seeds, measured."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.numerics.dtypes import round_to
from birthmark.weak_map.bands import Heads, bands_of
from birthmark.weak_map.births import Aim
from birthmark.weak_map.moments import levelled_r
from birthmark.weak_map.pooling import pooled_z
from birthmark.weak_map.scanning import scan_tensor

from .conftest import BySeed, Memory, structured

SHAPE = (48, 32)
COUNT = 80


class Seeds(BySeed):
    """A draw of another seed for each tensor of each family."""

    left_out, seed, threads, source = {}, 0, 256, "wrong seeds"

    def __init__(self, draw: Draw, family: int) -> None:
        self.aims = tuple(Aim(str(family * COUNT + number), str(number)) for number in range(COUNT))
        self.hypothesis = Hypothesis(draw, 256)


def made(family: str, number: int) -> NDArray[np.float64]:
    """Weights without any birth."""
    generator = np.random.default_rng(number)
    rows, columns = SHAPE
    if family == "shared rows":
        return np.repeat(generator.normal(size=(4, columns)), rows // 4, axis=0)
    if family == "low rank":
        return generator.normal(size=(rows, 2)) @ generator.normal(size=(2, columns))
    if family == "heavy tails":
        return generator.standard_cauchy(SHAPE)
    if family == "columns":
        return generator.normal(size=SHAPE) + 10 * generator.normal(size=columns)
    if family == "five levels":
        return np.round(generator.normal(size=SHAPE)).clip(-2, 2)
    if family == "coarse":
        return np.asarray(round_to(100 + generator.normal(size=SHAPE), "bfloat16"))  # a grid of 0.5
    return structured(SHAPE, number)


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(Draw("normal", (0.0, 0.02), SHAPE), id="normal"),
        pytest.param(Draw("uniform", (-0.1, 0.1), SHAPE), id="uniform"),
    ],
)
def test_wrong_seeds_are_standard_normal_whatever_the_weights(draw: Draw, pool: Executor) -> None:
    """Hundreds of tensors of seven families: mean 0, deviation 1, a normal's tail, pooled and shifted too."""
    families = ("shared rows", "low rank", "heavy tails", "columns", "five levels", "coarse", "all of it")
    everything: list[list[float]] = []
    shifted: list[float] = []
    for kind, family in enumerate(families):
        predicted = Seeds(draw, kind)
        checkpoint = Memory({str(number): made(family, number) for number in range(COUNT)})
        z: list[float] = []
        for aim in predicted.aims:
            bands = bands_of(aim.stored, SHAPE, Heads())
            moments = scan_tensor(checkpoint, predicted, aim, bands, pool, 2).moments
            z.append(float(levelled_r(moments.sums[:, None])[0]) * moments.n**0.5)
            shifted.extend((moments.shifted_r * moments.n**0.5).tolist())
        assert abs(np.mean(z)) < 4 / COUNT**0.5, family
        assert abs(np.std(z) - 1.0) < 4 / (2 * COUNT) ** 0.5, family
        everything.append(z)
    scores = np.sort(np.array(everything).ravel())
    steps = np.arange(1, scores.size + 1) / scores.size
    pooled = pooled_z(np.array(everything).T / np.prod(SHAPE) ** 0.5, np.full(len(families), np.prod(SHAPE)))

    # Kolmogorov and Smirnov at a level of one in ten thousand.
    assert np.abs(steps - ndtr(scores)).max() < 2.23 / scores.size**0.5
    assert np.max(np.abs(scores)) < 4.5
    assert abs(np.std(pooled) - 1.0) < 4 / (2 * COUNT) ** 0.5
    assert abs(np.std(shifted) - 1.0) < 0.06
