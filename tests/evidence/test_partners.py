"""Partners: which elements one call would have made as the two halves of a pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from birthmark.devices.layout import Layout, pieces
from birthmark.evidence.partners import blocks_of, count_partners, partners


def by_layout(indices: np.ndarray, shape: tuple[int, ...], threads: int, first: int) -> set[tuple[int, int]]:
    """Partners found through `Layout.locate`, element by element."""
    launches, _ = pieces(int(np.prod(shape)), "float32", Layout(threads))
    found = set()
    for piece in launches:
        local = indices[(indices >= piece.start) & (indices < piece.start + piece.size)] - piece.start
        if piece.size <= threads:
            continue
        call, lane, thread = Layout(threads).locate(piece.size, local)
        where = {
            (int(c), int(k), int(t)): int(i) for c, k, t, i in zip(call, lane, thread, local, strict=True)
        }
        for (c, k, t), i in where.items():
            following = (c, k + 1, t) if k < 3 else (c + 1, 0, t)
            if k % 2 == first and following in where:
                found.add((i + piece.start, where[following] + piece.start))
    return found


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(8, 40),
    share=st.sampled_from((0.05, 0.4, 1.0)),
    threads=st.sampled_from((256, 512, 768, 1024, 2048)),
    wave=st.sampled_from((0, 1)),
)
def test_partners_are_the_lanes_of_one_call(
    seed: int, rows: int, share: float, threads: int, wave: int
) -> None:
    """Partners are the elements that the layout itself puts in lanes 0 and 1, or 2 and 3, of one call."""
    rng = np.random.default_rng(seed)
    shape = (rows, 211)
    everything = np.arange(rows * 211)
    indices = everything[rng.random(everything.size) < share]
    blocks = blocks_of(indices, indices.astype(np.float64), shape)
    one, other = partners(blocks, threads, wave)
    found = set(zip(blocks.values[one].astype(int), blocks.values[other].astype(int), strict=True))
    assert found == by_layout(indices, shape, threads, wave)
    if wave == 0:
        assert count_partners(blocks, threads) == len(found)


def test_partners_do_not_cross_the_launches_of_a_huge_tensor() -> None:
    """Elements of two launches of one huge tensor are no partners, however far apart they lie."""
    shape = (2**29 + 512, 1)
    half = (2**29 + 512) // 2
    indices = half + 256 * np.arange(-3, 2)
    blocks = blocks_of(indices, np.arange(5.0), shape)
    one, other = partners(blocks, 256)
    pairs = {(int(blocks.values[a]), int(blocks.values[b])) for a, b in zip(one, other, strict=True)}
    assert pairs == {(0, 1), (3, 4)}


def test_a_tensor_of_one_wave_has_no_partners() -> None:
    """Where the tensor is not larger than G there is nothing to find."""
    blocks = blocks_of(np.arange(1000), np.zeros(1000), (1000,))
    assert partners(blocks, 1024)[0].size == 0
    assert count_partners(blocks, 1024) == 0


@pytest.mark.parametrize("size", [0, 1])
def test_no_survivors_have_no_partners(size: int) -> None:
    """An empty or a single survivor gives no pairs and no error."""
    blocks = blocks_of(np.arange(size), np.zeros(size), (5000,))
    assert partners(blocks, 256)[0].size == 0
