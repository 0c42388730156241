"""The grid of values that a float32 draw can give."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.hypothesis import Draw, Hypothesis
from birthmark.survivors.grid import Grid, find_grid
from birthmark.survivors.scales import nominal_scales, scales_near
from birthmark.survivors.survivor import Distribution

torch = pytest.importorskip("torch")


def gpu(distribution: str, parameters: tuple[float, float]) -> np.ndarray:
    """Predicted values of a GPU draw, 64 x 144."""
    draw = Draw("normal" if distribution == "normal" else "uniform", parameters, (64, 144))
    return Hypothesis(draw, threads=40_960).values(7, np.arange(64 * 144)).reshape(64, 144)


def test_values_of_a_gpu_lie_on_the_grid() -> None:
    """Every predicted value of normal_ and uniform_ is drawable."""
    normal, uniform = gpu("normal", (0.0, 0.02)), gpu("uniform", (-0.05, 0.05))

    assert (Grid("normal", 0.02).altered(normal) == 0.0).all()
    assert (Grid("uniform", 0.05, fine=True).altered(uniform) == 0.0).all()
    assert (Grid("normal", 0.02).weigh(normal).sum(1) > 10.0).all()
    assert (Grid("uniform", 0.05, fine=True).weigh(uniform).sum(1) > 10.0).all()


def test_values_of_the_cpu_lie_on_the_grid() -> None:
    """Stock PyTorch's CPU draws are drawable, uniform ones on the coarse grid."""
    generator = torch.Generator().manual_seed(1)
    normal = torch.empty(64, 144).normal_(0.0, 0.006, generator=generator).numpy()
    uniform = torch.empty(64, 144).uniform_(-1 / 12, 1 / 12, generator=generator).numpy()

    assert (Grid("normal", 0.006).altered(normal) == 0.0).all()
    assert (Grid("uniform", 1 / 12).altered(uniform) == 0.0).all()
    assert (Grid("uniform", 1 / 12).weigh(uniform).sum(1) > 50.0).all()


def test_other_scales_and_other_values_are_off_the_grid() -> None:
    """A neighbouring scale, a decayed row and unrelated values have the odds against them."""
    drawn = gpu("normal", (0.0, 0.02))
    decayed = drawn * np.float32(0.999)
    other = (np.random.default_rng(0).standard_normal((64, 144)) * 0.02).astype(np.float32)

    assert (Grid("normal", 0.0201).weigh(drawn).sum(1) < -10.0).all()
    assert (Grid("normal", 0.02).weigh(decayed).sum(1) < -10.0).all()
    assert (Grid("normal", 0.02).weigh(other).sum(1) < -10.0).all()
    assert (Grid("uniform", 0.05).weigh(other).sum(1) < -10.0).all()


def test_the_scale_is_found_among_impostors() -> None:
    """Of nominal scales the true one is found when half of the units were touched."""
    drawn = gpu("normal", (0.0, 0.02))
    drawn[::2] += np.float32(1e-4)
    near = scales_near((4096, 144), "normal", 0.0203, 0.15)

    found = find_grid(drawn, "normal", near)

    assert found == Grid("normal", 0.02)


def test_no_scale_is_found_for_other_values() -> None:
    """Values that were not drawn in float32 lie on no nominal grid."""
    values = (np.random.default_rng(1).standard_normal((32, 144)) * 0.02).astype(np.float32)
    uniform = np.random.default_rng(1).uniform(-0.02, 0.02, (32, 144)).astype(np.float32)

    assert find_grid(values, "normal", scales_near((4096, 144), "normal", 0.02, 0.15)) is None
    assert find_grid(uniform, "uniform", scales_near((4096, 144), "uniform", 0.02, 0.15)) is None


def test_a_few_altered_values_are_counted() -> None:
    """The share of altered values is estimated from those off the grid."""
    drawn = gpu("uniform", (-0.05, 0.05))
    drawn[:, ::10] *= np.float32(1.01)

    assert Grid("uniform", 0.05, fine=True).altered(drawn).mean() == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize(
    ("shape", "distribution", "scale"),
    [
        ((300, 784), "normal", (2.0 / 1084.0) ** 0.5),
        ((64, 92), "uniform", 92**-0.5),
        ((8192, 144), "normal", 0.02),
        ((768, 768), "normal", 0.02 / 24**0.5),
        ((64, 3, 7, 7), "uniform", 147**-0.5),
        ((512, 256), "uniform", (6.0 / 768.0) ** 0.5),
        ((300,), "normal", 1.0),
    ],
)
def test_scales_of_real_initialisers_are_nominal(
    shape: tuple[int, ...], distribution: str, scale: float
) -> None:
    """Xavier's, PyTorch's default, GPT-2's and plain scales are among the nominal ones, to the last bit."""
    kind: Distribution = "normal" if distribution == "normal" else "uniform"

    assert np.float32(scale) in nominal_scales(shape, kind).astype(np.float32)
