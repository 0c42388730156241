"""The second stage: with a prediction at hand, every row or column is judged again by its own values.

A survivor agrees with its prediction up to the rounding of the stored dtype, value by value, save a few
values that may have been altered. A row that was touched once correlates with its prediction at 0.92 to 0.99,
but few of its values agree. The share that does decides; correlation does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.dtypes import interval

#: Share of a survivor's values that may have been altered.
ALTERED = 0.03
#: Share of a touched unit's values that agree by chance, at most: the lightest touches leave half.
BY_CHANCE = 0.5
#: Errors of a prediction that is not exact, relative to its own size and to the scale of all.
SLACK = 4e-6
#: Units on which the common factor is measured.
FACTOR_UNITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Rejudged:
    """What the predictions say of every unit, in the order given.

    Attributes:
        probability: float64, that the unit still holds its initial values.
        altered: int64, how many of its values do not agree; of survivors these were altered.
        agrees: bool[n, width], which values agree.
        correlation: float64, of values and prediction; 0 where either does not vary.
        factor: what all survivors were multiplied by since; 1 without weight decay.
    """

    probability: NDArray[np.float64]
    altered: NDArray[np.int64]
    agrees: NDArray[np.bool_]
    correlation: NDArray[np.float64]
    factor: float

    @property
    def survives(self) -> NDArray[np.bool_]:
        """Which units are likelier untouched than not."""
        return np.asarray(self.probability >= 0.5)


def rejudge(
    values: NDArray[Any],
    predictions: NDArray[Any],
    dtype: str,
    *,
    factor: float | None = None,
    prior: NDArray[np.float64] | float = 0.5,
) -> Rejudged:
    """Judge units by predictions of their values.

    Args:
        values: float[n, width], as stored.
        predictions: float[n, width], as drawn.
        dtype: the stored dtype.
        factor: what survivors were multiplied by; measured on the best units where it is None.
        prior: probability of each unit, or of all, before its prediction was known; not 0 or 1.

    Returns:
        The judgement of each unit. Values that are not finite never agree.

    Raises:
        UsageError: values and predictions do not have the same two-dimensional shape.
    """
    if values.ndim != 2 or values.shape != predictions.shape:
        raise UsageError(
            f"values of shape {values.shape} cannot be judged by predictions of shape {predictions.shape}: "
            "both must be the same units, one a row."
        )
    stored, drawn = values.astype(np.float64), predictions.astype(np.float64)
    finite = np.isfinite(stored) & np.isfinite(drawn)
    correlation = _correlation(np.where(finite, stored, 0.0), np.where(finite, drawn, 0.0))
    if factor is None:
        factor = _common_factor(stored, drawn, finite, correlation)
    low, high = interval(values, dtype)
    # Drawn in a coarse dtype, decayed, and rounded again: twice the width of one rounding.
    half = 0.5 * (high - low)
    wanted = factor * drawn
    scale = float(np.sqrt(np.mean(wanted[finite] ** 2))) if finite.any() else 0.0
    slack = half + SLACK * (np.abs(wanted) + scale)
    with np.errstate(invalid="ignore"):
        agrees = finite & (wanted >= low - slack) & (wanted <= high + slack)
    count = agrees.sum(axis=1)
    missing = values.shape[1] - count
    odds = count * np.log((1.0 - ALTERED) / BY_CHANCE) + missing * np.log(ALTERED / (1.0 - BY_CHANCE))
    odds = odds + np.log(prior) - np.log1p(-np.asarray(prior))
    probability = 1.0 / (1.0 + np.exp(-np.clip(odds, -60.0, 60.0)))
    return Rejudged(probability, missing.astype(np.int64), agrees, correlation, factor)


def _correlation(stored: NDArray[np.float64], drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation of each unit with its prediction, about zero."""
    size = np.sqrt((stored * stored).sum(axis=1) * (drawn * drawn).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 0.0, (stored * drawn).sum(axis=1) / size, 0.0)


def _common_factor(
    stored: NDArray[np.float64],
    drawn: NDArray[np.float64],
    finite: NDArray[np.bool_],
    correlation: NDArray[np.float64],
) -> float:
    """The median ratio of stored to drawn values over the large values of the best units."""
    best = np.argsort(-np.abs(correlation), kind="stable")[:FACTOR_UNITS]
    value, prediction = stored[best][finite[best]], drawn[best][finite[best]]
    if not len(prediction) or not np.any(prediction):
        return 1.0
    large = np.abs(prediction) >= np.median(np.abs(prediction[prediction != 0.0]))
    return float(np.median(value[large] / prediction[large]))
