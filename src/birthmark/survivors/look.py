"""One tensor by itself: is it untouched as a whole? If not, are some of its rows? Or some of its columns?

Small tensors and those shaped like an embedding are read completely; of others a sample of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo, Values
from birthmark.numerics.dtypes import itemsize
from birthmark.survivors.cross_tensor import companions
from birthmark.survivors.grid import Grid, find_grid
from birthmark.survivors.judging import Judged, judge_units
from birthmark.survivors.scales import scales_near
from birthmark.survivors.special_units import special_units
from birthmark.survivors.statistics import Statistics, measure
from birthmark.survivors.survivor import Axis
from birthmark.survivors.units import MOST_TURNED, ColumnUnits, RowUnits
from birthmark.survivors.whole_tensor import LEAST_VALUES, Whole, judge_whole

#: Tensors of up to so many bytes are read completely, whatever their shape.
ALWAYS_READ = 1 << 24
#: Tensors shaped like an embedding are, up to so many; of larger ones a sample of rows is looked at.
MOST_READ = 1 << 32
#: Rows per column from which a tensor is shaped like an embedding.
EMBEDDING_SHAPE = 4
#: Rows of a sample.
SAMPLED_ROWS = 512
#: Values of a sample, at most.
SAMPLED_VALUES = 1 << 21
#: Share of the rows of an untouched tensor that must have the energy of an untouched row.
LEAST_ALIKE = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What one tensor showed, before others have had their say."""

    info: TensorInfo
    special: dict[str, NDArray[np.int64]]
    whole: Whole | None = None
    grid: Grid | None = None
    axis: Axis = "row"
    judged: Judged | None = None
    ids: NDArray[np.int64] | None = None
    reason: str | None = None
    sampled: bool = False


