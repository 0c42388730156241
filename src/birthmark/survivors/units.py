"""Units: the rows of a tensor, or its columns, as one list of vectors that is read in parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint, TensorInfo, Values

#: Elements that are held in memory at a time.
CHUNK = 1 << 21
#: A tensor of no more elements than this may be turned round in memory, to be read by columns.
MOST_TURNED = 1 << 24


class Units(ABC):
    """`count` vectors of `width` values each."""

    count: int
    width: int

    @abstractmethod
    def read(self, start: int, stop: int) -> Values:
        """Units start <= i < stop, one a row of the answer."""

    @abstractmethod
    def take(self, ids: NDArray[np.int64]) -> Values:
        """The given units, one a row of the answer."""

    def chunks(self, ids: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, Values]]:
        """All units, or the given ones, a part at a time: which places of the list, and the values."""
        step = max(1, CHUNK // max(1, self.width))
        total = self.count if ids is None else len(ids)
        for start in range(0, total, step):
            stop = min(start + step, total)
            yield slice(start, stop), self.read(start, stop) if ids is None else self.take(ids[start:stop])


class RowUnits(Units):
    """The rows of a tensor's matrix view."""

    def __init__(self, checkpoint: Checkpoint, info: TensorInfo) -> None:
        self._checkpoint, self._name = checkpoint, info.name
        self.count, self.width = info.matrix_shape

    def read(self, start: int, stop: int) -> Values:
        """Rows start <= i < stop."""
        return self._checkpoint.rows(self._name, start, stop)

    def take(self, ids: NDArray[np.int64]) -> Values:
        """The given rows."""
        return self._checkpoint.take(self._name, ids)


class ColumnUnits(Units):
    """The columns of a matrix that is held in memory."""

    def __init__(self, matrix: Values) -> None:
        self._turned: NDArray[Any] = np.ascontiguousarray(matrix.T)
        self.count, self.width = self._turned.shape

    def read(self, start: int, stop: int) -> Values:
        """Columns start <= i < stop."""
        return self._turned[start:stop].copy()

    def take(self, ids: NDArray[np.int64]) -> Values:
        """The given columns."""
        return self._turned[ids]
