"""One pass over all units of a tensor: the few numbers of each by which the rest of the survey is led.

Each unit is divided by its own largest magnitude before anything is squared, because survivors of long weight
decay can be as small as 1e-23 beside trained rows near 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.units import Units

#: Columns whose values, together with the extremes, tell candidates for exact duplicates apart.
_TELLING = 4


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What is known of every unit, one entry a unit.

    Attributes:
        ids: int64, the units that were looked at, ascending.
        energy: mean square; NaN where the unit is not finite.
        mean: mean value.
        kurtosis: mean fourth power over the squared energy: 3 for a normal, 1.8 for a uniform.
        largest: largest magnitude.
        finite: whether every value is finite.
        constant: whether all values are the same.
        key: float64[n, 6], exact values that equal units share.
        centre: float64[width], the mean of all finite units.
    """

    ids: NDArray[np.int64]
    energy: NDArray[np.float64]
    mean: NDArray[np.float64]
    kurtosis: NDArray[np.float64]
    largest: NDArray[np.float64]
    finite: NDArray[np.bool_]
    constant: NDArray[np.bool_]
    key: NDArray[np.float64]
    centre: NDArray[np.float64]

    @property
    def zero(self) -> NDArray[np.bool_]:
        """Which units hold nothing but zeros."""
        return np.asarray(self.finite & (self.largest == 0.0))


def measure(units: Units, ids: NDArray[np.int64] | None = None) -> Statistics:
    """Look once at every unit, or at the given ones."""
    chosen = np.arange(units.count, dtype=np.int64) if ids is None else ids
    count = len(chosen)
    energy, mean, kurtosis, largest = (np.full(count, np.nan) for _ in range(4))
    finite, constant = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    places = np.linspace(0, units.width - 1, _TELLING).astype(np.int64)
    key = np.full((count, _TELLING + 2), np.nan)
    total = np.zeros(units.width)
    for part, values in units.chunks(ids):
        sound = np.isfinite(values).all(axis=1)
        low, high = values.min(axis=1), values.max(axis=1)
        top = np.where(sound, np.maximum(np.abs(low), np.abs(high)), low.dtype.type(1.0))
        with np.errstate(invalid="ignore"):
            scaled = values / np.where(top > 0.0, top, low.dtype.type(1.0))[:, None]
        scaled[~sound] = 0.0
        square = scaled * scaled
        second = square.mean(axis=1, dtype=np.float64)
        fourth = np.einsum("ij,ij->i", square, square) / units.width
        finite[part], largest[part] = sound, np.where(sound, top, np.nan)
        size = top.astype(np.float64)
        constant[part] = sound & (low == high)
        energy[part] = np.where(sound, second * size * size, np.nan)
        mean[part] = np.where(sound, scaled.mean(axis=1, dtype=np.float64) * size, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            kurtosis[part] = fourth / (second * second)
        key[part] = np.column_stack([low, high, values[:, places]])
        total += (values if sound.all() else values[sound]).sum(axis=0, dtype=np.float64)
    centre = total / max(1, int(finite.sum()))
    return Statistics(chosen, energy, mean, kurtosis, largest, finite, constant, key, centre)
