"""Layouts: against the worked numbers of the launch rules, and against a literal run of the launch loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.devices.layout import (
    Layout,
    Piece,
    calls_of,
    launches,
    locate,
    offset_unroll,
    pieces,
    unroll_of,
)
from birthmark.errors import UnknownName, UsageError

H100 = 270_336
A100 = 221_184
B200 = 303_104

blocks = st.integers(min_value=1, max_value=6)
counts = st.integers(min_value=1, max_value=20_000)
unrolls = st.sampled_from([2, 4])


def literal_launch(n: int, cap_blocks: int, unroll: int) -> tuple[dict[int, tuple[int, int, int]], int]:
    """The kernel's loop as it is written, for every thread: element -> (call, lane, thread); and calls made.

    Threads run over a range rounded up to whole strides of (block x grid x unroll), so each makes as many
    calls as the last one needs.
    """
    block = 256
    grid = min((n + block - 1) // block, cap_blocks)
    stride = block * grid * unroll
    rounded = ((n - 1) // stride + 1) * stride
    written: dict[int, tuple[int, int, int]] = {}
    most = 0
    for block_index in range(grid):
        for thread_index in range(block):
            thread = block_index * block + thread_index
            call = 0
            linear = thread
            while linear < rounded:
                for lane in range(unroll):
                    element = linear + block * grid * lane
                    if element < n:
                        assert element not in written
                        written[element] = (call, lane, thread)
                call += 1
                linear += stride
            most = max(most, call)
    return written, most


@given(n=counts, cap=blocks, unroll=unrolls)
def test_locate_is_the_launch_loop(n: int, cap: int, unroll: int) -> None:
    """Every element comes from the call, lane and thread that a literal run of the loop writes it with."""
    written, _ = literal_launch(n, cap, unroll)
    call, lane, thread = Layout(256 * cap).locate(n, np.arange(n, dtype=np.int64), unroll)
    assert sorted(written) == list(range(n))
    assert [written[j] for j in range(n)] == list(
        zip(call.tolist(), lane.tolist(), thread.tolist(), strict=True)
    )


@given(n=counts, cap=blocks, unroll=unrolls)
def test_advance_is_four_a_call(n: int, cap: int, unroll: int) -> None:
    """The offset moves by four for each call that a thread of the literal loop makes."""
    _, most = literal_launch(n, cap, unroll)
    assert Layout(256 * cap).advance(n, unroll) == 4 * most


@given(
    n=st.integers(min_value=1, max_value=10**11),
    cap=st.integers(min_value=1, max_value=4096),
    unroll=unrolls,
    data=st.data(),
)
def test_index_inverts_locate_at_any_size(n: int, cap: int, unroll: int, data: st.DataObject) -> None:
    """`index` gives back every element, for launches of up to 10^11 elements."""
    layout = Layout(256 * cap)
    some = data.draw(st.lists(st.integers(min_value=0, max_value=n - 1), min_size=1, max_size=20))
    indices = np.array([*some, 0, n - 1], dtype=np.int64)
    call, lane, thread = layout.locate(n, indices, unroll)
    assert np.array_equal(layout.index(n, call, lane, thread, unroll), indices)
    assert int(lane.max()) < unroll
    assert int(thread.max()) < layout.launch_threads(n)
    assert int(call.max()) < layout.advance(n, unroll) // 4
    exact = [divmod(int(j), layout.launch_threads(n)) for j in indices]
    assert [w // unroll for w, _ in exact] == call.tolist()
    assert [t for _, t in exact] == thread.tolist()


@pytest.mark.parametrize(
    ("j", "call", "lane", "thread"),
    [
        (0, 0, 0, 0),
        (1, 0, 0, 1),
        (270_335, 0, 0, 270_335),
        (270_336, 0, 1, 0),
        (540_672, 0, 2, 0),
        (811_008, 0, 3, 0),
        (1_081_344, 1, 0, 0),
        (1_081_349, 1, 0, 5),
        (2_162_688, 2, 0, 0),
        (2_999_999, 2, 3, 26_303),
    ],
)
def test_worked_example_of_three_million(j: int, call: int, lane: int, thread: int) -> None:
    """The worked example on 132 SMs of 2,048 threads, n = 3,000,000, comes out element by element."""
    found = Layout(H100).locate(3_000_000, np.array([j], dtype=np.int64))
    assert [int(part[0]) for part in found] == [call, lane, thread]
    assert Layout(H100).advance(3_000_000) == 12


@pytest.mark.parametrize(
    ("n", "dtype", "threads", "sizes", "offsets", "end"),
    [
        (128_256 * 8192, "float32", H100, [525_336_576] * 2, [3888, 5832], 7776),
        (128_256 * 8192, "float32", A100, [525_336_576] * 2, [4752, 7128], 9504),
        (128_256 * 8192, "float32", B200, [525_336_576] * 2, [3468, 5204], 6940),
        (128_256 * 8192, "bfloat16", H100, [1_050_673_152], [0], 3888),
        (151_936 * 8192, "float32", H100, [311_164_928] * 4, [4608, 5760, 6912, 8064], 9216),
        (151_936 * 8192, "bfloat16", H100, [622_329_856] * 2, [4608, 6912], 9216),
        (151_936 * 8192, "bfloat16", A100, [622_329_856] * 2, [5628, 8444], 11_260),
        (129_280 * 7168, "float32", H100, [463_339_520] * 2, [3428, 5144], 6860),
        (128_256 * 4096, "float32", H100, [525_336_576], [0], 1944),
        (2**29, "float32", H100, [2**29], [0], 1988),
        (2**29 + 1, "float32", H100, [268_435_456, 268_435_457], [1988, 2984], 3980),
        (
            3 * 2**29 + 1,
            "float32",
            H100,
            [402_653_184] * 3 + [402_653_185],
            [5960, 7452, 8944, 10_436],
            11_928,
        ),
        (2**28 + 1, "float64", H100, [134_217_728, 134_217_729], [1988, 2984], 3980),
        (2**31, "bfloat16", H100, [2**30] * 2, [7944, 11_916], 15_888),
        (163_840 * 7168, "bfloat16", H100, [587_202_560] * 2, [4348, 6524], 8700),
    ],
)
def test_worked_numbers_of_huge_tensors(
    n: int, dtype: str, threads: int, sizes: list[int], offsets: list[int], end: int
) -> None:
    """Pieces, their offsets and the final offset are the worked numbers of the byte-limit split."""
    found, finish = pieces(n, dtype, Layout(threads))
    assert [piece.size for piece in found] == sizes
    assert [piece.offset for piece in found] == offsets
    assert finish == end


@pytest.mark.parametrize(
    ("dtype", "largest"), [("float64", 2**28), ("float32", 2**29), ("bfloat16", 2**30), ("float16", 2**30)]
)
def test_largest_unsplit_tensor(dtype: str, largest: int) -> None:
    """A tensor is split from exactly one element above 2 GiB of its own dtype."""
    assert len(pieces(largest, dtype, Layout(H100))[0]) == 1
    assert len(pieces(largest + 1, dtype, Layout(H100))[0]) == 2


def literal_split(n: int, dtype: str, layout: Layout, limit: int) -> tuple[list[Piece], int]:
    """The host code as it is written: reserve, test, split into iterators, and call again for each part."""
    width = {"float64": 8, "float32": 4, "bfloat16": 2}[dtype]
    unroll = unroll_of(dtype)
    offset = 0
    launched: list[Piece] = []

    def fits(size: int) -> bool:
        return size <= limit and 1 + (size - 1) * width <= limit

    def parts(start: int, size: int) -> list[tuple[int, int]]:
        """What `iter.with_32bit_indexing()` yields: a stack of ranges, split until they fit."""
        stack = [(start, size)]
        done = []
        while stack:
            first, count = stack.pop()
            if fits(count):
                done.append((first, count))
                continue
            stack.append((first + count // 2, count - count // 2))
            stack.append((first, count // 2))
        return done

    def call(start: int, size: int) -> None:
        nonlocal offset
        held = offset
        offset += layout.advance(size, unroll)
        if not fits(size):
            for first, count in parts(start, size):
                call(first, count)
            return
        launched.append(Piece(start, size, held))

    call(0, n)
    return launched, offset


@given(
    n=st.integers(min_value=1, max_value=60_000),
    cap=blocks,
    dtype=st.sampled_from(["float32", "float64", "bfloat16"]),
    limit=st.integers(min_value=40, max_value=4000),
)
def test_split_is_the_recursive_call(n: int, cap: int, dtype: str, limit: int) -> None:
    """With an artificially small limit the pieces are those of a literal recursive run of the host code."""
    layout = Layout(256 * cap)
    found, end = pieces(n, dtype, layout, limit=limit)
    launched, offset = literal_split(n, dtype, layout, limit)
    assert list(found) == launched
    assert end == offset


def test_old_double_draws_can_be_asked_for() -> None:
    """Up to PyTorch 2.4 a double draw advanced as if each call made four values."""
    layout = Layout(A100)
    assert layout.advance(3 * A100, unroll=2) == 8
    assert layout.advance(3 * A100, unroll=4) == 4


def test_small_launches_carry_no_layout() -> None:
    """Up to one wave, element j is thread j on every device; one element later it is not."""
    indices = np.arange(40_961, dtype=np.int64)
    small = [Layout(threads).locate(40_960, indices[:-1]) for threads in (40_960, 89_088)]
    large = [Layout(threads).locate(40_961, indices) for threads in (40_960, 89_088)]
    assert all(np.array_equal(one, other) for one, other in zip(*small, strict=True))
    assert not all(np.array_equal(one, other) for one, other in zip(*large, strict=True))


def test_an_empty_draw_launches_nothing() -> None:
    """n = 0 has no pieces, no threads, and leaves the offset alone."""
    layout = Layout(A100)
    assert pieces(0, "float32", layout) == ((), 0)
    assert layout.advance(0) == 0
    assert layout.launch_threads(0) == 0
    assert layout.locate(0, np.zeros(0, dtype=np.int64))[0].size == 0


@pytest.mark.parametrize("threads", [0, -256, 255, 1000])
def test_a_layout_is_made_of_whole_blocks(threads: int) -> None:
    """A count of threads that is not a positive multiple of 256 is refused."""
    with pytest.raises(UsageError, match="multiple of 256"):
        Layout(threads)


def test_pieces_refuse_an_unknown_dtype() -> None:
    """The byte limit needs a dtype that has a width."""
    with pytest.raises(UnknownName):
        pieces(10, "float33", Layout(256))


def test_launches_of_any_width() -> None:
    """Integers and truth values split by their own bytes; floats as `pieces` says."""
    layout = Layout(A100)
    assert launches(1000, 4, layout, unroll=4) == pieces(1000, "float32", layout)
    assert len(launches(2**29 + 1, 2, layout, unroll=4)[0]) == 1
    assert len(launches(2**29 + 1, 4, layout, unroll=4)[0]) == 2
    assert len(launches(2**31, 1, layout, unroll=4)[0]) == 2


def test_offsets_of_two_word_draws_up_to_2_4() -> None:
    """The advance reckoned with four values a call; where two come, it falls short."""
    layout = Layout(256)
    assert launches(4096, 8, layout, unroll=2)[1] == 32
    assert launches(4096, 8, layout, unroll=2, rule="2.4-")[1] == 16
    assert launches(4096, 4, layout, unroll=4, rule="2.4-") == launches(4096, 4, layout, unroll=4)
    assert offset_unroll(2, "2.4-") == 4
    with pytest.raises(UnknownName, match="offset rule"):
        offset_unroll(2, "2.3")


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(min_value=0, max_value=5000),
    blocks=st.integers(min_value=1, max_value=5),
    unroll=st.sampled_from([2, 4]),
    rule=st.sampled_from(["2.5+", "2.4-"]),
    limit=st.sampled_from([900, 2**31 - 1]),
)
def test_places_over_all_launches(n: int, blocks: int, unroll: int, rule: str, limit: int) -> None:
    """Each element lies where its own launch puts it, and no counter reaches the bound."""
    layout = Layout(256 * blocks)
    launched, _ = launches(n, 4, layout, unroll=unroll, rule=rule, limit=limit)
    counter, lane, thread = locate(launched, layout, np.arange(n), unroll)
    for piece in launched:
        own = slice(piece.start, piece.start + piece.size)
        call, lanes, threads = layout.locate(piece.size, np.arange(piece.size), unroll)
        assert np.array_equal(counter[own], call + np.uint64(piece.offset // 4))
        assert np.array_equal(lane[own], lanes)
        assert np.array_equal(thread[own], threads)
    assert calls_of(launched, layout, unroll) == max(counter.tolist(), default=0) + 1
