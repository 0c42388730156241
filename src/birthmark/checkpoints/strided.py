"""How the elements of a tensor lie in its storage: index arithmetic, no bytes.

An element with subscripts i lies at sum(i * stride), counted in elements from the tensor's first one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements lie one after another in C order; strides of extents 0 and 1 do not matter."""
    if 0 in shape:
        return True
    pairs = zip(shape, strides, contiguous_strides(shape), strict=True)
    return all(extent == 1 or stride == expected for extent, stride, expected in pairs)


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Storage elements from the first to just past the last one; 0 for an empty array (strides >= 0)."""
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))


def positions(
    indices: NDArray[np.int64], shape: tuple[int, ...], strides: tuple[int, ...]
) -> NDArray[np.int64]:
    """Storage positions, in elements from the tensor's first one, of the given C-order flat indices."""
    rest = indices
    place = np.zeros(len(indices), np.int64)
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        rest, subscript = np.divmod(rest, np.int64(extent))
        place += subscript * np.int64(stride)
    return place
