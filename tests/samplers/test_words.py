"""Words of a launch: runs against single places, joined pairs, first word high."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.generators.philox import words
from birthmark.samplers.words import join, words_at, words_range


def test_published_words() -> None:
    """Seed 42, thread 0 and 1 of the first call: the words that random123's authors' block function gives."""
    first = words_range(42, 256, 0, 2)
    assert [f"{word:08x}" for word in first] == ["9ceaf053", "02933769"]
    zero = np.zeros(4, np.uint64)
    all_lanes = words_at(42, zero, zero, np.arange(4, dtype=np.uint8))
    assert [f"{word:08x}" for word in all_lanes] == ["9ceaf053", "77f5493b", "12bf50ad", "5742b3d7"]
    pairs = words_at(42, zero[:2], zero[:2], np.array([0, 1], np.uint8), joined=True)
    assert [f"{word:016x}" for word in pairs] == ["9ceaf05377f5493b", "12bf50ad5742b3d7"]


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(("start", "stop"), [(0, 7), (500, 3000), (2047, 2048), (9, 9)])
def test_runs_are_single_places(joined: bool, start: int, stop: int) -> None:
    """Element j of a launch is lane j div G mod U of call j div G U, thread j mod G."""
    threads, offset = 512, 12
    lanes = 2 if joined else 4
    element = np.arange(start, stop)
    wave, thread = np.divmod(element, threads)
    counter = (offset // 4 + wave // lanes).astype(np.uint64)
    lane = (wave % lanes).astype(np.uint8)
    expected = words_at(9, counter, thread.astype(np.uint64), lane, joined=joined)
    found = words_range(9, threads, start, stop, offset=offset, joined=joined)
    assert found.dtype == (np.uint64 if joined else np.uint32)
    assert np.array_equal(found, expected)
    if stop > start:
        assert not np.array_equal(
            words_range(10, threads, start, stop, offset=offset, joined=joined), expected
        )


def test_joined_words_are_pairs_of_a_block() -> None:
    """The high half comes first, in each of a block's two pairs."""
    block = words(5, np.array([3]), np.array([17]))[0]
    assert join(block[::2], block[1::2]).tolist() == [
        int(block[0]) << 32 | int(block[1]),
        int(block[2]) << 32 | int(block[3]),
    ]
