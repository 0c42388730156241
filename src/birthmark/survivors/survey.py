"""The survey of a checkpoint: what has survived in which tensor, and how surely.

Every tensor is asked three questions: is it untouched as a whole? If not, are some of its rows? Or some of
its columns? Small tensors and those shaped like an embedding are read completely; of others a sample of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from birthmark.checkpoints.interface import Checkpoint, TensorInfo, Values
from birthmark.numerics.dtypes import itemsize
from birthmark.survivors.cross_tensor import companions
from birthmark.survivors.grid import Grid, find_grid
from birthmark.survivors.judging import Judged, judge_units
from birthmark.survivors.scales import scales_near
from birthmark.survivors.special_units import special_units
from birthmark.survivors.statistics import Statistics, measure
from birthmark.survivors.survivor import Axis, Survivors, TensorSurvey
from birthmark.survivors.units import MOST_TURNED, ColumnUnits, RowUnits
from birthmark.survivors.whole_tensor import LEAST_VALUES, Whole, judge_whole

#: Elements that likely survivors must hold together for a reading; with fewer, chance finds too many seeds.
LEAST_FOR_READING = 64
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
#: A tensor with a shorter side, or with fewer values, can look untouched by chance: it needs another's word.
STRONG_SIDE, STRONG_SIZE = 16, 4096
#: Share of the rows of an untouched tensor that must have the energy of an untouched row.
LEAST_ALIKE = 0.99
#: Probability of a small tensor that looks untouched: by itself, in a net whose large tensors all do, and, if
#: it is a matrix, where there is no large tensor.
ALONE, IN_COMPANY, UNOPPOSED = 0.3, 0.97, 0.8


def survey(checkpoint: Checkpoint, *, seed: int = 0) -> list[TensorSurvey]:
    """Look for survivors in every tensor, without knowing seeds or distributions.

    Args:
        checkpoint: what to look at.
        seed: decides which rows of large tensors are sampled, and nothing else.

    Returns:
        One survey a tensor, in file order.
    """
    infos = list(checkpoint.tensors.values())
    random = np.random.default_rng(seed)
    # Small matrices on many threads spend their time waiting for each other, tenfold on a busy machine.
    with threadpool_limits(1, user_api="blas"):
        looks = [_look(checkpoint, info, infos, random) for info in infos]
    wholes = {
        look.info.name: look.whole.probability for look in looks if look.whole and _is_strong(look.info)
    }
    return [_with_company(look, wholes) for look in looks]


def best_targets(surveys: list[TensorSurvey]) -> list[Survivors]:
    """The survivors that a search should start with: most promising first.

    Rows come before columns and whole tensors where they are about as many, because rows of an embedding
    reach far into a launch. Tensors whose likely survivors hold fewer than `LEAST_FOR_READING` values are
    left out.
    """
    worth = [(survivors, _worth(survivors)) for each in surveys if (survivors := each.survivors) is not None]
    return [survivors for survivors, value in sorted(worth, key=lambda pair: -pair[1]) if value > 0.0]


def likely_values(survivors: Survivors) -> int:
    """How many values the likely survivors hold together."""
    rows, columns = _matrix(survivors.shape)
    return len(survivors.likely()) * (rows if survivors.axis == "column" else columns)


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0], math.prod(shape[1:])) if len(shape) > 1 else (1, math.prod(shape))


def _worth(survivors: Survivors) -> float:
    """Reach of the likely survivors into their tensor, by how sure they are; 0 where they are too few."""
    values = likely_values(survivors)
    if values < LEAST_FOR_READING:
        return 0.0
    sure = float(np.sort(survivors.probability)[::-1][:10].mean())
    size = math.log(math.prod(survivors.shape)) + 0.25 * math.log(values)
    return sure * size * {"row": 1.5, "tensor": 1.2, "column": 1.0}[survivors.axis]


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
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


def _look(
    checkpoint: Checkpoint, info: TensorInfo, infos: list[TensorInfo], random: np.random.Generator
) -> _Look:
    """Ask one tensor by itself."""
    if not info.is_float:
        return _Look(info, {}, reason=f"holds {info.dtype}, which are not drawn values")
    if info.size < LEAST_VALUES:
        return _Look(info, {}, reason=f"holds {info.size} values; {LEAST_VALUES} at least are needed")
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
        return _Look(info, special, reason=f"no row holds a draw of its own ({kinds})", sampled=not complete)
    part = ids[_evenly(len(ids), min(SAMPLED_ROWS, max(1, SAMPLED_VALUES // width)))]
    values = units.take(part)
    whole = judge_whole(values.astype(np.float64))
    exact = info.dtype == "float32" and _is_full(values)
    alike = whole.has_energy(statistics.energy[usable], width)
    if whole.probability >= 0.5 and alike.mean() > LEAST_ALIKE:
        grid = _whole_grid(values, info, whole) if exact else None
        odd = ids[~alike]
        return _Look(
            info,
            special,
            whole,
            grid,
            ids=np.setdiff1d(np.arange(rows), np.append(taken, odd)),
            sampled=not complete,
        )
    look = _Look(info, special, whole, sampled=not complete)
    return _look_inside(checkpoint, look, infos, units, statistics, usable, values, exact=exact)


def _look_inside(
    checkpoint: Checkpoint,
    look: _Look,
    infos: list[TensorInfo],
    units: RowUnits,
    statistics: Statistics,
    usable: NDArray[np.bool_],
    sample: Values,
    *,
    exact: bool,
) -> _Look:
    """Rows first, then columns, of a tensor that was trained as a whole."""
    info, ids = look.info, statistics.ids[usable]
    reasons = [look.whole.failed[0] if look.whole and look.whole.failed else "trained"]
    if units.count > 1 and not look.sampled:
        companion = _companion(checkpoint, info, infos, ids)
        judged = judge_units(
            units, ids, statistics.energy[usable], info.shape, exact=exact, companion=companion
        )
        if isinstance(judged, Judged):
            return _Look(info, look.special, look.whole, axis="row", judged=judged)
        reasons.append(f"rows: {judged}")
    if look.sampled and not exact:
        reasons.append("too large to be searched for single rows or columns")
    elif units.count > 1 and units.width > 1:
        matrix = checkpoint.rows(info.name, 0, units.count) if info.size <= MOST_TURNED else sample
        judged = _columns(matrix[np.isfinite(matrix).all(axis=1)], info.shape, exact=exact)
        if isinstance(judged, Judged):
            return _Look(info, look.special, look.whole, axis="column", judged=judged, sampled=look.sampled)
        reasons.append(f"columns: {judged}")
    return _Look(info, look.special, look.whole, reason="; ".join(reasons), sampled=look.sampled)


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


def _look_at_vector(checkpoint: Checkpoint, info: TensorInfo) -> _Look:
    """A vector too long to be read completely: evenly spread elements of it."""
    places = _evenly(info.size, SAMPLED_VALUES)
    values = checkpoint.elements(info.name, places).astype(np.float64)
    values = values[np.isfinite(values)]
    if len(values) < LEAST_VALUES or values.min() == values.max():
        return _Look(
            info, {}, reason="holds no draw: its values are not finite or all the same", sampled=True
        )
    whole = judge_whole(values[None, :])
    reason = None if whole.probability >= 0.5 else whole.failed[0]
    return _Look(info, {}, whole, ids=np.zeros(1, np.int64), reason=reason, sampled=True)


def _with_company(look: _Look, wholes: dict[str, float]) -> TensorSurvey:
    """The finished survey of a tensor, now that all others are known."""
    info = look.info
    survivors, reason = None, look.reason
    if look.judged is not None:
        judged = look.judged
        survivors = Survivors(
            info.name, info.shape, info.dtype, look.axis, judged.ids, judged.probability,
            judged.distribution, judged.scale, judged.scale_error,
        )  # fmt: skip
    elif look.ids is not None and look.whole is not None and reason is None:
        probability = look.whole.probability
        if look.grid is not None:
            probability = 0.9999
        elif not _is_strong(info):
            probability *= _company(info, wholes)
        if probability >= 0.5:
            survivors = _whole_survivors(look, probability)
        else:
            reason = (
                f"looks like a fresh draw, but {info.size} values are few, and the larger tensors beside it "
                "do not look untouched"
            )
    return TensorSurvey(info.name, info.shape, info.dtype, survivors, look.special, reason, look.sampled)


def _whole_survivors(look: _Look, probability: float) -> Survivors:
    """All rows of an untouched tensor."""
    assert look.whole is not None
    assert look.ids is not None
    info, fit = look.info, look.whole.fit
    ids = look.ids
    seen = min(info.size, SAMPLED_VALUES, SAMPLED_ROWS * info.matrix_shape[1])
    scale, error = fit.parameter, math.sqrt((fit.shape.kurtosis - 1.0) / (4.0 * seen))
    distribution = fit.shape.distribution
    if look.grid is not None:
        scale, error, distribution = look.grid.scale, 2.0**-24, look.grid.distribution
    return Survivors(
        info.name, info.shape, info.dtype, "tensor", ids, np.full(len(ids), probability),
        distribution, scale, error,
    )  # fmt: skip


def _company(info: TensorInfo, wholes: dict[str, float]) -> float:
    """How far the large tensors of the same net vouch for a small one: all must look untouched."""
    net = info.name.split(".")[0] if "." in info.name else ""
    beside = [value for other, value in wholes.items() if other.startswith(f"{net}.") or not net]
    if not beside:
        return UNOPPOSED if min(info.matrix_shape) >= STRONG_SIDE else ALONE
    return IN_COMPANY if min(beside) >= 0.5 else ALONE


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


def _is_strong(info: TensorInfo) -> bool:
    """Whether a tensor is large enough to be believed on its own."""
    return min(info.matrix_shape) >= STRONG_SIDE and info.size >= STRONG_SIZE


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
