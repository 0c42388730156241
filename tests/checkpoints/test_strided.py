"""Index arithmetic of strided tensors, against numpy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from birthmark.checkpoints.strided import contiguous_strides, is_contiguous, positions, span

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@given(SHAPES)
def test_contiguous_strides_are_those_of_a_fresh_array(shape: tuple[int, ...]) -> None:
    """A fresh numpy array of the shape is contiguous under these strides, and spans all its elements."""
    assert is_contiguous(shape, contiguous_strides(shape))
    assert span(shape, contiguous_strides(shape)) == int(np.prod(shape))
    if 0 not in shape:
        assert contiguous_strides(shape) == np.empty(shape, np.int8).strides


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=4))
def test_positions_are_where_numpy_finds_the_elements(axes: list[tuple[int, int]]) -> None:
    """Each flat index leads to the storage element that numpy's strided view shows there."""
    shape, strides = tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes)
    storage = np.arange(span(shape, strides), dtype=np.int64)

    expected = as_strided(storage, shape, tuple(8 * stride for stride in strides), writeable=False).reshape(
        -1
    )

    actual = positions(np.arange(int(np.prod(shape)), dtype=np.int64), shape, strides)
    assert np.array_equal(expected, storage[actual])
    assert int(actual.max()) + 1 == len(storage)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((3, 4), (4, 1), True),
        ((3, 4), (1, 3), False),
        ((1, 4), (99, 1), True),
        ((4, 1), (1, 77), True),
        ((3, 4), (8, 1), False),
        ((2, 3), (0, 1), False),
        ((), (), True),
        ((0, 3), (7, 7), True),
    ],
)
def test_contiguity_ignores_axes_that_do_not_move(
    shape: tuple[int, ...], strides: tuple[int, ...], *, expected: bool
) -> None:
    """Only strides of extents above one decide."""
    assert is_contiguous(shape, strides) is expected
