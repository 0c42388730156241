"""What every checkpoint reader offers, whatever the file format below it.

A tensor is seen as a matrix: its first dimension are the rows, all the others together the columns;
a one-dimensional tensor is one row. Values come decoded (float32, or float64 for stored float64) and
only the rows that are asked for are read.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import is_float

Values = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file of a checkpoint: its name inside the checkpoint and its size in bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A named array as the file describes it.

    Attributes:
        name: the full name; nested containers are joined with dots.
        shape: extents, first dimension first; () for a scalar.
        dtype: the stored dtype by its birthmark name, e.g. "bfloat16" (see `numerics.dtypes`).
        file: the file that holds the bytes.
        strides: in elements, where the stored array is not C-contiguous; otherwise None.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: str
    strides: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix view; a vector is one row, a scalar 1 x 1."""
        if len(self.shape) < 2:
            return (1, self.size)
        return (self.shape[0], math.prod(self.shape[1:]))

    @property
    def is_float(self) -> bool:
        """Whether the stored dtype is a floating-point type that can be decoded."""
        return is_float(self.dtype)


class Checkpoint(ABC):
    """The published tensors of a model, read lazily; close it or use it in a `with` statement."""

    #: What the user named: a path.
    source: str
    #: The files, in the order of their names.
    files: tuple[FileInfo, ...]
    #: Every tensor by its name, in file order.
    tensors: Mapping[str, TensorInfo]
    #: Facts about the reading that a user should see (placeholders met, tensors left out, ...).
    notes: Sequence[str]
    #: Seeds and scales that the files keep beside the tensors, by the way to each (see `settings`).
    settings: Mapping[str, int | float] = MappingProxyType({})

    @abstractmethod
    def rows(self, name: str, start: int, stop: int) -> Values:
        """Rows start <= i < stop of a tensor's matrix view, decoded, as a new C-contiguous array."""

    @abstractmethod
    def take(self, name: str, rows: NDArray[np.int64]) -> Values:
        """The given rows of a tensor's matrix view, decoded, in the given order."""

    @abstractmethod
    def elements(self, name: str, indices: NDArray[np.int64]) -> Values:
        """The elements at the given C-order flat indices, decoded, in the given order."""

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """Bytes of tensor data and headers that have been asked for so far."""

    @abstractmethod
    def close(self) -> None:
        """Release the files."""

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
