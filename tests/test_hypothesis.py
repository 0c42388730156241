"""Hypotheses: random access against a literal run of the draw, at every size, cut and dtype."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import birthmark.hypothesis
from birthmark.devices.layout import Layout, pieces
from birthmark.errors import UnknownName, UsageError
from birthmark.hypothesis import CHUNK, Draw, Hypothesis
from birthmark.recipes.sharding import Sharding

DTYPES = ("float32", "float16", "bfloat16", "float64")


def literal_words(seed: int, counter: int, thread: int) -> list[int]:
    """Philox4x32-10 in plain Python."""
    c = [counter & 0xFFFFFFFF, counter >> 32, thread & 0xFFFFFFFF, thread >> 32]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (second >> 32) ^ c[1] ^ k[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ c[3] ^ k[1],
            first & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def literal_uniform(hypothesis: Hypothesis, seed: int, limit: int) -> tuple[NDArray[np.float32], int]:
    """`rand` as its host and device code do it, for every rank, launch, thread and lane in turn."""
    shape = hypothesis.draw.shape
    ranks = []
    end = hypothesis.offset
    for rank in range(hypothesis.sharding.ways):
        local = int(np.prod(hypothesis.sharding.local_shape(shape)))
        out = np.full(local, np.nan, np.float32)
        offset = hypothesis.offset
        key = (seed + rank * hypothesis.sharding.seed_step) % 2**64

        def fill(start: int, size: int, out: Any = out, key: int = key) -> None:
            nonlocal offset
            grid = min(-(-size // 256), hypothesis.threads // 256)
            stride = 256 * grid * 4
            held = offset
            offset += ((size - 1) // stride + 1) * 4
            if size > limit or 1 + (size - 1) * 4 > limit:
                halves = [(start, size)]
                while any(1 + (n - 1) * 4 > limit for _, n in halves):
                    halves = [
                        part
                        for s, n in halves
                        for part in (
                            [(s, n // 2), (s + n // 2, n - n // 2)] if 1 + (n - 1) * 4 > limit else [(s, n)]
                        )
                    ]
                for s, n in halves:
                    fill(s, n)
                return
            for thread in range(256 * grid):
                linear, call = thread, 0
                while linear < size:
                    words = literal_words(key, held // 4 + call, thread)
                    for lane in range(4):
                        element = linear + 256 * grid * lane
                        if element < size:
                            unit = np.float32(words[lane]) * np.float32(2.0**-32) + np.float32(2.0**-33)
                            out[start + element] = unit if unit < 1 else 0
                    linear += stride
                    call += 1

        fill(0, local)
        end = offset
        ranks.append(out)
    return np.concatenate(ranks), end


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # the patch below does not depend on the example
@given(
    ways=st.sampled_from([1, 2, 4]),
    rows=st.integers(min_value=1, max_value=9),
    columns=st.integers(min_value=1, max_value=150),
    cap=st.integers(min_value=1, max_value=2),
    offset=st.integers(min_value=0, max_value=2**34).map(lambda calls: 4 * calls),
    seed=st.integers(min_value=0, max_value=2**64 - 1),
    limit=st.sampled_from([200, 999, 2**31 - 1]),
)
def test_values_are_the_literal_draw(
    ways: int, rows: int, columns: int, cap: int, offset: int, seed: int, limit: int
) -> None:
    """Shards, splits, launches, calls and lanes together give what a literal run of the code gives."""
    draw = Draw("uniform", (0.0, 1.0), (rows * ways, columns))
    sharding = Sharding(ways, "megatron")
    hypothesis = Hypothesis(draw, 256 * cap, offset=offset, sharding=sharding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(birthmark.hypothesis, "pieces", functools.partial(pieces, limit=limit))
        expected, end = literal_uniform(hypothesis, seed, limit)
        assert np.array_equal(hypothesis.values(seed, np.arange(draw.size)), expected)
        assert np.array_equal(hypothesis.tensor(seed).ravel(), expected)
        assert hypothesis.end_offset == end
        some = slice(draw.size // 3, draw.size // 2 + 1)
        assert np.array_equal(hypothesis.run(seed, some.start, some.stop), expected[some])


@settings(max_examples=30, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES),
    distribution=st.sampled_from(["normal", "uniform"]),
    arithmetic=st.sampled_from(["nvidia-volta+", "nvidia-pascal-", "amd"]),
    n=st.integers(min_value=1, max_value=6000),
    seed=st.integers(min_value=0, max_value=2**64 - 1),
)
def test_scattered_elements_equal_the_whole(
    dtype: str, distribution: Any, arithmetic: Any, n: int, seed: int
) -> None:
    """Any elements in any order are those of the whole tensor, for every dtype, distribution and vendor."""
    draw = Draw(distribution, (-0.5, 0.25), (n,), dtype)
    hypothesis = Hypothesis(draw, 512, arithmetic, offset=12)
    whole = hypothesis.tensor(seed)
    order = np.random.default_rng(0).permutation(n)
    found = hypothesis.values(seed, order)
    assert found.dtype == (np.float64 if dtype == "float64" else np.float32)
    assert np.array_equal(found, whole[order])


def test_located_elements_serve_many_seeds() -> None:
    """`standard_of` a place equals `standard` of the indices, under any seed, with shards too."""
    draw = Draw("normal", (0.0, 1.0), (64, 50))
    hypothesis = Hypothesis(draw, 512, offset=4, sharding=Sharding(4, "megatron"))
    indices = np.array([[0, 3199], [800, 799]])
    place = hypothesis.locate(indices)
    for seed in (0, 5, 2**64 - 1):
        assert np.array_equal(hypothesis.standard_of(seed, place), hypothesis.standard(seed, indices))
    assert not np.array_equal(hypothesis.standard_of(0, place), hypothesis.standard_of(1, place))


def test_standard_values_are_scaled_once() -> None:
    """A draw's values are its standard values times std, plus mean, rounded once to the dtype."""
    draw = Draw("normal", (0.0, 0.5), (3000,))
    indices = np.arange(3000)
    hypothesis = Hypothesis(draw, 1024)
    assert np.array_equal(hypothesis.values(7, indices), hypothesis.standard(7, indices) * np.float32(0.5))


