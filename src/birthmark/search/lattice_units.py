"""Rows and columns whose every value lies on the lattice of a CPU sampler, whatever the other ones do.

By chance a value lies on such a lattice one time in three. So a few dozen values of a row tell an untouched
one from a trained one beyond doubt, where statistics need many rows alike: five embeddings of elements that
never occurred, one input that was always zero. Only scales that initialisers have by rule are tried. Sixteen
values of each row and column choose the candidates, all of their values confirm them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.samplers.cpu_normal import BLOCK, places
from birthmark.samplers.cpu_uniform import SCALINGS
from birthmark.search.solve.inversion import exact_normals, exact_uniforms, pairs
from birthmark.survivors.scales import fans
from birthmark.survivors.survivor import Axis, Distribution, Survivors

#: Values of each row or column that choose the candidates, and how many of them may lie off the lattice.
HEAD: Final = 16
MOST_OFF: Final = 1
#: Rows whose values choose among columns of normals, and pairs of two columns that must lie there.
TOP: Final = 24
LEAST_PAIRS: Final = 6
#: Values that confirm a row or column; and the share of them on the lattice.
LEAST_VALUES: Final = 40
LEAST_SHARE: Final = 0.9
#: The largest of 16 uniforms is hardly ever below this share of the bound; the root mean square of n normals
#: is hardly ever further off than so many of its deviations, 1 / sqrt(2n).
LEAST_OF_BOUND: Final = 0.6
DEVIATIONS: Final = 4.0
#: Standard deviations and bounds that programs have by default.
USUAL: Final = (1.0, 0.1, 0.08, 0.05, 0.02, 0.01, 0.006)

#: Reads whole rows ("row") or columns ("column"): float64[ids, width].
Take = Callable[[Axis, NDArray[np.int64]], NDArray[np.float64]]
Name = Literal["normal", "uniform"]


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """The beginnings of rows and columns.

    Attributes:
        rows: float64[rows, 16], the first values of each row from a multiple of 16 on, as far as they go.
        starts: int64[rows], the flat index of the first of each; -1 where a row holds no whole block.
        top: float64[`TOP` or fewer, columns], the first rows.
    """

    rows: NDArray[np.float64]
    starts: NDArray[np.int64]
    top: NDArray[np.float64]


def row_starts(shape: Sequence[int]) -> NDArray[np.int64]:
    """The flat index of the first whole block of 16 elements in each row; -1 where there is none."""
    rows, columns = shape[0], math.prod(shape[1:])
    begin = np.arange(rows, dtype=np.int64) * columns
    start = -(-begin // BLOCK) * BLOCK
    return np.where(start + BLOCK <= begin + columns, start, -1)


def lattice_units(
    tensor: str, shape: tuple[int, ...], heads: Heads, take: Take, nominals: Sequence[float] = ()
) -> Survivors | None:
    """The untouched rows, or else columns, of a float32 tensor.

    Args:
        tensor: its name.
        shape: its extents, two or more.
        heads: the beginnings of its rows and columns.
        take: reads whole ones.
        nominals: scales that the model's files declare.

    Returns:
        None where none is untouched, or where only fewer than `LEAST_VALUES` values could say so.
    """
    best: Survivors | None = None
    for distribution, scale in _suppositions(shape, nominals):
        for axis in ("row", "column"):
            found = _units(tensor, shape, heads, take, distribution, scale, axis)
            if found is not None and (best is None or _values(found) > _values(best)):
                best = found
    return best


def _suppositions(shape: tuple[int, ...], nominals: Sequence[float]) -> list[tuple[Name, float]]:
    """Distributions and scales of initialisers: PyTorch's defaults, Xavier's, Kaiming's, and usual ones."""
    fan_in, fan_out = (max(1, fan) for fan in fans(shape))
    bounds = {1.0 / math.sqrt(fan_in), 1.0 / math.sqrt(fan_out), math.sqrt(6.0 / (fan_in + fan_out))}
    bounds |= {math.sqrt(6.0 / fan_in), math.sqrt(3.0 / fan_in), *USUAL}
    # Recurrent layers: one over the root of the hidden size, which 1, 3 or 4 gates share the rows of.
    bounds |= {math.sqrt(gates / shape[0]) for gates in (1.0, 3.0, 4.0)}
    stds = {math.sqrt(2.0 / (fan_in + fan_out)), math.sqrt(2.0 / fan_in), math.sqrt(1.0 / fan_in)}
    stds |= {math.sqrt(2.0 / fan_out), *USUAL, *nominals}
    found: list[tuple[Name, float]] = [("uniform", bound) for bound in sorted(bounds)]
    return found + [("normal", std) for std in sorted(stds)]


def _units(
    tensor: str,
    shape: tuple[int, ...],
    heads: Heads,
    take: Take,
    distribution: Distribution,
    scale: float,
    axis: Axis,
) -> Survivors | None:
    rows, columns = shape[0], math.prod(shape[1:])
    width = columns if axis == "row" else rows
    if width < LEAST_VALUES:
        return None
    if distribution == "uniform":
        ids = _uniforms(heads.rows if axis == "row" else heads.top[:HEAD].T, take, scale, axis)
    elif axis == "row":
        ids = _normal_rows(heads, take, rows, columns, scale)
    else:
        ids = _normal_columns(heads.top, take, rows, columns, scale)
    if not len(ids):
        return None
    return Survivors(
        tensor, shape, "float32", axis, ids, np.full(len(ids), 0.999), distribution, scale, 2.0**-24
    )


