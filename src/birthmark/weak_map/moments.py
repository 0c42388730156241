"""Sums from which correlations and regressions follow, for one tensor and for each of its parts.

Levelled values a are correlated with predicted ones y; the stored values x are regressed on them without a
constant: x = kept y + rest. The first is for significance, the second says how much of the birth is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: The quantities that are summed over a unit, in the order of the rows of `Moments.sums`.
QUANTITIES: Final = ("n", "a", "y", "aa", "yy", "ay", "x", "xx", "xy")

Sums = NDArray[np.float64]


def sums_of(
    stored: NDArray[np.float64],
    level: NDArray[np.float64],
    predicted: NDArray[np.float64],
    finite: NDArray[np.bool_],
    axis: int,
) -> Sums:
    """The sums of a block along one of its axes: float64[quantities, rows or columns].

    Args:
        stored: (rows, columns), 0 where a value is not finite; so are the next two.
        level: the same levelled.
        predicted: their predictions.
        finite: which values are finite.
        axis: 1 for sums of rows, 0 for sums of columns.
    """
    to = "ij,ij->i" if axis == 1 else "ij,ij->j"
    pairs = ((level, level), (predicted, predicted), (level, predicted))
    aa, yy, ay = (np.einsum(to, one, other) for one, other in pairs)
    return np.stack(
        [
            finite.sum(axis=axis).astype(np.float64),
            level.sum(axis=axis),
            predicted.sum(axis=axis),
            aa,
            yy,
            ay,
            stored.sum(axis=axis),
            np.einsum(to, stored, stored),
            np.einsum(to, stored, predicted),
        ]
    )


def correlations(n: Sums, x: Sums, y: Sums, xx: Sums, yy: Sums, xy: Sums) -> Sums:
    """Pearson's r from sums; NaN where one side does not vary, or of fewer than 3 values."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        along, across = n * xx - x * x, n * yy - y * y
        # Rounding of the sums alone leaves about 1e-13 of them where nothing varies.
        varies = (n >= 3) & (along > 1e-12 * n * xx) & (across > 1e-12 * n * yy)
        r = np.where(varies, (n * xy - x * y) / np.sqrt(along * across), np.nan)
    return np.clip(r, -1.0, 1.0)


def levelled_r(sums: Sums) -> Sums:
    """The correlation of levelled and predicted values, one for each column of `sums`."""
    n, a, y, aa, yy, ay = sums[:6]
    return correlations(n, a, y, aa, yy, ay)


def stored_r(sums: Sums) -> Sums:
    """The correlation of stored and predicted values, likewise."""
    n, y, yy = sums[0], sums[2], sums[4]
    return correlations(n, sums[6], y, sums[7], yy, sums[8])


def kept(sums: Sums, unit: float) -> Sums:
    """How much of the initial values is left: the regression of stored values on them; NaN without any.

    Args:
        sums: see `sums_of`.
        unit: of the stored values.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums[4] > 0.0, sums[8] / sums[4], np.nan) * unit


@dataclass(slots=True)
class Moments:
    """Sums of a whole tensor as its blocks come in.

    Attributes:
        shifts: how many other pairings are summed beside the true one.
        sums: float64[quantities], see `QUANTITIES`.
        shifted: float64[shifts], the sums of a times y of other rows.
        robust: sums of (x y)^2, x y^3 and y^4, for the error of the regression.
        fourth: sums of a^2 y^2, a^3 y, a y^3, a^4 and y^4, for the error of the correlation.
        equal: values equal to the prediction in the stored dtype.
    """

    shifts: int
    sums: Sums = field(init=False)
    shifted: Sums = field(init=False)
    robust: Sums = field(init=False)
    fourth: Sums = field(init=False)
    equal: int = 0

    def __post_init__(self) -> None:
        self.sums = np.zeros(len(QUANTITIES))
        self.shifted = np.zeros(self.shifts)
        self.robust = np.zeros(3)
        self.fourth = np.zeros(5)

    @property
    def n(self) -> int:
        """Finite values compared."""
        return int(self.sums[0])

    @property
    def shifted_r(self) -> Sums:
        """The correlations of the other pairings."""
        n, a, y, aa, yy, _ = self.sums[:6]
        one = np.ones(self.shifts)
        return correlations(n * one, a * one, y * one, aa * one, yy * one, self.shifted)

    def z_error(self) -> float:
        """The standard error of Fisher's z of the correlation, whatever the sizes of rows; NaN without one.

        Never below 1 / sqrt(n - 3), which is that of normal pairs. Means of levelled values and of predicted
        ones, nearly 0 both, are left out of account.

        Source: Steiger and Hakstian, "The asymptotic distribution of elements of a correlation matrix",
        British Journal of Mathematical and Statistical Psychology 35 (1982), for one correlation.
        """
        n, _, _, aa, yy, ay = self.sums[:6].tolist()
        if n < 4 or aa <= 0.0 or yy <= 0.0:
            return math.nan
        r = float(np.clip(ay / math.sqrt(aa * yy), -1.0, 1.0))
        level, born = math.sqrt(aa / n), math.sqrt(yy / n)
        sizes = np.array([level**2 * born**2, level**3 * born, level * born**3, level**4, born**4])
        both, three, one, own, other = (self.fourth / sizes / n).tolist()
        spread = both * (1.0 + r * r / 2.0) + r * r / 4.0 * (own + other) - r * (three + one)
        if abs(r) >= 1.0:
            return math.nan
        return math.sqrt(max(spread / (1.0 - r * r) ** 2, 1.0) / (n - 3.0))

    def kept_error(self, unit: float) -> float:
        """The standard error of `kept`, whatever the residuals' sizes; NaN without predictions that vary.

        Source: White, "A heteroskedasticity-consistent covariance matrix estimator", Econometrica 48 (1980).
        """
        yy, xy = self.sums[4], self.sums[8]
        if yy <= 0.0:
            return math.nan
        slope = xy / yy
        meat = self.robust[0] - 2.0 * slope * self.robust[1] + slope * slope * self.robust[2]
        return float(math.sqrt(max(meat, 0.0)) / yy * unit)

    def norm_share(self) -> float:
        """The share of the stored values' squared norm that the regression explains; NaN without any."""
        yy, xx, xy = self.sums[4], self.sums[7], self.sums[8]
        return float(min(xy * xy / (yy * xx), 1.0)) if yy > 0.0 and xx > 0.0 else math.nan
