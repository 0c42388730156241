"""Selection and hold-out where every value counts: nearly all survivors may be seen, a few words may not.

A solution needs thousands of words, and a half of them is often too few. So the hold-out is small: whole
rows or columns until it has `LEAST_HELD` values, or, where those are long, runs of 16 elements, which are
what a CPU normal draws together. As in `split`, a hash of the numbers decides before anything is looked at,
and the hold-out carries no values.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import NothingToSearch
from birthmark.survivors.split import Holdout, Layout, Selection
from birthmark.survivors.survivor import Survivors

#: Values that are held out, at least.
LEAST_HELD: Final = 96
#: Rows or columns are held out whole unless one of them is more than this share of all values.
LARGE_UNIT: Final = 0.125
#: Elements that are drawn together: a block of a CPU normal.
RUN: Final = 16
#: No more values than this are taken, the surest rows or columns first: a solution needs a few thousand.
MOST_VALUES: Final = 1 << 17


def nearly_all(
    checkpoint: Checkpoint, survivors: Survivors, *, at_least: float = 0.5
) -> tuple[Selection, Holdout]:
    """Divide likely survivors into nearly all of them and a small hold-out.

    Args:
        checkpoint: where the values lie; only those of the selection are read.
        survivors: the rows or columns.
        at_least: the probability from which a row or column takes part.

    Returns:
        The selection with its values, and the hold-out without any; no element is in both.

    Raises:
        NothingToSearch: no row or column is that likely.
    """
    sure = survivors.probability >= at_least
    ids, order = np.unique(survivors.ids[sure], return_index=True)
    probability = survivors.probability[sure][order]
    if not len(ids):
        raise NothingToSearch(
            f"no {survivors.axis} of {survivors.tensor!r} holds initial values with probability "
            f"{at_least:g} or more."
        )
    layout = Layout(survivors.axis, survivors.shape)
    ids, probability = _surest(ids, probability, layout.width)
    places = np.arange(min(layout.width, MOST_VALUES), dtype=np.int64)
    indices = layout.indices(ids, places)
    # Partners of normals lie in different columns: held-out columns would share their words with others.
    in_runs = survivors.axis == "column" and survivors.distribution == "normal"
    held = _held_out(survivors.tensor, indices, layout.unit(indices), in_runs=in_runs)
    kept = indices[~held]
    unit = layout.unit(kept)
    selection = Selection(
        tensor=survivors.tensor,
        shape=survivors.shape,
        dtype=survivors.dtype,
        axis=survivors.axis,
        distribution=survivors.distribution,
        scale=survivors.scale,
        scale_error=survivors.scale_error,
        indices=kept,
        values=checkpoint.elements(survivors.tensor, kept).astype(np.float64),
        unit=unit,
        probability=probability[np.searchsorted(ids, unit)],
    )
    return selection, Holdout(survivors.tensor, survivors.axis, indices[held], layout.unit(indices[held]))


def _surest(
    ids: NDArray[np.int64], probability: NDArray[np.float64], width: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """As many of the surest units as there is room for, in ascending order."""
    chosen = np.sort(np.argsort(-probability, kind="stable")[: max(1, MOST_VALUES // width)])
    return ids[chosen], probability[chosen]


def _held_out(
    name: str, indices: NDArray[np.int64], unit: NDArray[np.int64], *, in_runs: bool
) -> NDArray[np.bool_]:
    """Which elements are held out: those of the first units, or runs, in the order of their hashes."""
    _, sizes = np.unique(unit, return_counts=True)
    in_runs = in_runs or int(sizes.max()) > LARGE_UNIT * len(indices)
    group = indices // RUN if in_runs else unit
    names, number, counts = np.unique(group, return_inverse=True, return_counts=True)
    rank = np.argsort([_hash(name, int(each)) for each in names], kind="stable")
    wanted = min(LEAST_HELD, math.ceil(len(indices) / 2))
    taken = int(np.searchsorted(np.cumsum(counts[rank]), wanted)) + 1
    chosen = np.zeros(len(names), np.bool_)
    chosen[rank[:taken]] = True
    held: NDArray[np.bool_] = chosen[number]
    return held


def _hash(name: str, key: int) -> int:
    text = b"solve\0" + name.encode() + b"\0" + key.to_bytes(8, "little")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
