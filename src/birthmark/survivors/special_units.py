"""Rows and columns that hold no draw of their own: zeros, constants, copies, means, NaN and infinity.

They are told apart before anything else, because some of them look surer than any survivor: a copied row has
the right norm and shape, and a mean-filled one the tightest norm of all.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.statistics import Statistics
from birthmark.survivors.units import Units

#: With fewer units the mean of all is not telling: one unit is a good part of it.
LEAST_FOR_MEAN = 16
#: A unit counts as filled with the mean if it lies this near to the mean of all, relative to the mean's norm.
NEAR_MEAN = 0.1


def special_units(units: Units, statistics: Statistics) -> dict[str, NDArray[np.int64]]:
    """The ids of special units by kind; kinds that do not occur are left out.

    Args:
        units: the rows or columns.
        statistics: what `measure` saw of them.

    Returns:
        "zero", "constant", "duplicate" (every copy, the first one included), "mean-filled" and "not-finite",
        each with its ids ascending. A unit is listed once, under the first kind that fits.
    """
    found: dict[str, NDArray[np.bool_]] = {"not-finite": ~statistics.finite, "zero": statistics.zero}
    found["constant"] = statistics.constant & ~statistics.zero & (units.width > 1)
    taken = found["not-finite"] | found["zero"] | found["constant"]
    found["duplicate"] = _duplicates(units, statistics, ~taken)
    taken |= found["duplicate"]
    found["mean-filled"] = _mean_filled(units, statistics, ~taken)
    return {kind: statistics.ids[which] for kind, which in found.items() if which.any()}


def _duplicates(units: Units, statistics: Statistics, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Units that equal another one in every value."""
    copies = np.zeros(len(among), dtype=np.bool_)
    if units.width < 2:
        return copies
    places = np.flatnonzero(among)
    _, group, size = np.unique(statistics.key[places], axis=0, return_inverse=True, return_counts=True)
    alike = places[size[group.reshape(-1)] > 1]
    first: dict[bytes, int] = {}
    for part, values in units.chunks(statistics.ids[alike]):
        for place, unit in zip(alike[part], values, strict=True):
            seen = first.setdefault(blake2b(unit.tobytes(), digest_size=16).digest(), int(place))
            if seen != place:
                copies[[seen, place]] = True
    return copies


def _mean_filled(units: Units, statistics: Statistics, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Units that lie at the mean of all, as rows do that were added to a vocabulary later."""
    filled = np.zeros(len(among), dtype=np.bool_)
    centre = statistics.centre
    size = float(np.sqrt(np.mean(centre * centre)))
    if among.sum() < LEAST_FOR_MEAN or units.width < 2 or size == 0.0 or not np.isfinite(size):
        return filled
    norm = np.sqrt(statistics.energy)
    alike = np.flatnonzero(among & (np.abs(norm / size - 1.0) < NEAR_MEAN))
    for part, values in units.chunks(statistics.ids[alike]):
        off = np.sqrt(np.mean((values / size - centre / size) ** 2, axis=1))
        filled[alike[part]] = off < NEAR_MEAN
    return filled
