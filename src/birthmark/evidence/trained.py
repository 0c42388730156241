"""Whether the rows that training did change still remember the draw that the survivors hold.

Survivors were chosen, and a search looked at half of them. Trained rows were neither chosen nor looked at by
the search for a match, so that a correlation of theirs with the same draw speaks for it a second time. None
proves nothing: training can wear it off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements, matrix_shape, units_of
from birthmark.evidence.moved import score_moved
from birthmark.evidence.score import Score, score
from birthmark.survivors.levelling import levelled

#: Elements that are read at most, and at least (fewer say nothing).
ELEMENTS = 1 << 17
LEAST_ELEMENTS = 256
#: Columns of a row that is not read for this: one row of such a tensor is a large read.
MOST_COLUMNS = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What is left of a draw in the rows (or columns) that it does not predict.

    Attributes:
        units: how many of them were looked at, evenly spaced.
        of: how many there are.
        score: of their levelled values.
        moved: the same with each unit's values held against the next one's prediction; None for one unit.
    """

    units: int
    of: int
    score: Score
    moved: Score | None


def trained_trace(
    checkpoint: Checkpoint,
    tensor: str,
    axis: Literal["row", "column"],
    predicted: NDArray[np.int64],
    standard: Callable[[NDArray[np.int64]], NDArray[np.floating]],
    span: tuple[int, int] | None = None,
) -> Trained | None:
    """Look for a draw in the units that it does not predict.

    Args:
        checkpoint: open; at most `ELEMENTS` elements are read, or one row.
        tensor: its name.
        axis: what units count.
        predicted: the units that this or any other finding predicts, in any order.
        standard: predicted standard values of flat indices, in any order.
        span: the units first <= i < last that the draw is about; None for all.

    Returns:
        None where fewer than `LEAST_ELEMENTS` elements are left, a row has more than `MOST_COLUMNS`, or the
        values do not vary.
    """
    shape = checkpoint.tensors[tensor].shape
    rows, columns = matrix_shape(shape)
    first, last = span or (0, columns if axis == "column" else rows)
    units = np.setdiff1d(np.arange(first, last), predicted)
    width = rows if axis == "column" else columns
    if columns > MOST_COLUMNS or units.size * width < LEAST_ELEMENTS:
        return None
    if axis == "column":
        elements, looked = _columns(checkpoint, tensor, units, (rows, columns)), int(units.size)
    else:
        some = _spread(units, max(1, ELEMENTS // columns))
        elements, looked = _rows(checkpoint, tensor, some, columns), int(some.size)
    level = Elements(
        elements.indices,
        levelled(elements.values, elements.indices, columns),
        units_of(elements.indices, shape, axis),
    )
    found = score(level.values, standard(level.indices))
    if found.r is None:
        return None
    return Trained(
        looked,
        int(units.size),
        found,
        score_moved(level, level.keep(np.zeros(len(level), bool)), shape, axis, standard),
    )


def _spread(units: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of them, evenly spaced."""
    if units.size <= most:
        return units
    return units[np.linspace(0, units.size - 1, most).astype(np.int64)]


def _rows(checkpoint: Checkpoint, tensor: str, rows: NDArray[np.int64], columns: int) -> Elements:
    indices = (rows[:, None] * columns + np.arange(columns)).ravel()
    return Elements(
        indices, np.asarray(checkpoint.take(tensor, rows), np.float64).ravel(), indices // columns
    )


def _columns(
    checkpoint: Checkpoint, tensor: str, units: NDArray[np.int64], extents: tuple[int, int]
) -> Elements:
    """The given columns of some rows."""
    rows, columns = extents
    some = _spread(np.arange(rows), max(1, ELEMENTS // columns))
    values = np.asarray(checkpoint.take(tensor, some), np.float64)[:, units]
    indices = (some[:, None] * columns + units).ravel()
    return Elements(indices, values.ravel(), indices % columns)
