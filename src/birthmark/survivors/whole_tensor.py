"""A whole untouched tensor: independent values of one known shape, row by row and column by column.

Every test here has a known answer for a fresh draw, whatever its scale: the shape of the distribution, the mean,
energies and means of rows and of columns as tight as chance allows, and the largest singular value at the edge
that random matrices have. Training leaves none of them alone for long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.shape import Fit, fit_shape

#: Fewest values of a tensor that can be judged, and read, on its own.
LEAST_VALUES = 64
#: Deviations, in standard errors, up to which a test is passed, and from which it has failed for certain.
PASSED, FAILED = 4.5, 6.0
#: Rows and columns of the block whose singular values are looked at, at most.
BLOCK = 256
#: Distribution of Tracy and Widom for real matrices (I. Johnstone, Ann. Stat. 29 (2001) 295): mean, deviation.
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


def judge_whole(values: NDArray[np.float64]) -> Whole:
    """Hold a sample of a tensor's rows against what a fresh draw must look like.

    Args:
        values: float64[rows, columns], finite, at least `LEAST_VALUES` in all, not constant.
    """
    scaled = values / np.max(np.abs(values))
    fit = fit_shape(scaled.reshape(-1))
    tests = {f"the values are not distributed as a {fit.shape.name} one's": fit.off}
    unit = scaled / fit.scale
    rows, columns = unit.shape
    tests["their mean is not zero"] = abs(float(unit.mean())) * math.sqrt(unit.size)
    if min(rows, columns) > 1:
        spread = math.sqrt(max(fit.shape.kurtosis - 1.0, 0.1))
        for axis, name in ((1, "rows"), (0, "columns")):
            length = unit.shape[axis]
            energy = ((unit * unit).mean(axis=axis) - 1.0) * math.sqrt(length) / spread
            tests[f"the norms of {name} differ more than chance allows"] = _excess(energy, length)
            mean = unit.mean(axis=axis) * math.sqrt(length)
            tests[f"the means of {name} differ more than chance allows"] = _excess(mean, length)
    if min(rows, columns) >= 8:
        tests["some directions hold more energy than chance allows"] = edge_deviation(unit)
    off = max(tests.values())
    probability = 0.99 / (1.0 + math.exp(min(60.0, 8.0 * (off - (PASSED + FAILED) / 2.0))))
    failed = sorted((test for test in tests if tests[test] > PASSED), key=lambda test: -tests[test])
    whole_fit = Fit(fit.shape, fit.scale * float(np.max(np.abs(values))), fit.off, fit.kurtosis)
    return Whole(probability, whole_fit, tuple(failed))


def _excess(standard: NDArray[np.float64], length: int) -> float:
    """How far the spread of nearly standard normal numbers lies from 1, in standard errors of it.

    Means over few values are not quite normal, and with few of them the spread is known badly.
    """
    count = len(standard)
    ratio = float(np.mean(standard * standard))
    # Wilson and Hilferty's cube root makes chi-square with `count` degrees of freedom nearly normal.
    off = (ratio ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * count))) / math.sqrt(2.0 / (9.0 * count))
    return off / math.sqrt(1.0 + 8.0 / length) if off > 0.0 else -off


def edge_deviation(unit: NDArray[np.float64]) -> float:
    """How far the largest singular value lies from that of independent values, in standard deviations."""
    rows, columns = (np.arange(min(n, BLOCK)) * n // min(n, BLOCK) for n in unit.shape)
    block = unit[np.ix_(rows, columns)]
    n, p = max(block.shape), min(block.shape)
    root = math.sqrt(n - 1) + math.sqrt(p)
    width = root * (1.0 / math.sqrt(n - 1) + 1.0 / math.sqrt(p)) ** (1.0 / 3.0)
    largest = float(np.linalg.norm(block, 2)) ** 2
    return abs((largest - root * root) / width - TRACY_WIDOM[0]) / TRACY_WIDOM[1]


def looks_orthogonal(values: NDArray[np.float64]) -> bool:
    """Whether all singular values of a matrix are the same, as those of an orthogonal initialisation are."""
    if min(values.shape) < 8 or max(values.shape) > 8192:
        return False
    short = values if values.shape[0] <= values.shape[1] else values.T
    if short.shape[0] > BLOCK:
        short = short[:BLOCK]
    gram = short @ short.T
    middle = float(np.mean(np.diag(gram)))
    return bool(np.max(np.abs(gram / middle - np.eye(len(gram)))) < 0.01)
