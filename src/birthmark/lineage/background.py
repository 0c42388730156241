"""The sentences about backgrounds: what findings were held against, and what would have been seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from birthmark.lineage.fresh import Fresh
from birthmark.lineage.pairing import Pairing
from birthmark.lineage.trained import SHIFTS


def background(telling: Sequence[Pairing], trials: int, *, with_power: bool) -> list[str]:
    """What was measured to hold the findings against; what would have been seen, if that is wanted."""
    told: list[str] = []
    trained = [each.trained for each in telling if each.trained is not None]
    fresh = [each.fresh for each in telling if each.fresh is not None]
    if not telling:
        return told
    told.append(f"Trials counted: {trials:,} (tensors that tell, over all pairs).")
    if trained:
        shifts = sum(each.shifts for each in trained)
        told.append(
            f"Background of trained rows: {shifts:,} pairings shifted along rows or columns, largest r "
            f"{max(each.background for each in trained):.4f}; p is Student's tail over one tensor's "
            f"along one axis, where counting alone could show no less than 1 in {SHIFTS + 1}."
        )
    shifted = [each.shifted for each in fresh if each.shifted is not None]
    if shifted:
        told.append(
            f"Background of untouched rows: {sum(each.shifts for each in fresh):,} shifted pairings, largest "
            f"r {max(shifted):.4f}; p is the Gaussian tail of r sqrt(n), or the share of a sphere for rows "
            "that hold one draw."
        )
    rate = max(each.copied.rate for each in telling)
    told.append(f"Values of shifted rows coincide in {rate:.1e} of cases at the most; p is Chernoff's bound.")
    if with_power:
        told += _power([each.detectable for each in trained], fresh)
    return told


def _power(detectable: Sequence[float], untouched: Sequence[Fresh]) -> list[str]:
    """What would have been seen."""
    told = []
    if untouched:
        least = [each.least_same for each in untouched if each.least_same is not None]
        units = sum(each.units for each in untouched)
        told.append(
            f"Seen would have been: one draw in {min(least, default=units):,} of the {units:,} rows and "
            "columns that are untouched in either, scaled or not."
        )
    else:
        told.append("Neither has rows that look untouched, so only trained values could have shown anything.")
    if detectable:
        told.append(
            f"Seen would have been: a correlation of trained rows of r = {min(detectable):.3f} in the best, "
            f"{float(np.median(detectable)):.3f} in the median tensor; equal values of 5% of the rows."
        )
    return told
