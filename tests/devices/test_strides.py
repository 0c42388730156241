"""Orders of draws over strided tensors, against torch's own iterator on the CPU."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.devices.strides import Order, contiguous, permuted
from birthmark.errors import UsageError


def order_of(tensor: torch.Tensor) -> Order:
    return Order(tuple(tensor.shape), tuple(tensor.stride()))


def drawn(tensor: torch.Tensor) -> NDArray[np.int64]:
    """The places in the draw of all elements, in C order, as torch's serial random_ fills them."""
    count = tensor.numel()
    line = torch.empty(count, dtype=torch.int64).random_(generator=torch.Generator().manual_seed(1))
    tensor.random_(generator=torch.Generator().manual_seed(1))
    place = {value: number for number, value in enumerate(line.tolist())}
    return np.array([place[value] for value in tensor.reshape(-1).tolist()], np.int64)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Slices with gaps of permuted tensors, with dimensions of size 1 and strides that say nothing."""
    sizes = draw(st.lists(st.integers(min_value=1, max_value=5), min_size=0, max_size=4))
    dimensions = draw(st.permutations(range(len(sizes))))
    tensor = torch.empty(sizes, dtype=torch.int64).permute(dimensions)
    for dimension in range(len(sizes)):
        step = draw(st.integers(min_value=1, max_value=3))
        start = draw(st.integers(min_value=0, max_value=tensor.shape[dimension] - 1))
        tensor = tensor[(slice(None),) * dimension + (slice(start, None, step),)]
    if draw(st.booleans()):
        tensor = tensor.unsqueeze(draw(st.integers(min_value=0, max_value=tensor.dim())))
    return tensor


@settings(max_examples=150, deadline=None)
@given(tensor=tensors())
def test_orders_are_the_iterators(tensor: torch.Tensor) -> None:
    """Every element's place in a draw is what torch fills there; the inverse and the offsets agree."""
    order = order_of(tensor)
    count = tensor.numel()
    places = order.linear(np.arange(count))
    assert np.array_equal(places, drawn(tensor))
    assert np.array_equal(order.logical(places), np.arange(count))
    assert sorted(places.tolist()) == list(range(count))
    assert np.array_equal(order.arranged(np.arange(count)).reshape(-1), places)
    # The loops say the same: mixed digits, the fastest first, times their strides.
    expected, step = np.zeros(count, np.int64), 1
    for size, stride in order.loops:
        expected += np.arange(count) // step % size * stride
        step *= size
    assert np.array_equal(order.offsets(np.arange(count)), expected)
    assert math.prod(size for size, _ in order.loops) == count


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(min_value=1, max_value=5), max_size=4), data=st.data())
def test_dense_tensors_are_filled_along_memory(sizes: list[int], data: st.DataObject) -> None:
    """A permuted tensor is dense, and its order is that of its storage."""
    dimensions = data.draw(st.permutations(range(len(sizes))))
    storage = torch.empty(sizes, dtype=torch.int64)
    seen = storage.permute(*np.argsort(dimensions).tolist()) if sizes else storage
    order = order_of(seen)
    assert order.dense
    storage.copy_(torch.arange(storage.numel()).reshape(sizes))
    places = order.linear(np.arange(storage.numel())).tolist()
    assert places == seen.reshape(-1).tolist()
    assert permuted(tuple(seen.shape), tuple(dimensions)).linear(np.arange(len(places))).tolist() == places


def test_a_transposed_parameter() -> None:
    """The element in row r and column c of a transposed matrix is number c R + r of the draw."""
    order = permuted((3, 4), (1, 0))
    assert order == Order((3, 4), (1, 3))
    assert order.linear(np.array([[0, 1], [4, 11]])).tolist() == [[0, 3], [1, 11]]
    assert contiguous((3, 4)).linear(np.array([5])).tolist() == [5]
    assert contiguous((3, 4)).linear(np.array([5])).tolist() != order.linear(np.array([5])).tolist()
    image = permuted((2, 3, 4, 5), (0, 2, 3, 1))
    assert image.strides == torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last).stride()


def test_gaps_make_loops() -> None:
    """Every other column leaves two loops, every other row of whole rows too; a cut of rows stays one."""
    assert Order((4, 3), (6, 2)).loops == ((12, 2),)
    assert Order((4, 3), (8, 2)).loops == ((3, 2), (4, 8))
    assert Order((2, 6), (12, 1)).loops == ((6, 1), (2, 12))
    assert Order((2, 6), (6, 1)).loops == ((12, 1),)
    assert not Order((4, 3), (6, 2)).dense
    assert Order((), ()).loops == ((1, 1),)


def test_indices_in_32_bits() -> None:
    """The byte that the last element starts at decides, so gaps count."""
    assert contiguous((2**29,)).fits(4)
    assert not contiguous((2**29 + 1,)).fits(4)
    assert contiguous((2**29 + 1,)).fits(2)
    assert not Order((2**28 + 1,), (2,)).fits(4)
    assert not contiguous((2**31,)).fits(1)
    assert contiguous((0, 5)).fits(8)


def test_tensors_without_elements() -> None:
    """Nothing has no places."""
    order = contiguous((0, 3))
    assert order.linear(np.empty(0, np.int64)).size == order.logical(np.empty((0, 2), np.int64)).size == 0
    assert order.arranged(np.empty(0)).shape == (0, 3)


def test_what_cannot_be_is_refused() -> None:
    """Overlaps, negative numbers, indices outside and wrong counts are usage errors."""
    for sizes, strides in (((2,), (1, 1)), ((-1,), (1,)), ((2,), (-1,)), ((2, 3), (0, 1))):
        with pytest.raises(UsageError):
            Order(sizes, strides)
    with pytest.raises(UsageError, match="the tensor has 6"):
        contiguous((2, 3)).linear(np.array([6]))
    with pytest.raises(UsageError, match="the tensor has 6"):
        contiguous((2, 3)).logical(np.array([-1]))
    with pytest.raises(UsageError, match="expected one for each element"):
        contiguous((2, 3)).arranged(np.zeros(5))
    with pytest.raises(UsageError, match="each of them once"):
        permuted((2, 3), (0, 0))