def test_sixteen_bit_draws_are_rounded_float32_draws() -> None:
    """A bfloat16 draw holds the float32 draw's values, rounded to the nearest, ties to even."""
    wide = Hypothesis(Draw("normal", (0.0, 0.02), (4000,)), 1024).tensor(3)
    narrow = Hypothesis(Draw("normal", (0.0, 0.02), (4000,), "bfloat16"), 1024).tensor(3)
    bits = wide.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    assert np.array_equal(narrow, rounded)


@pytest.mark.parametrize(("dtype", "unroll"), [("float32", 4), ("bfloat16", 4), ("float64", 2)])
@pytest.mark.parametrize("ways", [1, 8])
def test_a_tensor_of_ten_billion_elements(dtype: str, unroll: int, ways: int) -> None:
    """Rows of a tensor that no machine here could hold come from the right piece, offset and thread."""
    shape, threads = (2_441_408, 4096), 270_336
    draw = Draw("normal", (0.0, 1.0), shape, dtype)
    hypothesis = Hypothesis(draw, threads, offset=40, sharding=Sharding(ways, "megatron"))
    size = shape[0] * shape[1]
    local = size // ways
    launches, end = pieces(local, dtype, Layout(threads))
    indices = np.array([0, 1, local - 1, size // 3, size - 4096, size - 1], dtype=np.int64)
    place = hypothesis.locate(indices)
    for number, index in enumerate(indices.tolist()):
        rank, rest = divmod(index, local)
        piece = max((one for one in launches if one.start <= rest), key=lambda one: one.start)
        wave, thread = divmod(rest - piece.start, threads)
        assert int(place.rank[number]) == rank
        assert int(place.thread[number]) == thread
        assert int(place.lane[number]) == wave % unroll
        assert int(place.counter[number]) == (40 + piece.offset) // 4 + wave // unroll
    last = hypothesis.values(5, np.arange(size - 4096, size))
    assert np.array_equal(last, hypothesis.run(5, size - 4096, size))
    assert hypothesis.end_offset == 40 + end


def test_large_requests_are_cut_into_chunks() -> None:
    """More elements than one chunk come out in their order."""
    draw = Draw("uniform", (-1.0, 1.0), (3, CHUNK // 2))
    hypothesis = Hypothesis(draw, 4096)
    indices = np.arange(draw.size)[::-1]
    assert np.array_equal(hypothesis.values(11, indices), hypothesis.tensor(11).ravel()[::-1])


def test_results_keep_the_shape_of_the_indices() -> None:
    """A matrix of indices gives a matrix of values, standard values, places and blocks."""
    hypothesis = Hypothesis(Draw("normal", (0.0, 1.0), (50, 8)), 256)
    indices = np.arange(400).reshape(20, 20)
    assert hypothesis.values(1, indices).shape == (20, 20)
    assert hypothesis.standard(1, indices).shape == (20, 20)
    assert hypothesis.blocks(indices).shape == (20, 20)
    assert hypothesis.locate(indices).counter.shape == (20, 20)


@settings(max_examples=25, deadline=None)
@given(
    ways=st.sampled_from([1, 2]),
    rows=st.integers(min_value=1, max_value=40),
    columns=st.integers(min_value=1, max_value=60),
    dtype=st.sampled_from(["float32", "float64"]),
    limit=st.sampled_from([500, 2**31 - 1]),
)
def test_blocks_are_equal_where_words_are(ways: int, rows: int, columns: int, dtype: str, limit: int) -> None:
    """Two elements have one block number exactly when rank, counter and thread agree."""
    draw = Draw("normal", (0.0, 1.0), (rows * ways, columns), dtype)
    hypothesis = Hypothesis(draw, 256, offset=8, sharding=Sharding(ways, "megatron"))
    indices = np.arange(draw.size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(birthmark.hypothesis, "pieces", functools.partial(pieces, limit=limit))
        place = hypothesis.locate(indices)
        triples = list(zip(place.rank.tolist(), place.counter.tolist(), place.thread.tolist(), strict=True))
        blocks = hypothesis.blocks(indices).tolist()
    assert len(set(triples)) == len(set(blocks)) == len(set(zip(triples, blocks, strict=True)))


def test_block_partners_lie_a_wave_apart() -> None:
    """On a full launch elements j, j + G, j + 2G and j + 3G share a block; j + 1 and j + 4G do not."""
    threads = 270_336
    hypothesis = Hypothesis(Draw("normal", (0.0, 1.0), (2000, 4096)), threads)
    partners = hypothesis.blocks(np.array([5, 5 + threads, 5 + 2 * threads, 5 + 3 * threads]))
    assert len(set(partners.tolist())) == 1
    strangers = hypothesis.blocks(np.array([5, 6, 5 + 4 * threads]))
    assert len(set(strangers.tolist())) == 3


def test_neighbours_of_a_hypothesis_predict_something_else() -> None:
    """Another seed, layout, offset, cut or arithmetic changes values; the layout does so from one wave on."""
    draw = Draw("normal", (0.0, 1.0), (64, 256))
    base = Hypothesis(draw, 1024)
    true = base.tensor(9)
    others = [
        base.tensor(10),
        dataclasses.replace(base, threads=1280).tensor(9),
        dataclasses.replace(base, offset=4).tensor(9),
        dataclasses.replace(base, sharding=Sharding(2, "megatron")).tensor(9),
    ]
    for other in others:
        assert np.mean(other == true) < 0.6
    pascal = dataclasses.replace(base, arithmetic="nvidia-pascal-").tensor(9)
    assert 0.5 < np.mean(pascal == true) < 1
    assert np.allclose(pascal, true, atol=1e-5)
    assert np.array_equal(
        dataclasses.replace(base, threads=1280).tensor(9).ravel()[:1024], true.ravel()[:1024]
    )


def test_seeds_wrap_at_64_bits() -> None:
    """Seed -1 is 2^64 - 1, and rank 1 above it is seed 0."""
    draw = Draw("normal", (0.0, 1.0), (4, 100))
    one = Hypothesis(draw, 256, sharding=Sharding(2, "megatron"))
    assert np.array_equal(one.tensor(-1), one.tensor(2**64 - 1))
    half = Hypothesis(Draw("normal", (0.0, 1.0), (2, 100)), 256)
    assert np.array_equal(one.tensor(-1)[2:], half.tensor(0))


def test_empty_requests_and_tensors() -> None:
    """No indices give no values; a tensor without elements draws nothing and moves no offset."""
    hypothesis = Hypothesis(Draw("normal", (0.0, 1.0), (10, 10)), 256)
    assert hypothesis.values(1, np.array([], dtype=np.int64)).size == 0
    assert hypothesis.run(1, 7, 7).size == 0
    empty = Hypothesis(Draw("normal", (0.0, 1.0), (0, 10)), 256, offset=4)
    assert empty.tensor(1).shape == (0, 10)
    assert empty.end_offset == 4


@pytest.mark.parametrize("indices", [[-1], [100], [0, 10**12], [0.5], [True]])
def test_indices_outside_the_tensor_are_refused(indices: list[Any]) -> None:
    """Negative, too large and non-integer indices are usage errors, never other elements' values."""
    hypothesis = Hypothesis(Draw("normal", (0.0, 1.0), (10, 10)), 256)
    with pytest.raises(UsageError, match="element indices"):
        hypothesis.values(1, np.array(indices))


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 101)])
def test_runs_outside_the_tensor_are_refused(start: int, stop: int) -> None:
    """A run must lie in the tensor."""
    with pytest.raises(UsageError, match="expected a range"):
        Hypothesis(Draw("normal", (0.0, 1.0), (10, 10)), 256).run(1, start, stop)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"distribution": "cauchy"}, UnknownName),
        ({"dtype": "float33"}, UnknownName),
        ({"version": "1.0"}, UnknownName),
        ({"shape": (3, -1)}, UsageError),
        ({"parameters": (0.0, -1.0)}, UsageError),
        ({"parameters": (0.0, float("nan"))}, UsageError),
        ({"parameters": (0.0, 1e39)}, UsageError),
        ({"distribution": "uniform", "parameters": (-70_000.0, 1.0), "dtype": "float16"}, UsageError),
        ({"distribution": "uniform", "parameters": (1.0, -1.0)}, UsageError),
    ],
)
def test_impossible_draws_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """What torch would refuse, or birthmark does not know, is an error at once."""
    given_draw = {"distribution": "normal", "parameters": (0.0, 1.0), "shape": (2, 2), **change}
    with pytest.raises(error):
        Draw(**given_draw)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"threads": 1000}, UsageError),
        ({"arithmetic": "intel"}, UnknownName),
        ({"offset": 6}, UsageError),
        ({"offset": -4}, UsageError),
        ({"offset": 2**63}, UsageError),
        ({"generator": "mt19937"}, UnknownName),
        ({"sharding": Sharding(3, "megatron")}, UsageError),
    ],
)
def test_impossible_hypotheses_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """A layout, offset, generator or cut that cannot be is an error at once."""
    with pytest.raises(error):
        Hypothesis(**{"draw": Draw("normal", (0.0, 1.0), (2, 2)), "threads": 256, **change})


