"""The shape of a distribution: normal, truncated normal or uniform, or none of these.

A shape is a symmetric distribution of variance 1. What is compared are kurtosis and the whole distribution
function; both are known for initial values, and training changes both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from birthmark.survivors.survivor import Distribution

Array = NDArray[np.float64]

#: A truncated normal must fit better than a plain shape by so many standard errors.
PLAIN = 3.0
#: Values that are compared with a distribution function, at most: more would see the rounding of bfloat16.
MOST_COMPARED = 1 << 15


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of variance 1.

    Attributes:
        name: in words.
        distribution: how the rest of birthmark calls it.
        kurtosis: fourth moment.
        eighth: eighth moment, for the error of the kurtosis.
        largest: bound of the magnitude; infinite for a normal.
        below: the distribution function.
    """

    name: str
    distribution: Distribution
    kurtosis: float
    eighth: float
    largest: float
    below: Callable[[Array], Array]


def _truncated(limit: float) -> Shape:
    """A normal cut off at +-limit standard deviations, scaled to variance 1; moments by parts."""
    density = math.exp(-0.5 * limit * limit) / math.sqrt(2.0 * math.pi)
    mass = 2.0 * float(ndtr(limit)) - 1.0
    moments = [1.0]
    for power in (2, 4, 6, 8):
        moments.append((power - 1) * moments[-1] - 2.0 * limit ** (power - 1) * density / mass)
    _, variance, fourth, _, eighth = moments
    deviation = math.sqrt(variance)

    def below(x: Array) -> Array:
        return np.asarray((ndtr(np.clip(x * deviation, -limit, limit)) - ndtr(-limit)) / mass)

    return Shape(
        f"normal, cut off at {limit:g} standard deviations",
        "normal",
        fourth / variance**2,
        eighth / variance**4,
        limit / deviation,
        below,
    )


NORMAL = Shape("normal", "normal", 3.0, 105.0, math.inf, lambda x: np.asarray(ndtr(x)))
UNIFORM = Shape(
    "uniform",
    "uniform",
    1.8,
    9.0,
    math.sqrt(3.0),
    lambda x: np.clip(0.5 + x / math.sqrt(12.0), 0.0, 1.0),
)
#: Cuts that initialisers use: 2 (the default of truncated normals), 3 (OLMo and others).
SHAPES = (NORMAL, UNIFORM, _truncated(3.0), _truncated(2.0))


@dataclass(frozen=True, slots=True)
class Fit:
    """How well values agree with a shape.

    Attributes:
        shape: the best one.
        scale: standard deviation of the values.
        off: the worst deviation, in standard errors.
        kurtosis: of the values.
    """

    shape: Shape
    scale: float
    off: float
    kurtosis: float

    @property
    def parameter(self) -> float:
        """The standard deviation of a normal, or the bound of a uniform."""
        return self.scale * (self.shape.largest if self.shape.distribution == "uniform" else 1.0)


def fit_shape(values: Array, *, most_beyond: float = 0.0) -> Fit:
    """Compare values, taken to be independent and of mean 0, with every shape.

    Args:
        values: float64[n], n > 8, finite and not all 0.
        most_beyond: share of values that may lie beyond a shape's bound, because some may have been altered.

    Returns:
        The shape that fits best. `off` combines kurtosis, Kolmogorov and Smirnov's distance and the largest
        magnitude: about 1 for a true shape, below 4 nearly always.
    """
    count = len(values)
    size = float(np.max(np.abs(values)))
    scaled = values / size
    deviation = float(np.sqrt(np.mean(scaled * scaled)))
    scaled /= deviation
    square = scaled * scaled
    kurtosis = float(np.mean(square * square))
    compared = np.sort(scaled[np.arange(min(count, MOST_COMPARED)) * count // min(count, MOST_COMPARED)])
    steps = np.arange(len(compared) + 1) / len(compared)
    best = None
    for shape in SHAPES:
        # The scale is estimated from the same values, which takes away three quarters of the plain variance
        # m8 - m4^2: exactly so for a normal, within a tenth for a uniform.
        error = math.sqrt(max(shape.eighth - shape.kurtosis**2, 1e-9) / count) / 2.0
        if kurtosis > shape.kurtosis:
            # Of few values the kurtosis has a long upper tail.
            error *= 1.0 + 6.0 / math.sqrt(count)
        below = shape.below(compared)
        distance = max(float(np.max(steps[1:] - below)), float(np.max(below - steps[:-1])))
        # Kolmogorov's distance has mean 0.87 and deviation 0.26, in units of 1 / sqrt(n).
        far = (distance * math.sqrt(len(compared)) - 0.87) / 0.26
        bound = shape.largest * (1.0 + 3.0 / math.sqrt(count))
        beyond = 99.0 if float(np.mean(np.abs(scaled) > bound)) > most_beyond else 0.0
        off = max(abs(kurtosis - shape.kurtosis) / error, far, beyond)
        # A cut is believed in only where the plain shapes do not do.
        if best is None or off < best.off - (PLAIN if shape not in (NORMAL, UNIFORM) else 0.0):
            best = Fit(shape, deviation * size, off, kurtosis)
    assert best is not None
    return best
