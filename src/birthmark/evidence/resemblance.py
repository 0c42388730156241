"""How much of a tensor's initial values is left in it, summed up over blocks of rows in bounded memory.

Three looks at the same elements: how many are equal bit for bit; how many rows or columns still follow their
initial values up to one factor each, as weight decay leaves them; and the correlation over all of them, the
weak trace that training leaves where every element moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.significance import after_trials, log10_tail

#: A row or column that correlates so well with its prediction still holds it, up to a factor.
HELD: Final = 0.999
#: Elements that a row or column must have to be judged by itself.
LEAST: Final = 16
#: Columns of a tensor beyond which they are not judged one by one.
MOST_COLUMNS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Resemblance:
    """What is left of a tensor's initial values.

    Attributes:
        n: finite elements compared.
        equal: how many are equal to the prediction in the stored dtype.
        rows: rows that hold their initial values up to a factor, and rows judged.
        columns: likewise.
        r: correlation of stored and predicted values; None where there is none.
        sigma: r sqrt(n).
        log10_p: log10 of the chance of such a sigma for a wrong prediction, after all trials.
    """

    n: int
    equal: int
    rows: tuple[int, int]
    columns: tuple[int, int]
    r: float | None
    sigma: float | None
    log10_p: float | None


class Comparison:
    """A comparison as blocks of rows come in."""

    def __init__(self, columns: int) -> None:
        """A comparison of matrices of so many columns."""
        self._columns = columns
        self._judged = columns <= MOST_COLUMNS
        self._sums = np.zeros((6, columns if self._judged else 1), np.float64)
        self._equal = 0
        self._rows = [0, 0]

    def add(self, stored: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Take in a block of rows.

        Args:
            stored: (rows, columns), as the checkpoint holds them, decoded.
            predicted: the same elements as predicted, rounded to the stored dtype.
        """
        self._equal += int(np.count_nonzero(stored == predicted))
        x, y = np.asarray(stored, np.float64), np.asarray(predicted, np.float64)
        finite = np.isfinite(x) & np.isfinite(y)
        if not finite.all():
            x, y = np.where(finite, x, 0.0), np.where(finite, y, 0.0)
        parts = (finite.astype(np.float64), x, y, x * x, y * y, x * y)
        if self._columns >= LEAST:
            held = _correlated(*(part.sum(axis=1) for part in parts)) > HELD
            self._rows[0] += int(held.sum())
            self._rows[1] += len(held)
        for total, part in zip(self._sums, parts, strict=True):
            total += part.sum(axis=0) if self._judged else part.sum()

    def result(self, trials: int) -> Resemblance:
        """What was found.

        Args:
            trials: predictions that were compared with the checkpoint, this one included.
        """
        total = self._sums.sum(axis=1)
        n = int(total[0])
        columns = (0, 0)
        if self._judged and self._columns > 1 and n >= LEAST * self._columns:
            columns = int((_correlated(*self._sums) > HELD).sum()), self._columns
        r = float(_correlated(*total.reshape(6, 1))[0]) if n > 2 else math.nan
        rows = (self._rows[0], self._rows[1])
        if math.isnan(r):
            return Resemblance(n, self._equal, rows, columns, None, None, None)
        sigma = r * math.sqrt(n)
        return Resemblance(
            n, self._equal, rows, columns, r, sigma, after_trials(log10_tail(sigma), max(trials, 1))
        )


def _correlated(
    n: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    xx: NDArray[np.float64],
    yy: NDArray[np.float64],
    xy: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Pearson's r from sums; NaN where one side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        along, across = n * xx - x * x, n * yy - y * y
        # Rounding of the sums alone leaves about 1e-13 of them where nothing varies.
        varies = (n >= 3) & (along > 1e-12 * n * xx) & (across > 1e-12 * n * yy)
        r = np.where(varies, (n * xy - x * y) / np.sqrt(along * across), np.nan)
    return np.clip(r, -1.0, 1.0)