def look_at(
    checkpoint: Checkpoint, info: TensorInfo, infos: list[TensorInfo], random: np.random.Generator
) -> Look:
    """Ask one tensor by itself."""
    if not info.is_float:
        return Look(info, {}, reason=f"holds {info.dtype}, which are not drawn values")
    if info.size < LEAST_VALUES:
        return Look(info, {}, reason=f"holds {info.size} values; {LEAST_VALUES} at least are needed")
    rows, width = info.matrix_shape
    complete = _is_read(info)
    units = RowUnits(checkpoint, info)
    chosen = None if complete else _sample(rows, SAMPLED_ROWS, random)
    if rows == 1 and not complete:
        return _look_at_vector(checkpoint, info)
    statistics = measure(units, chosen)
    special = special_units(units, statistics)
    taken = np.concatenate([np.zeros(0, np.int64), *special.values()])
    usable = ~np.isin(statistics.ids, taken) & (statistics.energy > 0.0) & np.isfinite(statistics.energy)
    ids = statistics.ids[usable]
    if len(ids) * width < LEAST_VALUES:
        kinds = ", ".join(f"{len(found)} {kind}" for kind, found in special.items())
        return Look(info, special, reason=f"no row holds a draw of its own ({kinds})", sampled=not complete)
    part = ids[_evenly(len(ids), min(SAMPLED_ROWS, max(1, SAMPLED_VALUES // width)))]
    values = units.take(part)
    whole = judge_whole(values.astype(np.float64))
    exact = info.dtype == "float32" and _is_full(values)
    alike = whole.has_energy(statistics.energy[usable], width)
    if whole.probability >= 0.5 and alike.mean() > LEAST_ALIKE:
        grid = _whole_grid(values, info, whole) if exact else None
        odd = ids[~alike]
        return Look(
            info,
            special,
            whole,
            grid,
            ids=np.setdiff1d(np.arange(rows), np.append(taken, odd)),
            sampled=not complete,
        )
    look = Look(info, special, whole, sampled=not complete)
    return _look_inside(checkpoint, look, infos, units, statistics, usable, values, exact=exact)


def _look_inside(
    checkpoint: Checkpoint,
    look: Look,
    infos: list[TensorInfo],
    units: RowUnits,
    statistics: Statistics,
    usable: NDArray[np.bool_],
    sample: Values,
    *,
    exact: bool,
) -> Look:
    """Rows or columns of a tensor that was trained as a whole: rows, unless only columns leave no doubt."""
    info, ids = look.info, statistics.ids[usable]
    rows: Judged | str = "too large to be searched for single ones"
    columns: Judged | str = rows
    if units.count > 1 and not look.sampled:
        companion = _companion(checkpoint, info, infos, ids)
        rows = judge_units(
            units, ids, statistics.energy[usable], info.shape, exact=exact, companion=companion
        )
    surely = isinstance(rows, Judged) and (rows.on_grid or not exact)
    if not surely and units.count > 1 and (exact or not look.sampled):
        matrix = checkpoint.rows(info.name, 0, units.count) if info.size <= MOST_TURNED else sample
        columns = _columns(matrix[np.isfinite(matrix).all(axis=1)], info.shape, exact=exact)
    if isinstance(columns, Judged) and (columns.on_grid or isinstance(rows, str)):
        return replace(look, axis="column", judged=columns)
    if isinstance(rows, Judged):
        return replace(look, axis="row", judged=rows)
    reason = look.whole.failed[0] if look.whole and look.whole.failed else "trained"
    if units.count > 1:
        reason += f"; rows: {rows}; columns: {columns}"
    return replace(look, reason=reason)


def _columns(matrix: Values, shape: tuple[int, ...], *, exact: bool) -> Judged | str:
    """Dead inputs: columns that no data ever reached."""
    columns = ColumnUnits(matrix)
    statistics = measure(columns)
    usable = statistics.finite & ~statistics.constant & (statistics.energy > 0.0)
    return judge_units(columns, statistics.ids[usable], statistics.energy[usable], shape, exact=exact)


def _companion(
    checkpoint: Checkpoint, info: TensorInfo, infos: list[TensorInfo], ids: NDArray[np.int64]
) -> RowUnits | None:
    """The widest other tensor with rows of the same ids, if all of those are finite.

    Only tensors shaped like an embedding have ids; that of others, layers share their number of rows.
    """
    rows, width = info.matrix_shape
    if rows < EMBEDDING_SHAPE * width:
        return None
    for other in companions(info, infos):
        if other.size * itemsize(other.dtype) > MOST_READ:
            continue
        units = RowUnits(checkpoint, other)
        if all(np.isfinite(values).all() for _, values in units.chunks(ids)):
            return units
    return None


def _look_at_vector(checkpoint: Checkpoint, info: TensorInfo) -> Look:
    """A vector too long to be read completely: evenly spread elements of it."""
    places = _evenly(info.size, SAMPLED_VALUES)
    values = checkpoint.elements(info.name, places).astype(np.float64)
    values = values[np.isfinite(values)]
    if len(values) < LEAST_VALUES or values.min() == values.max():
        return Look(info, {}, reason="holds no draw: its values are not finite or all the same", sampled=True)
    whole = judge_whole(values[None, :])
    reason = None if whole.probability >= 0.5 else whole.failed[0]
    return Look(info, {}, whole, ids=np.zeros(1, np.int64), reason=reason, sampled=True)


def _whole_grid(values: Values, info: TensorInfo, whole: Whole) -> Grid | None:
    """The grid of the draw of a whole tensor, where its scale is a nominal one."""
    fit = whole.fit
    error = 5.0 * math.sqrt((fit.shape.kurtosis - 1.0) / (4.0 * values.size)) + 1e-4
    near = scales_near(info.shape, fit.shape.distribution, fit.parameter, error)
    grid = find_grid(values.astype(np.float32), fit.shape.distribution, near)
    if grid is None:
        return None
    weight = grid.weigh(values.astype(np.float32))
    return grid if float((weight < 0.0).mean()) < 0.02 else None


def _is_read(info: TensorInfo) -> bool:
    """Whether every row of a tensor is looked at."""
    size = info.size * itemsize(info.dtype)
    rows, width = info.matrix_shape
    return size <= ALWAYS_READ or (rows >= EMBEDDING_SHAPE * width and size <= MOST_READ)


def _is_full(values: Values) -> bool:
    """Whether float32 values use their full precision; those of an upcast bfloat16 or float16 do not."""
    low = values.astype(np.float32).view(np.uint32) & np.uint32(0x1FFF)
    return bool((low != 0).mean() > 0.5)


def _sample(count: int, most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """So many numbers below a count, ascending, evenly spread from a random start."""
    kept = min(count, most)
    start = int(random.integers(0, max(1, count // kept)))
    return np.minimum(start + _evenly(count, most), count - 1)


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most so many numbers below a count, evenly spread."""
    kept = max(1, min(count, most))
    return np.arange(kept, dtype=np.int64) * count // kept
