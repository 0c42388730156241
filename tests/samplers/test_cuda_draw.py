"""Draws over launches: against PyTorch's kernel loop written out, random access, huge splits, refusals."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import birthmark.samplers.cuda_draw
from birthmark.devices.layout import launches
from birthmark.errors import UnknownName, UsageError
from birthmark.generators.philox import words
from birthmark.samplers.bernoulli import Bernoulli
from birthmark.samplers.cuda_draw import CudaDraw, Sampler
from birthmark.samplers.derived import Cauchy, Geometric, LogNormal
from birthmark.samplers.draw import Draw
from birthmark.samplers.exponential import Exponential
from birthmark.samplers.integers import Integers

SAMPLERS: tuple[Sampler, ...] = (
    Integers(0, 1000),
    Integers(0, 1 << 40),
    Integers(),
    Integers(dtype="int32"),
    Bernoulli(0.3),
    Bernoulli(0.3, "float64"),
    Exponential(2.0),
    Exponential(2.0, "float64"),
    LogNormal(0.0, 0.5),
    Cauchy(),
    Geometric(0.2, "int32"),
    Draw("normal", (0.0, 1.0), (1,)),
    Draw("uniform", (-1.0, 1.0), (1,), "float64"),
)


def kernel_loop(n: int, threads: int, unroll: int) -> Iterator[tuple[int, int, int, int]]:
    """The loop of distribution_elementwise_grid_stride_kernel: element, thread, call, lane."""
    stride = min(-(-n // 256) * 256, threads)
    rounded = ((n - 1) // (stride * unroll) + 1) * stride * unroll
    for thread in range(stride):
        for call, linear in enumerate(range(thread, rounded, stride * unroll)):
            for lane in range(unroll):
                if linear + stride * lane < n:
                    yield linear + stride * lane, thread, call, lane


@pytest.mark.parametrize("size", [1, 255, 512, 700, 5000])
def test_integers_follow_the_kernel_loop(size: int) -> None:
    """Both paths, element by element, against the loop written out over single words."""
    threads, seed, offset = 512, 77, 16
    short, long = np.empty(size, np.int64), np.empty(size, np.int64)
    for element, thread, call, lane in kernel_loop(size, threads, 4):
        block = words(seed, np.array([offset // 4 + call]), np.array([thread]))[0]
        short[element] = int(block[lane]) % 1000 - 3
    for element, thread, call, lane in kernel_loop(size, threads, 2):
        block = words(seed, np.array([offset // 4 + call]), np.array([thread]))[0]
        long[element] = (int(block[2 * lane]) << 32 | int(block[2 * lane + 1])) % (1 << 40)
    assert np.array_equal(CudaDraw(Integers(-3, 997), size, threads, offset=offset).run(seed), short)
    assert np.array_equal(CudaDraw(Integers(0, 1 << 40), size, threads, offset=offset).run(seed), long)


@settings(max_examples=25, deadline=None)
@given(
    sampler=st.sampled_from(SAMPLERS),
    size=st.integers(min_value=1, max_value=9000),
    blocks=st.integers(min_value=1, max_value=9),
    limit=st.sampled_from([2000, 2**31 - 1]),
    data=st.data(),
)
def test_random_access_is_a_cut_of_the_run(
    sampler: Sampler, size: int, blocks: int, limit: int, data: st.DataObject
) -> None:
    """Any elements and any range are those of the whole, over a split as well."""
    first = data.draw(st.integers(min_value=0, max_value=size))
    last = data.draw(st.integers(min_value=first, max_value=size))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(birthmark.samplers.cuda_draw, "launches", functools.partial(launches, limit=limit))
        draw = CudaDraw(sampler, size, 256 * blocks, offset=8)
        whole = draw.run(5)
        chosen = np.random.default_rng(size).integers(0, size, (7, 3))
        assert np.array_equal(draw.values(5, chosen), whole[chosen])
        assert np.array_equal(draw.run(5, first, last), whole[first:last])


def test_runs_longer_than_a_chunk() -> None:
    """Joined words of a launch wider than the loops' chunk are those of single places."""
    draw = CudaDraw(Integers(0, 1 << 40), 60_000, 20_480)
    whole = draw.run(9, 100, 59_999)
    indices = np.arange(100, 59_999)
    assert np.array_equal(whole, draw.values(9, indices))
    narrow = CudaDraw(Integers(0, 1000), 60_000, 20_480)
    assert np.array_equal(narrow.run(9, 100, 59_999), narrow.values(9, indices))


@pytest.mark.parametrize(("dtype", "width"), [("bool", 1), ("int16", 2), ("int32", 4), ("int64", 8)])
def test_a_huge_tensor_splits_by_its_own_width(dtype: str, width: int) -> None:
    """Both sides of the largest tensor that 32-bit indices reach: one launch, then two after a lost one."""
    largest = min((2**31 - 2) // width + 1, 2**31 - 1)
    whole = CudaDraw(Integers(0, 2, dtype), largest, 270_336)
    split = CudaDraw(Integers(0, 2, dtype), largest + 1, 270_336)
    advance = ((largest - 1) // (4 * 270_336) + 1) * 4
    assert whole.end_offset == advance
    half = (largest + 1) // 2
    assert split.end_offset > 1.9 * advance
    last = split.values(3, np.array([largest, half - 1, half]))
    again = CudaDraw(Integers(0, 2, dtype), largest + 1 - half, 270_336)
    offset = split.end_offset - again.end_offset
    second = CudaDraw(Integers(0, 2, dtype), largest + 1 - half, 270_336, offset=offset)
    assert last[2] == second.values(3, np.array([0]))[0]
    assert last[0] == second.values(3, np.array([largest - half]))[0]


def test_two_words_a_value_move_the_offset_by_the_release() -> None:
    """Up to 2.4 the offset moved as if four values came from a call, also where two did."""
    for sampler in (Integers(0, 1 << 40), Bernoulli(0.5, "float64")):
        newer = CudaDraw(sampler, 3000, 512)
        older = CudaDraw(sampler, 3000, 512, offsets="2.4-")
        assert (newer.end_offset, older.end_offset) == (12, 8)
        assert np.array_equal(newer.run(1), older.run(1))
    with pytest.raises(UnknownName, match="offset rule"):
        CudaDraw(Integers(), 10, 256, offsets="2.4")


def test_nothing_is_drawn_for_nothing() -> None:
    """A tensor without elements has no values and moves no offset."""
    for sampler in SAMPLERS:
        draw = CudaDraw(sampler, 0, 256, offset=4)
        assert draw.run(1).size == 0
        assert draw.end_offset == 4
        assert CudaDraw(sampler, 5, 256).values(1, np.empty((0, 2), np.int64)).shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"size": -1}, UsageError),
        ({"threads": 100}, UsageError),
        ({"offset": 2}, UsageError),
        ({"offset": -4}, UsageError),
        ({"arithmetic": "intel"}, UnknownName),
    ],
)
def test_impossible_calls_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """A size, layout, offset or arithmetic that cannot be is an error at once."""
    with pytest.raises(error):
        CudaDraw(**{"sampler": Integers(), "size": 10, "threads": 256, **change})


def test_elements_outside_are_refused() -> None:
    """Indices and ranges beyond the tensor never give other elements' values."""
    draw = CudaDraw(Integers(), 10, 256)
    for bad in ([-1], [10], [0.5]):
        with pytest.raises(UsageError, match="element indices"):
            draw.values(1, np.array(bad))
    for start, stop in ((-1, 2), (3, 2), (0, 11)):
        with pytest.raises(UsageError, match="expected a range"):
            draw.run(1, start, stop)