def test_double_draws_up_to_2_4_move_the_offset_by_half() -> None:
    """The same values, but the next draw starts among words already used; other dtypes do not care."""
    draw = Draw("normal", (0.0, 1.0), (40, 100), "float64")
    newer, older = Hypothesis(draw, 256), Hypothesis(draw, 256, offsets="2.4-")
    assert np.array_equal(newer.tensor(3), older.tensor(3))
    assert (newer.end_offset, older.end_offset) == (32, 16)
    single = Draw("normal", (0.0, 1.0), (40, 100))
    assert Hypothesis(single, 256).end_offset == Hypothesis(single, 256, offsets="2.4-").end_offset
    indices = np.arange(4000)
    assert np.array_equal(newer.blocks(indices), older.blocks(indices))
    assert len(np.unique(older.blocks(indices))) == 2048  # two values a block, the last blocks half used


def test_redraws_can_lie_further_apart() -> None:
    """With a step of its own, each draw again comes from there; in bounds nothing changes."""
    draw = Draw("truncated-normal", (0.0, 1.0, -1.0, 1.0), (10, 100), version="2.12+")
    near, far = Hypothesis(draw, 256), Hypothesis(draw, 256, redraw_step=4000)
    first = Hypothesis(Draw("normal", (0.0, 1.0), (10, 100)), 256).tensor(3)
    again = Hypothesis(Draw("normal", (0.0, 1.0), (10, 100)), 256, offset=4000).tensor(3)
    inside, second = np.abs(first) <= 1, np.abs(again) <= 1
    assert np.array_equal(far.tensor(3)[inside], first[inside])
    assert np.array_equal(near.tensor(3)[inside], first[inside])
    assert np.array_equal(far.tensor(3)[~inside & second], again[~inside & second])
    assert not np.array_equal(near.tensor(3), far.tensor(3))
    assert far.end_offset_of(3) % 4000 == 0


@pytest.mark.parametrize(
    ("change", "error"), [({"offsets": "2.4"}, UnknownName), ({"redraw_step": 6}, UsageError)]
)
def test_impossible_rules_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """An offset rule that nobody has, or redraws between calls."""
    with pytest.raises(error):
        Hypothesis(Draw("normal", (0.0, 1.0), (2, 2)), 256, **change)
