"""Positions of seeds: runs and arrays tile them exactly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.recipes.sharding import SEED_SPACE
from birthmark.search.kernel import RUN
from birthmark.search.seeds import Run, Seeds, consecutive, listed


def flat(seeds: Seeds, start: int, stop: int, shift: int = 0) -> list[int]:
    """The seeds at some positions, one by one."""
    found: list[int] = []
    for piece in seeds.pieces(start, stop, shift):
        if isinstance(piece, Run):
            assert 0 <= piece.first < piece.first + piece.count <= RUN
            found += range(piece.first, piece.first + piece.count)
        else:
            found += piece.tolist()
    return found


@given(
    st.sampled_from([0, 5, RUN - 700, 3 * RUN - 300, SEED_SPACE - 900]),
    st.integers(0, 800),
    st.integers(0, 15),
    st.lists(st.integers(0, 800), max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_a_range_is_tiled_exactly(first: int, size: int, shift: int, cuts: list[int]) -> None:
    """However a range is cut, across 2^32 and around 2^64, every seed comes once, shifted by the rank."""
    seeds = consecutive(first, first + size)
    edges = sorted({0, size, *(cut for cut in cuts if cut < size)})
    parts = [flat(seeds, a, b, shift) for a, b in pairwise(edges)]

    assert [seed for part in parts for seed in part] == [
        (first + i + shift) % SEED_SPACE for i in range(size)
    ]


@given(st.lists(st.integers(0, SEED_SPACE - 1), max_size=50), st.integers(0, 9000), st.integers(0, 20000))
@settings(max_examples=40, deadline=None)
def test_listed_seeds_come_once_each(single: list[int], run: int, first: int) -> None:
    """Long runs and single seeds together are the given set, whatever is listed twice."""
    given_seeds = [*single, *range(first, first + run), *single[:3]]
    seeds = listed(np.array(given_seeds, np.uint64))

    assert seeds.size == len(set(given_seeds))
    assert sorted(flat(seeds, 0, seeds.size)) == sorted(set(given_seeds))


def test_long_runs_take_the_fast_loop() -> None:
    """The flat beginning of a dictionary is a run; a few neighbours are not worth one."""
    seeds = listed(np.array([*range(10_000), 50_000, 50_001], np.uint64))

    assert seeds.runs == ((0, 10_000),)
    assert seeds.single.tolist() == [50_000, 50_001]


def test_seeds_beyond_32_bits_are_arrays() -> None:
    """A run of them would overflow the fast loop."""
    pieces = list(consecutive(RUN - 2, RUN + 3).pieces(0, 5))

    assert pieces[0] == Run(RUN - 2, 2)
    assert isinstance(pieces[1], np.ndarray)
    assert pieces[1].tolist() == [RUN, RUN + 1, RUN + 2]


@pytest.mark.parametrize("other", [consecutive(0, 11), consecutive(1, 11), listed(np.array([3], np.uint64))])
def test_digests_differ(other: Seeds) -> None:
    """Other seeds have another digest, so a ledger of theirs is not taken for this one."""
    assert other.digest != consecutive(0, 10).digest
    assert consecutive(0, 10).digest == consecutive(0, 10).digest
