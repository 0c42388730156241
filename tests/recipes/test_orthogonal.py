"""`orthogonal_`: the line that needs no QR, and the whole by QR, against stock torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.recipes.orthogonal import CLOSE, LEADING_CLOSE, Leading, orthogonal, ratios
from birthmark.samplers.cpu_draw import CpuDraw

SHAPES = [(5, 9), (9, 5), (64, 64), (256, 128), (24, 16, 3, 3), (1, 7)]
UNIT = 2.0**-24


def drawn(seed: int, shape: tuple[int, ...], gain: float) -> NDArray[np.float32]:
    torch.manual_seed(seed)
    tensor: NDArray[np.float32] = torch.nn.init.orthogonal_(torch.empty(shape), gain).numpy()
    return tensor


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gain", [1.0, math.sqrt(2.0)])
def test_the_leading_line_is_the_draw_s_own(shape: tuple[int, ...], gain: float) -> None:
    """First row or column within a few units, from its own draws alone; the next seed's is far off."""
    line = Leading.of(shape)
    draw = CpuDraw("normal", (0.0, 1.0), math.prod(shape))
    truth = drawn(3, shape, gain).ravel()[line.indices]

    predicted = line.values(draw.values(3, line.indices), gain)
    other = line.values(draw.values(4, line.indices), gain)

    assert np.abs(predicted - truth).max() <= LEADING_CLOSE * UNIT * gain
    assert np.abs(other - truth).max() > 0.05 * gain


def test_ratios_do_not_know_gain_or_length() -> None:
    """The ratios of a stored line are those of the draw, whatever was multiplied."""
    line = Leading.of((16, 40))
    truth = drawn(3, (16, 40), 0.7).ravel()[line.indices]
    values = CpuDraw("normal", (0.0, 1.0), 640).values(3, line.indices)

    assert line.axis == "row"
    assert np.abs(ratios(truth) - ratios(values)).max() < 1e-6
    assert (
        np.abs(ratios(truth) - ratios(CpuDraw("normal", (0.0, 1.0), 640, 1).values(3, line.indices))).max()
        > 0.1
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_whole_matrix_is_close_to_torch_s(shape: tuple[int, ...]) -> None:
    """Within a few units in oblong matrices, more in square ones; the next seed is another matrix."""
    gain = 5.0 / 3
    truth = drawn(8, shape, gain)
    draw = CpuDraw("normal", (0.0, 1.0), math.prod(shape))

    made = orthogonal(draw.values(8, np.arange(draw.size)), shape, gain)

    assert made.dtype == np.float32
    assert np.abs(made - truth).max() <= CLOSE * UNIT * gain
    if min(shape) > 1:
        assert np.abs(orthogonal(draw.values(9, np.arange(draw.size)), shape, gain) - truth).max() > 0.1


def test_doubles_are_closer() -> None:
    """A float64 draw gives torch's float64 matrix to 1e-14."""
    torch.manual_seed(1)
    truth = torch.nn.init.orthogonal_(torch.empty(12, 20, dtype=torch.float64)).numpy()
    values = CpuDraw("normal", (0.0, 1.0), 240, dtype="float64").values(1, np.arange(240))

    assert np.abs(orthogonal(values, (12, 20)) - truth).max() < 1e-14


def test_what_has_no_orthogonal_matrix_is_refused() -> None:
    """Vectors, empty tensors, draws of another size and lines of zeros."""
    with pytest.raises(UsageError, match="two dimensions"):
        Leading.of((5,))
    with pytest.raises(UsageError, match="none empty"):
        Leading.of((5, 0))
    with pytest.raises(UsageError, match="expected 6"):
        orthogonal(np.zeros(5, np.float32), (2, 3))
    with pytest.raises(UsageError, match="zeros"):
        ratios(np.zeros(3))
