"""The census: once a match is known, every row or column of the tensor is held against its prediction.

Before the search survivors were a matter of probability; now each unit says for itself whether it still
holds its initial values. A few elements of each unit are asked first, all of them only where those agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements, matrix_shape
from birthmark.evidence.exactness import PREDICTED_SHARE, Units, tally
from birthmark.evidence.linear_mixture import given
from birthmark.evidence.prediction import predict
from birthmark.evidence.weigh import Judgement

#: Elements of a unit that are asked first.
FIRST = 32
#: Elements that are held in memory at a time.
CHUNK = 1 << 20
#: Elements of a tensor beyond which only the surveyed survivors are judged again.
MOST = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """Which units of a tensor a prediction gives.

    Attributes:
        ids: int64, ascending: units that are predicted, the partly altered ones among them.
        altered: int64, ascending: those of `ids` with elements that are not predicted.
        altered_elements: how many elements that are.
        judged: units that were looked at.
        of: units of the tensor (or of the shard).
    """

    ids: NDArray[np.int64]
    altered: NDArray[np.int64]
    altered_elements: int
    judged: int
    of: int

    @property
    def note(self) -> str | None:
        """What was left out, in words; None where every unit was judged."""
        if self.judged == self.of:
            return None
        return (
            f"Of {self.of:,} rows or columns only the {self.judged:,} surveyed as survivors were judged "
            "again; "
            "the tensor is too large to read whole."
        )


def census(checkpoint: Checkpoint, judgement: Judgement, surveyed: NDArray[np.int64]) -> Census:
    """Hold every unit of the judgement's tensor (or shard) against its prediction.

    Args:
        checkpoint: where the values lie.
        judgement: a match, or a seed without its layout.
        surveyed: the units that the survey took for survivors; all that is judged in a very large tensor.
    """
    case = judgement.case
    rows, columns = matrix_shape(case.shape)
    by_column = case.axis == "column"
    first, last = rows_of_rank(judgement, rows)
    total = columns if by_column else last - first
    if rows * columns > MOST:
        units = surveyed if by_column else surveyed[(surveyed >= first) & (surveyed < last)]
    else:
        units = np.arange(columns) if by_column else np.arange(first, last)
    found = [_judged(part, judgement) for part in _parts(checkpoint, judgement, units, (rows, columns))]
    ids = [one.ids[one.predicted] for one in found]
    altered = [one.ids[one.altered] for one in found]
    empty = np.zeros(0, dtype=np.int64)
    return Census(
        ids=np.concatenate([empty, *ids]),
        altered=np.concatenate([empty, *altered]),
        altered_elements=sum(one.altered_elements for one in found),
        judged=int(units.size),
        of=int(total),
    )


def rows_of_rank(judgement: Judgement, rows: int) -> tuple[int, int]:
    """The rows first <= i < last of the shard that a judgement is about, of so many rows of its tensor."""
    rank, sharding = judgement.case.rank, judgement.case.hypothesis.sharding
    if rank is None:
        return 0, rows
    height = sharding.local_shape((rows,))[0]
    return rank * height, min(rows, (rank + 1) * height)


def _parts(
    checkpoint: Checkpoint, judgement: Judgement, units: NDArray[np.int64], extents: tuple[int, int]
) -> Iterator[Elements]:
    """The elements of those units whose first few elements agree, some units at a time."""
    columns = extents[1]
    case = judgement.case
    if case.axis == "column":
        yield from _column_parts(checkpoint, judgement, units, extents)
        return
    some = np.unique(np.linspace(0, columns - 1, min(FIRST, columns)).astype(np.int64))
    height = max(1, CHUNK // columns)
    for start in range(0, units.size, height):
        chunk = units[start : start + height]
        values = np.asarray(checkpoint.take(case.tensor, chunk), np.float64)
        few = (chunk[:, None] * columns + some).ravel()
        first = Elements(few, values[:, some].ravel(), few // columns)
        near = _near(judgement, first).reshape(chunk.size, -1)
        likely = near.mean(axis=1) >= PREDICTED_SHARE / 2
        ids = chunk[likely]
        indices = (ids[:, None] * columns + np.arange(columns)).ravel()
        yield Elements(indices, values[likely].ravel(), indices // columns)


def _column_parts(
    checkpoint: Checkpoint, judgement: Judgement, units: NDArray[np.int64], extents: tuple[int, int]
) -> Iterator[Elements]:
    rows, columns = extents
    tensor = judgement.case.tensor
    some = np.unique(np.linspace(0, rows - 1, min(FIRST, rows)).astype(np.int64))
    few = (some[:, None] * columns + units).ravel()
    values = np.asarray(checkpoint.take(tensor, some), np.float64)[:, units]
    near = _near(judgement, Elements(few, values.ravel(), few % columns)).reshape(some.size, -1)
    likely = units[near.mean(axis=0) >= PREDICTED_SHARE / 2]
    width = max(1, CHUNK // rows)
    for start in range(0, likely.size, width):
        chunk = likely[start : start + width]
        indices = (np.arange(rows)[:, None] * columns + chunk).ravel()
        yield Elements(
            indices, np.asarray(checkpoint.elements(tensor, indices), np.float64), indices % columns
        )


def _near(judgement: Judgement, elements: Elements) -> NDArray[np.bool_]:
    if judgement.combination is not None:
        return given(judgement, elements)
    return predict(judgement.fit, judgement.case.seed, elements, judgement.case.dtype).near


def _judged(elements: Elements, judgement: Judgement) -> Units:
    return tally(elements.unit, _near(judgement, elements), judgement.units.chance)
