"""A whole untouched tensor: independent values of one known shape, row by row and column by column.

Every test here has a known answer for a fresh draw, whatever its scale: the shape of the distribution, the
mean, energies and means of rows and of columns as tight as chance allows, and the largest singular value at
the edge that random matrices have. Training leaves none of them alone for long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.shape import Fit, fit_shape

#: Fewest values of a tensor that can be judged, and read, on its own.
LEAST_VALUES = 64
#: Deviations, in standard errors, up to which a test is passed, and from which it has failed for certain.
PASSED, FAILED = 4.5, 6.0
#: Deviations of a single row's energy, in standard errors, up to which it belongs to an untouched tensor.
ROW_LIMIT = 6.0
#: Rows and columns of the block whose singular values are looked at, at most.
BLOCK = 256
#: Mean and deviation of Tracy and Widom's law for real matrices (I. Johnstone, Ann. Stat. 29 (2001) 295).
TRACY_WIDOM = (-1.2065, 1.2680)


@dataclass(frozen=True, slots=True)
class Whole:
    """Whether a tensor looks like one fresh draw.

    Attributes:
        probability: that it is one, from its own values alone.
        fit: the shape of its values.
        failed: the tests that it failed, in words, worst first.
    """

    probability: float
    fit: Fit
    failed: tuple[str, ...]

    def has_energy(self, energy: NDArray[np.float64], width: int) -> NDArray[np.bool_]:
        """Which rows of so many values have the mean square of a row of a fresh draw."""
        spread = math.sqrt((self.fit.shape.kurtosis - 1.0) / width)
        off = np.abs(np.log(energy / self.fit.scale**2))
        return np.asarray(off < ROW_LIMIT * spread * math.sqrt(1.0 + 8.0 / width))


def judge_whole(values: NDArray[np.float64]) -> Whole:
    """Hold a sample of a tensor's rows against what a fresh draw must look like.

    Args:
        values: float64[rows, columns], finite, at least `LEAST_VALUES` in all, not constant.
    """
    size = float(np.max(np.abs(values)))
    fit = fit_shape(values.reshape(-1) / size)
    tests = deviations(values / size, fit)
    off = max(abs(test) for test in tests.values())
    probability = 0.99 / (1.0 + math.exp(min(60.0, 8.0 * (off - (PASSED + FAILED) / 2.0))))
    failed = sorted((test for test in tests if abs(tests[test]) > PASSED), key=lambda test: -abs(tests[test]))
    return Whole(probability, replace(fit, scale=fit.scale * size), tuple(failed))


def deviations(values: NDArray[np.float64], fit: Fit) -> dict[str, float]:
    """How far values lie from one fresh draw, by what they have too much (positive) or too little of.

    Args:
        values: float64[rows, columns].
        fit: the shape of all of them.

    Returns:
        For each test, in words as a failure of it, the deviation in standard errors.
    """
    unit = values / fit.scale
    tests = {f"its values are neither normal nor uniform (kurtosis {fit.kurtosis:.2f})": fit.off}
    tests["the mean of its values is not zero"] = abs(float(unit.mean())) * math.sqrt(unit.size)
    if min(unit.shape) > 1:
        spread = math.sqrt(max(fit.shape.kurtosis - 1.0, 0.1))
        for axis, name in ((1, "rows"), (0, "columns")):
            length = unit.shape[axis]
            energy = ((unit * unit).mean(axis=axis) - 1.0) * math.sqrt(length) / spread
            tests[f"the norms of its {name} differ more than chance allows"] = _excess(energy, length)
            mean = unit.mean(axis=axis) * math.sqrt(length)
            tests[f"the means of its {name} differ more than chance allows"] = _excess(mean, length)
    if min(unit.shape) >= 8:
        tests["some directions of it hold more energy than chance allows"] = edge_deviation(unit)
    return tests


def _excess(standard: NDArray[np.float64], length: int) -> float:
    """How far the spread of nearly standard normal numbers lies from 1, in standard errors of it.

    Means over few values are not quite normal, and with few of them the spread is known badly.
    """
    count = len(standard)
    ratio = float(np.mean(standard * standard))
    # Wilson and Hilferty's cube root makes chi-square with `count` degrees of freedom nearly normal.
    off = (ratio ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * count))) / math.sqrt(2.0 / (9.0 * count))
    return float(off / math.sqrt(1.0 + 8.0 / length))


def edge_deviation(unit: NDArray[np.float64]) -> float:
    """How far the largest singular value lies above that of independent values, in standard deviations."""
    rows, columns = (np.arange(min(n, BLOCK)) * n // min(n, BLOCK) for n in unit.shape)
    block = unit[np.ix_(rows, columns)]
    n, p = max(block.shape), min(block.shape)
    root = math.sqrt(n - 1) + math.sqrt(p)
    width = root * (1.0 / math.sqrt(n - 1) + 1.0 / math.sqrt(p)) ** (1.0 / 3.0)
    largest = float(np.linalg.norm(block, 2)) ** 2
    return float(((largest - root * root) / width - TRACY_WIDOM[0]) / TRACY_WIDOM[1])
