"""The scales that people and frameworks give to initial values of a tensor of a given shape."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.survivor import Distribution

#: Decimals that configurations name: d x 10^-k with up to two digits.
_DECIMALS = tuple(digits * 10.0**-power for power in range(1, 5) for digits in range(1, 100))
#: Gains of Xavier's and Kaiming's rules (torch.nn.init.calculate_gain: linear, tanh, ReLU, SELU).
_GAINS = (1.0, 5.0 / 3.0, math.sqrt(2.0), 0.75)
#: Layers of a network, for scales that shrink with depth.
_DEPTHS = range(1, 129)


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """(fan in, fan out) as torch.nn.init has them; of a vector both are its length."""
    if len(shape) < 2:
        return (math.prod(shape), math.prod(shape))
    field = math.prod(shape[2:])
    return (shape[1] * field, shape[0] * field)


def nominal_scales(shape: tuple[int, ...], distribution: Distribution) -> NDArray[np.float64]:
    """Standard deviations (normal) or bounds (uniform) that an initialiser may have been given, ascending.

    Decimals; 1 / sqrt(k), sqrt(2 / 5k) and Xavier's and Kaiming's rules (X. Glorot and Y. Bengio, AISTATS
    2010; K. He et al., ICCV 2015) for the fans of the shape; decimals divided by sqrt(2 x layers) (GPT-2).
    """
    fan_in, fan_out = (max(1, fan) for fan in fans(shape))
    sizes = {float(fan_in), float(fan_out), float(fan_in + fan_out) / 2.0, float(fan_in + fan_out)}
    found = {1.0, *_DECIMALS}
    for size in sizes:
        found |= {gain / math.sqrt(size) for gain in _GAINS}
        found |= {math.sqrt(2.0 / (5.0 * size)), math.sqrt(1.0 / (3.0 * size))}
    if distribution == "uniform":
        for size in sizes:
            found |= {gain * math.sqrt(3.0 / size) for gain in _GAINS}
    else:
        found |= {base / math.sqrt(2.0 * depth) for base in (0.02, 0.01, 0.006) for depth in _DEPTHS}
    return np.array(sorted(found))


def scales_near(
    shape: tuple[int, ...], distribution: Distribution, scale: float, error: float
) -> NDArray[np.float64]:
    """The nominal scales within a relative error of a measured one, the nearest first."""
    every = nominal_scales(shape, distribution)
    off = np.abs(np.log(every / scale))
    order = np.argsort(off, kind="stable")
    return every[order[off[order] <= error]]
