"""The scan finds exactly the seeds whose words lie in the windows."""

from __future__ import annotations

import platform

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.generators.philox import words
from birthmark.search import kernel
from birthmark.search.kernel import CHUNK, RUN, Scanned, constants, count_passing, scan, scan_listed
from birthmark.search.windows import WordsTest, words_test

WORD = st.integers(0, RUN - 1)
WINDOWS = st.tuples(WORD, WORD, WORD, WORD)
LONG = st.integers(0, 2**64 - 1)


def passing(seeds: NDArray[np.uint64], counter: int, thread: int, test: WordsTest) -> list[int]:
    """The seeds that pass by definition, with the words of the generator room."""
    found = []
    lows, widths = test.windows[[0, 2]].tolist(), test.windows[[1, 3]].tolist()
    for seed in seeds.tolist():
        four = words(seed, np.array([counter], np.uint64), np.array([thread], np.uint64))[0].tolist()
        two = four[2 * test.pair : 2 * test.pair + 2]
        if all((word - low) % RUN <= width for word, low, width in zip(two, lows, widths, strict=True)):
            found.append(seed)
    return found


def windowed(pair: int, low_0: int, width_0: int, low_1: int, width_1: int) -> WordsTest:
    """Windows without stairs."""
    level = np.array([[0, 2**64 - 1]] * 2, np.uint64)
    return WordsTest(pair, np.array([low_0, width_0, low_1, width_1, 0, 31, 0], np.uint64), level, 1.0, 1.0)


class TestScan:
    @given(st.integers(0, RUN - 300), st.integers(1, 300), LONG, LONG, st.integers(0, 1), WINDOWS)
    @settings(max_examples=60, deadline=None)
    def test_finds_what_the_definition_finds(
        self, first: int, size: int, counter: int, thread: int, pair: int, windows: tuple[int, int, int, int]
    ) -> None:
        """For any range, block and windows, the wrapping ones too, the same seeds in the same order."""
        wanted = windowed(pair, *windows)
        hits = np.empty(1024, np.uint64)
        done = scan(first, size, constants(counter, thread), wanted, hits)
        expected = passing(np.arange(first, first + size, dtype=np.uint64), counter, thread, wanted)

        assert done == Scanned(len(expected), len(expected), size)
        assert hits[: done.found].tolist() == expected

    @pytest.mark.parametrize("seed", [0, 1, CHUNK - 1, CHUNK, RUN - 1])
    def test_finds_the_ends_of_the_range(self, seed: int) -> None:
        """No seed at an end of the range or of a chunk is lost, and none beyond the range appears."""
        word = int(words(seed, np.array([7], np.uint64), np.array([9], np.uint64))[0, 0])
        first, stop = max(0, seed - 100), min(RUN, seed + 100)
        hits = np.empty(1024, np.uint64)
        done = scan(first, stop - first, constants(7, 9), windowed(0, word, 0, 0, RUN - 1), hits)

        assert (done.done, hits[: done.found].tolist()) == (stop - first, [seed])

    def test_leaves_off_the_seed_after_the_last(self) -> None:
        """A seed that shares a chunk with the last one but lies behind it is not reported."""
        word = int(words(70, np.array([7], np.uint64), np.array([9], np.uint64))[0, 0])
        hits = np.empty(1024, np.uint64)

        assert scan(0, 70, constants(7, 9), windowed(0, word, 0, 0, RUN - 1), hits) == Scanned(0, 0, 70)
        assert scan(0, 71, constants(7, 9), windowed(0, word, 0, 0, RUN - 1), hits) == Scanned(1, 1, 71)

    def test_comes_back_when_the_room_is_full(self) -> None:
        """With room for one chunk at a time all seeds are found in several calls, none twice."""
        wanted = windowed(0, 0, RUN // 2, 0, RUN - 1)
        hits = np.empty(CHUNK, np.uint64)
        found: list[int] = []
        done = 0
        while done < 1000:
            part = scan(done, 1000 - done, constants(0, 3), wanted, hits)
            assert part.done > 0
            found += hits[: part.found].tolist()
            done += part.done

        assert found == passing(np.arange(1000, dtype=np.uint64), 0, 3, wanted)

    def test_counts_like_the_bare_kernel(self) -> None:
        """The kernel that benchmarks time counts what the scan finds."""
        wanted = windowed(0, 0, RUN // 1000, 0, RUN - 1)
        hits = np.empty(1 << 14, np.uint64)
        found = scan(5, 100_000, constants(0, 5), wanted, hits).found

        assert found == count_passing(5, 100_000, constants(0, 5), wanted) > 0

    @pytest.mark.parametrize("size", [1.5, 3.0])
    def test_does_the_same_whether_hits_are_rare_or_dense(self, size: float) -> None:
        """The loop that skips the first count finds the same seeds as the one that counts first."""
        wanted = words_test("normal", size * 0.95, size * 1.05, 0, double=False)
        assert wanted is not None
        found = []
        for dense in (0, 1):
            windows = wanted.windows.copy()
            windows[6] = dense
            hits = np.empty(1 << 14, np.uint64)
            either = WordsTest(wanted.pair, windows, wanted.stairs, wanted.share, wanted.fine)
            done = scan(3, 20_000, constants(1, 5), either, hits)
            found.append((done, hits[: done.found].tolist()))

        assert found[0] == found[1]
        assert found[0][0].found < found[0][0].passed

    @pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the instruction is x86's")
    def test_is_vectorised(self) -> None:
        """The hot loop multiplies vectors, not single numbers."""
        # Compiled anew: what comes from the cache has no assembly to look at.
        loop = numba.njit(nogil=True)(kernel._next_hit_even.py_func)  # type: ignore[attr-defined]
        loop(np.uint64(0), np.uint64(1), constants(0, 5), windowed(0, 0, 0, 0, 0).windows)
        (assembly,) = loop.inspect_asm().values()

        assert assembly.count("pmuludq") >= 16


class TestScanListed:
    @given(st.lists(LONG, min_size=1, max_size=200, unique=True), LONG, LONG, st.integers(0, 1), WORD, WORD)
    @settings(max_examples=30, deadline=None)
    def test_finds_what_the_definition_finds(
        self, seeds: list[int], counter: int, thread: int, pair: int, low: int, width: int
    ) -> None:
        """For any seeds of 64 bits the same ones in the same order."""
        listed = np.array(seeds, np.uint64)
        wanted = windowed(pair, low, width, 0, RUN - 1)
        hits = np.empty(1024, np.uint64)
        done = scan_listed(listed, counter, thread, wanted, hits)
        expected = passing(listed, counter, thread, wanted)

        assert (done.done, hits[: done.found].tolist()) == (len(seeds), expected)
