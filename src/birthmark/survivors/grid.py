"""The grid of a float32 draw: which stored values a sampler can have made, given its scale.

A normal value is one rounded product z x std of a float32 z; a uniform value is u x 2B - B with u on a grid
of 2^-24, or of float32 numbers (CUDA). Where these lie further apart than float32 numbers do, some numbers
can never be drawn: a fifth of them for std 0.02, most of the small ones for a uniform. An untouched unit has
only drawable values; of a touched one each value is drawable by chance alone. A hundred values thereby decide
almost for certain, but only where they are stored in float32 and were not decayed since, and where the scale
is exactly known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.survivor import Distribution

#: Share of an untouched unit's values that may have been altered or drawn otherwise.
ALTERED = 0.01
#: Natural log of the odds at which a scale counts as found.
CERTAIN = 40.0
#: Values that are compared when a scale is sought.
COMPARED = 4096
#: Spacing of the CPU's uniforms, and of CUDA's above one half.
_STEP = 2.0**-24


@dataclass(frozen=True, slots=True)
class Grid:
    """The values that one float32 draw can give.

    Attributes:
        distribution: "normal" with mean 0, or "uniform" from -scale to scale.
        scale: standard deviation or bound, as the caller passed it.
        fine: whether a uniform's grid is finer below one half, as on a GPU.
    """

    distribution: Distribution
    scale: float
    fine: bool = False

    def compare(self, values: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each value can have been drawn, and the chance that one nearby can be without a draw."""
        if self.distribution == "normal":
            return _normal(values, self.scale)
        return _uniform(values, self.scale, fine=self.fine)

    def weigh(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """How much each value speaks for having been drawn: natural log of the odds."""
        drawable, chance = self.compare(values)
        with np.errstate(divide="ignore"):
            yes = np.log((1.0 - ALTERED + ALTERED * chance) / chance)
        return np.where(drawable, yes, np.log(ALTERED))

    def altered(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """The share of each row's values that were not drawn, estimated from those off the grid."""
        drawable, chance = self.compare(values)
        seen: NDArray[np.float64] = (~drawable).mean(axis=1) / np.maximum((1.0 - chance).mean(axis=1), 1e-9)
        return seen


def _normal(values: NDArray[np.float32], std: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which values are products z x std rounded once, and the share of float32 numbers there that are."""
    single = np.float32(std)
    with np.errstate(over="ignore"):
        z = (values.astype(np.float64) / np.float64(single)).astype(np.float32)
        drawable = z * single == values
        for side in (np.float32(np.inf), np.float32(-np.inf)):
            drawable |= np.nextafter(z, side) * single == values
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.spacing(np.abs(z)).astype(np.float64) * np.float64(single)
            chance = np.minimum(1.0, np.spacing(np.abs(values)) / apart)
    return drawable, chance


def _uniform(
    values: NDArray[np.float32], bound: float, *, fine: bool
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The same for u x 2B - B, fused or not, with u a multiple of 2^-24 or, if fine, a float32 number."""
    low = -np.float32(bound)
    span = np.float32(bound) - low
    wide, start = np.float64(span), np.float64(low)
    exact = values.astype(np.float64)
    u = (exact - start) / wide
    step = np.spacing(np.maximum(np.abs(u), _STEP).astype(np.float32)).astype(np.float64) if fine else _STEP
    number = np.rint(u / step)
    drawable = np.zeros(values.shape, dtype=np.bool_)
    for off in (-1.0, 0.0, 1.0):
        near = (number + off) * step
        fused = (near * wide + start).astype(np.float32)
        apart = (near.astype(np.float32) * span) + low
        drawable |= (near >= 0.0) & (near <= 1.0) & ((fused == values) | (apart == values))
    # Two ways of rounding are accepted, so chance agreement counts double.
    chance = np.minimum(1.0, 2.0 * np.spacing(np.abs(values)).astype(np.float64) / (wide * step))
    return drawable, np.where(np.abs(exact) <= -start, chance, 0.5)


def find_grid(
    values: NDArray[np.float32], distribution: Distribution, scales: NDArray[np.float64]
) -> Grid | None:
    """The scale whose grid holds a sample of values; None where none does.

    Args:
        values: float32[n, width], units that seem surest; half of them may be impostors.
        distribution: the shape of the values.
        scales: nominal scales to try.

    Returns:
        The best grid, if the units that lie on it are certain.
    """
    if not values.size:
        return None
    compared = values[:, : max(1, COMPARED // len(values))]
    best, odds = None, CERTAIN
    for scale in scales:
        for fine in (False, True) if distribution == "uniform" else (False,):
            grid = Grid(distribution, float(scale), fine)
            weight = grid.weigh(compared).sum(axis=1)
            total = float(weight[weight > 0.0].sum())
            if total > odds:
                best, odds = grid, total
    return best