def _uniforms(beginnings: NDArray[np.float64], take: Take, bound: float, axis: Axis) -> NDArray[np.int64]:
    """Rows or columns of a uniform draw."""
    ids = np.flatnonzero(_likely(beginnings, "uniform", bound))
    beginnings = np.ascontiguousarray(beginnings[ids])
    shares = {name: _uniform_share(beginnings, bound, name) for name in SCALINGS}
    arithmetic = max(shares, key=lambda name: int((shares[name] * HEAD >= HEAD - MOST_OFF).sum()))
    ids = ids[shares[arithmetic] * HEAD >= HEAD - MOST_OFF]
    if not len(ids):
        return np.zeros(0, np.int64)
    sure: NDArray[np.int64] = ids[_uniform_share(take(axis, ids), bound, arithmetic) >= LEAST_SHARE]
    return sure


def _normal_rows(heads: Heads, take: Take, rows: int, columns: int, std: float) -> NDArray[np.int64]:
    """Rows of a normal draw: the first whole block of each chooses, all of its pairs confirm."""
    ids = np.flatnonzero(_likely(heads.rows, "normal", std) & (heads.starts >= 0))
    flat = heads.starts[ids, None] + np.arange(BLOCK)
    on, _ = _pairs_on(heads.rows[ids], flat, rows * columns, std)
    ids = ids[on.sum(axis=1) >= BLOCK - 2 * MOST_OFF]
    if not len(ids):
        return np.zeros(0, np.int64)
    flat = ids[:, None] * columns + np.arange(columns)
    on, paired = _pairs_on(take("row", ids), flat, rows * columns, std)
    enough = paired.sum(axis=1) >= HEAD
    sure: NDArray[np.int64] = ids[enough & (on.sum(axis=1) >= LEAST_SHARE * paired.sum(axis=1))]
    return sure


def _normal_columns(
    top: NDArray[np.float64], take: Take, rows: int, columns: int, std: float
) -> NDArray[np.int64]:
    """Columns of a normal draw. A value's partner lies 8 columns away, so that they are found two by two."""
    likely = np.flatnonzero(_likely(np.ascontiguousarray(top.T), "normal", std))
    pairs_ = _column_pairs(top[:, likely], likely, np.arange(len(top)), rows, columns, std)
    ids = np.unique(np.concatenate([pairs_, (pairs_ + BLOCK // 2) % columns]))
    if not len(ids):
        return ids
    values = np.ascontiguousarray(take("column", ids).T)
    pairs_ = _column_pairs(values, ids, np.arange(rows), rows, columns, std)
    return np.unique(np.concatenate([pairs_, (pairs_ + BLOCK // 2) % columns]))


def _column_pairs(
    values: NDArray[np.float64],
    ids: NDArray[np.int64],
    which: NDArray[np.int64],
    rows: int,
    columns: int,
    std: float,
) -> NDArray[np.int64]:
    """The columns of which nearly all cosines, with their partners, lie on the lattice."""
    flat = which[:, None] * columns + ids
    on, paired = _pairs_on(values, flat, rows * columns, std)
    cosine = ~places(rows * columns, flat).sine
    there, found = (paired & cosine).sum(axis=0), (on & cosine).sum(axis=0)
    sure: NDArray[np.int64] = ids[(there >= LEAST_PAIRS) & (found >= LEAST_SHARE * there)]
    return sure


def _likely(values: NDArray[np.float64], distribution: Distribution, scale: float) -> NDArray[np.bool_]:
    """Which beginnings have the size of a draw at a scale."""
    if values.shape[1] < HEAD:
        return np.zeros(len(values), np.bool_)
    largest = np.abs(values).max(axis=1)
    if distribution == "uniform":
        return np.asarray((largest <= scale * (1.0 + 1e-6)) & (largest >= LEAST_OF_BOUND * scale))
    off = np.sqrt((values * values).mean(axis=1)) / scale - 1.0
    return np.asarray(np.abs(off) <= DEVIATIONS / math.sqrt(2.0 * values.shape[1]))


def _uniform_share(values: NDArray[np.float64], bound: float, arithmetic: str) -> NDArray[np.float64]:
    """The share of each unit's values that a uniform draw can give."""
    flat = values.ravel()
    found = exact_uniforms(flat, np.arange(len(flat)), bound, arithmetic)
    on = np.zeros(len(flat))
    on[found.source] = 1.0
    share: NDArray[np.float64] = on.reshape(values.shape).mean(axis=1)
    return share


def _pairs_on(
    values: NDArray[np.float64], flat: NDArray[np.int64], size: int, std: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which values lie on the lattice together with their partner, and which have a partner here."""
    where = places(size, flat.ravel())
    first, second, _ = pairs(where)
    hit = np.isin(first, exact_normals(values.ravel(), where, std).source)
    on, paired = np.zeros(flat.size, np.bool_), np.zeros(flat.size, np.bool_)
    on[first[hit]], on[second[hit]] = True, True
    paired[first], paired[second] = True, True
    return on.reshape(flat.shape), paired.reshape(flat.shape)


def _values(found: Survivors) -> int:
    rows, columns = found.shape[0], math.prod(found.shape[1:])
    return len(found.ids) * (columns if found.axis == "row" else rows)
