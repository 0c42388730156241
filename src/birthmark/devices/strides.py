"""The order in which a draw goes through a tensor that is not plainly contiguous.

PyTorch's iterator (pytorch `aten/src/ATen/TensorIterator.cpp`, 1.7.1 to 2.15.0) decides which element of a
tensor is the j-th of a draw. A tensor without gaps or overlaps, transposed or channels-last as it may be, is
gone through in the order of memory. Any other is sorted by strides: the dimension with the smallest stride is
the fastest, and dimensions that continue each other are fused. Threads, lanes and offsets follow j as ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.layout import INDEX_LIMIT
from birthmark.errors import UsageError


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a draw over a tensor.

    Attributes:
        sizes: extents of the tensor.
        strides: distance of neighbours along each dimension, in elements; 0 or more.
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.strides):
            raise UsageError(
                f"sizes {self.sizes} and strides {self.strides}: expected one of each a dimension."
            )
        if any(value < 0 for value in (*self.sizes, *self.strides)):
            raise UsageError(f"sizes {self.sizes}, strides {self.strides}: expected numbers of 0 or more.")
        if any(stride == 0 and size > 1 for size, stride in zip(self.sizes, self.strides, strict=True)):
            raise UsageError(
                f"strides {self.strides}: elements share memory, which torch does not draw into."
            )

    @property
    def numel(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.sizes)

    @property
    def dense(self) -> bool:
        """Whether the elements fill a run of memory, each place once; then the order is that of memory."""
        expected = 1
        for size, stride in sorted(zip(self.sizes, self.strides, strict=True), key=lambda pair: pair[1]):
            if size > 1:
                if stride != expected:
                    return False
                expected *= size
        return True

    @property
    def loops(self) -> tuple[tuple[int, int], ...]:
        """The dimensions that the draw goes through, the fastest first, fused: size and stride of each."""
        if self.dense:
            return ((self.numel, 1),)
        fused: list[tuple[int, int]] = []
        for dimension in self._permutation():
            size, stride = self.sizes[dimension], self.strides[dimension]
            if not fused:
                fused.append((size, stride))
                continue
            before, step = fused[-1]
            if 1 in (before, size) or before * step == stride:
                fused[-1] = (before * size, stride if before == 1 else step)
            else:
                fused.append((size, stride))
        return tuple(fused)

    def fits(self, width: int) -> bool:
        """Whether 32-bit indices reach every element of `width` bytes, so that one launch draws all.

        A dense tensor that does not fit is split in its order, as `birthmark.devices.layout.launches` says;
        one with gaps is split along its longest dimension, which is not predicted.
        """
        reach = sum(
            (size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True) if size
        )
        return self.numel <= INDEX_LIMIT and 1 + reach * width <= INDEX_LIMIT

    def linear(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place in the draw of elements at C-order flat indices of the tensor, any shape.

        Raises:
            UsageError: an index lies outside the tensor.
        """
        flat = self._checked(indices)
        if self.dense:
            return self._offsets(flat)
        place = np.zeros(flat.shape, np.int64)
        coordinates = self._coordinates(flat)
        step = 1
        for dimension in self._permutation():
            place += coordinates[dimension] * step
            step *= self.sizes[dimension]
        return place

    def logical(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The C-order flat indices of the elements at places in the draw: the inverse of `linear`.

        Raises:
            UsageError: a place lies outside the draw.
        """
        rest = self._checked(places)
        found = np.zeros(rest.shape, np.int64)
        steps = self._steps()
        for dimension in self._fastest_first():
            rest, coordinate = np.divmod(rest, max(self.sizes[dimension], 1))
            found += coordinate * steps[dimension]
        return found

    def offsets(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where in memory the elements at places in the draw lie, in elements from the first."""
        return self._offsets(self.logical(places))

    def arranged(self, values: NDArray[Any]) -> NDArray[Any]:
        """All values of a draw, in its order, as a C-order array of the tensor's own shape.

        Raises:
            UsageError: not one value for each element.
        """
        if values.shape != (self.numel,):
            raise UsageError(
                f"{values.shape} values for a tensor of {self.sizes}: expected one for each element."
            )
        slowest_first = self._fastest_first()[::-1]
        seen = values.reshape([self.sizes[dimension] for dimension in slowest_first])
        return np.ascontiguousarray(seen.transpose(np.argsort(slowest_first))).reshape(self.sizes)

    def _fastest_first(self) -> tuple[int, ...]:
        """The dimensions in the order in which a draw goes through them."""
        order = self._permutation()
        if self.dense:
            # Along memory the slowest dimension has the largest stride; those of size 1 have no say.
            return tuple(sorted(order, key=lambda one: (self.strides[one], self.sizes[one])))
        return order

    def _permutation(self) -> tuple[int, ...]:
        """The dimensions from fastest to slowest, by the iterator's own insertion sort.

        It starts from the last dimension as the fastest. Strides of 0 (of dimensions of size 1) compare as
        equal without ending the search, so that the sort has to be done step by step.
        """
        order = list(range(len(self.sizes)))[::-1]
        for last in range(1, len(order)):
            moving = last
            for other in range(last - 1, -1, -1):
                swap = self._compared(order[other], order[moving])
                if swap > 0:
                    order[other], order[moving] = order[moving], order[other]
                    moving = other
                elif swap < 0:
                    break
        return tuple(order)

    def _compared(self, first: int, second: int) -> int:
        """Above 0 where the first dimension has to be slower than the second, below where faster."""
        one, other = self.strides[first], self.strides[second]
        if one == 0 or other == 0:
            return 0
        if one != other:
            return 1 if one > other else -1
        return 1 if self.sizes[first] > self.sizes[second] else 0

    def _steps(self) -> list[int]:
        """The C-order stride of each dimension of the tensor's shape."""
        return [math.prod(self.sizes[dimension + 1 :]) for dimension in range(len(self.sizes))]

    def _coordinates(self, flat: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return [flat // step % size for step, size in zip(self._steps(), self.sizes, strict=True)]

    def _offsets(self, flat: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.zeros(flat.shape, np.int64)
        for coordinate, stride in zip(self._coordinates(flat), self.strides, strict=True):
            found += coordinate * stride
        return found

    def _checked(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        given = np.asarray(indices)
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.numel:
            raise UsageError(f"elements {given.min()} to {given.max()}: the tensor has {self.numel}.")
        return given.astype(np.int64, copy=False)


def contiguous(sizes: tuple[int, ...]) -> Order:
    """The order of a plain tensor, rows one after another."""
    return Order(sizes, tuple(math.prod(sizes[dimension + 1 :]) for dimension in range(len(sizes))))


def permuted(sizes: tuple[int, ...], dimensions: tuple[int, ...]) -> Order:
    """The order of a tensor that was allocated plainly and is seen permuted, as `tensor.permute` shows it.

    Args:
        sizes: extents as seen.
        dimensions: for each dimension as allocated, from slowest to fastest, which one it is as seen.

    Raises:
        UsageError: not a permutation of the dimensions.
    """
    if sorted(dimensions) != list(range(len(sizes))):
        raise UsageError(f"dimensions {dimensions} of a tensor of {len(sizes)}: expected each of them once.")
    strides = [0] * len(sizes)
    step = 1
    for dimension in reversed(dimensions):
        strides[dimension] = step
        step *= sizes[dimension]
    return Order(sizes, tuple(max(stride, 1) for stride in strides))
