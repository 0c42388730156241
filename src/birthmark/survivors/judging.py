"""Rows or columns of one tensor: sorted, put on the sampler's grid where that decides, and checked.

Sorting always finds a tightest group. Whether it is one of survivors is asked afterwards: its values must
have one known shape, norms as tight as chance allows, no direction of their own, and the tensor must be
explained much better with it than without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.grid import Grid, find_grid
from birthmark.survivors.scales import nominal_scales, scales_near
from birthmark.survivors.shape import NORMAL, SHAPES, UNIFORM, Shape, fit_shape
from birthmark.survivors.sorting import Sorted, sort_units
from birthmark.survivors.starts import crowd
from birthmark.survivors.survivor import Distribution
from birthmark.survivors.units import Units
from birthmark.survivors.whole_tensor import LEAST_VALUES, PASSED, deviations, edge_deviation

#: Fewest units, and fewest values in each, from which survivors can be told.
LEAST_UNITS, LEAST_WIDTH = 24, 16
#: Evidence (natural log) that a tensor must give for survivors; chance groups reach 5.
LEAST_EVIDENCE = 12.0
#: Contrast of the shared directions from which they tell; with less of it a group must be a crowd.
LEAST_CONTRAST, LEAST_CROWD = 2.5, 4.0
#: Fewest units of a group of survivors.
LEAST_GROUP = 3
#: Limits of the checks on a group, in standard errors; impostors among true survivors stretch them a little.
SHAPE_LIMIT, EDGE_LIMIT = 6.0, 6.0
#: A group whose kurtosis is this near to a shape's may fail the sharper test.
KURTOSIS_LIMIT = 0.2
#: Spread of the norms of a group, in units of what chance gives. Two runs merged reach 2.1.
SPREAD_LIMIT = 2.5
#: A group of this share of all units is the whole tensor, which has been judged before.
ALL = 0.9
#: Share of a group's values that may lie beyond the bound of its shape.
MOST_BEYOND = 0.003
#: Units of a group that are read for its checks.
MOST_CHECKED = 256
#: Surest units on which a grid is sought, and the range of scales tried around the measured one.
GRID_UNITS, GRID_RANGE = 32, 0.15
#: A unit with a larger share of values that were not drawn is not merely altered in places.
MOST_ALTERED = 0.08
#: What a unit's values must make up for, natural log: few units are untouched, and touched ones can keep many
#: of their initial values.
PRIOR_ODDS = 11.5
#: What all units on a grid must have together beyond that.
LEAST_GRID_EVIDENCE = 20.0
#: Units whose energy lies within so many standard deviations of a bound's may lie on its grid.
_ENERGY_RANGE = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """The outcome for rows or for columns.

    Attributes:
        ids: int64, ascending, units with a probability that is not negligible.
        probability: float64, of each.
        distribution: the shape of their values.
        scale: standard deviation or bound.
        scale_error: relative standard error of `scale`.
        on_grid: whether the grid of the draw decided, which leaves little doubt.
    """

    ids: NDArray[np.int64]
    probability: NDArray[np.float64]
    distribution: Distribution
    scale: float
    scale_error: float
    on_grid: bool = False


def judge_units(
    units: Units,
    ids: NDArray[np.int64],
    energy: NDArray[np.float64],
    shape: tuple[int, ...],
    *,
    exact: bool,
    companion: Units | None = None,
) -> Judged | str:
    """Find the untouched units of a tensor.

    Args:
        units: its rows or columns.
        ids: int64, ascending, the units that are not special.
        energy: float64, mean square of each of them.
        shape: the extents of the tensor.
        exact: whether values are stored in float32 as they were drawn, so that a grid can decide.
        companion: rows of the same ids in another tensor.

    Returns:
        The survivors, or the reason in words why there are none.
    """
    if len(ids) < LEAST_UNITS or units.width < LEAST_WIDTH:
        return (
            f"{len(ids)} of {units.width} values each are too few to compare; "
            f"{LEAST_UNITS} of {LEAST_WIDTH} are needed"
        )
    found = sort_units(units, ids, energy, companion)
    if exact:
        on_grid = _by_grid(units, ids, energy, shape, found)
        if on_grid is not None:
            return on_grid
    if found is None:
        return "none has the norm and the directions of an untouched one"
    return _by_statistics(units, energy, found)


def _by_statistics(units: Units, energy: NDArray[np.float64], found: Sorted) -> Judged | str:
    """Check the group that sorting found."""
    group = found.ids[found.probability >= 0.5]
    if found.evidence < LEAST_EVIDENCE or len(group) < LEAST_GROUP:
        return "touched ones alone explain all norms and directions"
    # The smallest of rows that have gains of their own are alike as well, but no crowd.
    norms_alone = not found.companion and found.contrast < LEAST_CONTRAST
    if norms_alone and crowd(energy, found.energy, units.width) < LEAST_CROWD:
        return "touched ones share no directions, and norms alone do not set any apart"
    if len(group) * units.width < LEAST_VALUES:
        return f"the likely survivors hold {len(group) * units.width} values; {LEAST_VALUES} are needed"
    read = units.take(
        group[np.arange(min(len(group), MOST_CHECKED)) * len(group) // min(len(group), MOST_CHECKED)]
    )
    values = read.astype(np.float64) / math.sqrt(found.energy)
    fit = fit_shape(values.reshape(-1), most_beyond=MOST_BEYOND)
    if fit.off > SHAPE_LIMIT:
        # Impostors spoil a sharp test before they change the kurtosis by much.
        nearest = min(SHAPES, key=lambda shape: abs(shape.kurtosis - fit.kurtosis))
        fit = replace(fit, shape=nearest)
    if fit.off > SHAPE_LIMIT and abs(fit.kurtosis - fit.shape.kurtosis) > KURTOSIS_LIMIT:
        return (
            f"the values of the tightest group are neither normal nor uniform (kurtosis {fit.kurtosis:.2f})"
        )
    norms = (values * values).mean(axis=1)
    spread = float(np.log(norms).std()) / math.sqrt((fit.shape.kurtosis - 1.0) / units.width)
    if spread > SPREAD_LIMIT:
        return f"the norms of the tightest group spread {spread:.1f} times as widely as chance gives"
    if min(values.shape) >= 8 and edge_deviation(values / fit.scale) > EDGE_LIMIT:
        return "the tightest group shares directions of its own"
    if len(group) > ALL * units.count:
        return "none stands out, and as a whole it is no fresh draw"
    if len(group) > 0.5 * units.count:
        # A group that is most of the tensor has no impostors to excuse it, and its columns can be tested.
        tests = deviations(values, fit)
        worst = max(tests, key=lambda test: tests[test])
        if tests[worst] > PASSED:
            return f"of the tightest group, {worst}"
    kept = found.probability > 1e-6
    # Impostors below the half are few and at most a tenth too large.
    expected = found.probability[found.probability >= 0.5]
    bias = 0.05 * float(1.0 - expected.mean())
    error = math.hypot(math.sqrt((fit.shape.kurtosis - 1.0) / (4.0 * values.size)), bias)
    measured = math.sqrt(found.energy) * (fit.shape.largest if fit.shape is UNIFORM else 1.0)
    return Judged(found.ids[kept], found.probability[kept], fit.shape.distribution, measured, error)


def _by_grid(
    units: Units,
    ids: NDArray[np.int64],
    energy: NDArray[np.float64],
    shape: tuple[int, ...],
    found: Sorted | None,
) -> Judged | None:
    """Find the grid of the draw from likely units, then judge every unit by it."""
    grid = None
    if found is not None:
        surest = found.ids[np.argsort(-found.probability)[:GRID_UNITS]]
        values = units.take(surest).astype(np.float32)
        scale = math.sqrt(found.energy)
        for kind in (NORMAL, UNIFORM):
            measured = scale * (kind.largest if kind is UNIFORM else 1.0)
            near = scales_near(shape, kind.distribution, measured, GRID_RANGE)
            grid = grid or find_grid(values, kind.distribution, near)
    if grid is None:
        grid = _bounded_grid(units, ids, energy, shape)
    return None if grid is None else judge_by_grid(units, ids, energy, grid)


def _bounded_grid(
    units: Units, ids: NDArray[np.int64], energy: NDArray[np.float64], shape: tuple[int, ...]
) -> Grid | None:
    """Dead inputs of a linear layer: columns within a bound that its shape gives, with a uniform's energy."""
    for bound in nominal_scales(shape, "uniform"):
        alike = np.flatnonzero(_has_energy(energy, bound * bound / 3.0, UNIFORM, units.width))
        if not len(alike):
            continue
        values = units.take(ids[alike[:: max(1, len(alike) // (4 * GRID_UNITS))]]).astype(np.float32)
        inside = values[np.abs(values).max(axis=1) <= bound * (1.0 + 1e-6)]
        grid = find_grid(inside, "uniform", np.array([bound])) if len(inside) else None
        if grid is not None:
            return grid
    return None


def judge_by_grid(
    units: Units, ids: NDArray[np.int64], energy: NDArray[np.float64], grid: Grid
) -> Judged | None:
    """Which units lie on a grid, element by element.

    Returns:
        None where fewer than one unit does with near certainty.
    """
    kind = UNIFORM if grid.distribution == "uniform" else NORMAL
    middle = grid.scale**2 / (3.0 if kind is UNIFORM else 1.0)
    alike = np.flatnonzero(_has_energy(energy, middle, kind, units.width))
    odds, altered = np.zeros(len(alike)), np.zeros(len(alike))
    for part, values in units.chunks(ids[alike]):
        single = values.astype(np.float32)
        odds[part], altered[part] = grid.weigh(single).sum(axis=1), grid.altered(single)
    odds = np.where(altered <= MOST_ALTERED, odds - PRIOR_ODDS, -np.inf)
    probability = np.where(odds > -30.0, 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0))), 0.0)
    kept = probability > 1e-6
    likely = alike[probability >= 0.5]
    if odds[probability >= 0.5].sum() < LEAST_GRID_EVIDENCE:
        return None
    # Orthogonal matrices are drawn otherwise and only multiplied by a nominal gain: their energy is another.
    error = math.sqrt((kind.kurtosis - 1.0) / (units.width * len(likely)))
    if abs(math.log(float(energy[likely].mean()) / middle)) > _ENERGY_RANGE * error:
        return None
    # The scale is known but for its rounding to float32.
    return Judged(ids[alike[kept]], probability[kept], grid.distribution, grid.scale, 2.0**-24, on_grid=True)


def _has_energy(energy: NDArray[np.float64], middle: float, kind: Shape, width: int) -> NDArray[np.bool_]:
    """Whether a mean square is one that untouched units of this width have."""
    spread = math.sqrt((kind.kurtosis - 1.0) / width)
    return np.asarray(np.abs(np.log(np.maximum(energy, 1e-300) / middle)) < _ENERGY_RANGE * spread)
