"""Tensors that do not lie as they were drawn: transposed, or joined from shards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.evidence.arrangement import (
    AS_STORED,
    Arrangement,
    alike_in_columns,
    shard_arrangements,
    usual_arrangements,
)
from birthmark.evidence.elements import Elements
from birthmark.evidence.seed_free import SeedFree, read_layout
from birthmark.hypothesis import Draw, Hypothesis

SOME = (16384, 18432, 20480, 20736, 28672, 40960)


def everything(values: NDArray[np.float32]) -> Elements:
    """All elements of a matrix."""
    indices = np.arange(values.size)
    return Elements(indices, values.ravel().astype(np.float64), indices // values.shape[1])


def read(values: NDArray[np.float32]) -> SeedFree:
    """A whole tensor, read."""
    return read_layout(everything(values), values.shape, "float32", layouts=SOME)


def drawn(shape: tuple[int, int], seed: int, threads: int = 20480) -> NDArray[np.float32]:
    """One launch."""
    values: NDArray[np.float32] = np.asarray(
        Hypothesis(Draw("normal", (0.0, 0.02), shape), threads).tensor(5870214893347715 + seed), np.float32
    )
    return values


def test_a_transposed_parameter_shows_its_layout() -> None:
    """Columns as stored were rows of the draw; the reading says so, and keeps its certainty."""
    found = read(np.ascontiguousarray(drawn((500, 256), 0).T))
    assert (found.result, found.threads) == ("layout", 20480)
    assert found.arrangement == Arrangement(transposed=True)
    assert found.together is not None
    assert found.together.length > 0.95
    assert found.arithmetic is not None
    assert found.arithmetic.arithmetic == "nvidia-volta+"


def test_shards_of_rows_with_seeds_of_their_own_show_one_layout() -> None:
    """Unseeded processes each drew some rows: all pairs fall into line once the shards are known."""
    found = read(np.concatenate([drawn((220, 256), seed) for seed in range(3)]))
    assert (found.result, found.threads) == ("layout", 20480)
    assert found.arrangement.words == "drawn in 3 shards of rows, each by a launch of its own"
    assert found.together is not None
    assert found.together.length > 0.95
    assert found.odd_waves is not None
    assert found.odd_waves.r < 4.0


def test_shards_of_columns_are_found_where_rows_and_waves_do_not_meet() -> None:
    """Of columns that a wave does not hold whole rows of, nothing shows as stored."""
    found = read(np.concatenate([drawn((640, 96), seed, 28672) for seed in range(2)], axis=1))
    assert (found.result, found.threads) == ("layout", 28672)
    assert found.arrangement == Arrangement(ways=2, along="column")


def test_columns_that_cannot_be_told_from_one_launch_are_named() -> None:
    """Two shards of 20,480 threads pair the same elements as one launch of 40,960: both are told."""
    found = read(np.concatenate([drawn((500, 128), seed, 28672 - 8192) for seed in range(2)], axis=1))
    assert (found.result, found.threads) == ("layout", 40960)
    assert found.arrangement == AS_STORED
    assert alike_in_columns(2 * 28672, (500, 256)) == [(2, 28672)]
    assert alike_in_columns(2 * 28672, (500, 250)) == []
    assert alike_in_columns(2 * 28672, (128_000,)) == []


def test_shuffled_rows_lose_their_layout_in_every_arrangement() -> None:
    """No order of the draw brings back what a shuffle took."""
    values = drawn((500, 256), 1)
    found = read(values[np.random.default_rng(4).permutation(500)])
    assert found.result == "none"
    assert found.threads is None


@given(rows=st.integers(1, 12), columns=st.integers(1, 12), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_every_arrangement_is_a_permutation(rows: int, columns: int, seed: int) -> None:
    """Each value gets a place of its own, and parts of a tensor get the places they have in the whole."""
    values = np.arange(rows * columns, dtype=np.float64)
    whole = Elements(np.arange(rows * columns), values, np.arange(rows * columns) // columns)
    some = whole.keep(np.random.default_rng(seed).random(rows * columns) < 0.5)
    shape = (rows, columns)
    for each in (AS_STORED, *usual_arrangements(shape), *shard_arrangements(shape)):
        ordered = each.of_draw(whole, shape)
        assert np.array_equal(ordered.indices, np.arange(rows * columns))
        part = each.of_draw(some, shape)
        assert np.array_equal(ordered.values[part.indices], part.values)


def test_parts_are_the_columns_of_each_shard() -> None:
    """Two shards of columns come one after the other, each row by row."""
    values = np.arange(12, dtype=np.float64)
    elements = Elements(np.arange(12), values, np.arange(12) // 4)
    ordered = Arrangement(ways=2, along="column").of_draw(elements, (3, 4))
    assert ordered.values.tolist() == [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]
    assert Arrangement(transposed=True).of_draw(elements, (3, 4)).values.tolist() == (
        [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    )


@pytest.mark.parametrize("shape", [(7,), (1, 12), (12, 1)])
def test_a_vector_has_no_other_order(shape: tuple[int, ...]) -> None:
    """One row or one column lies as it was drawn, but for shards along it."""
    assert all(not each.transposed for each in usual_arrangements(shape))
