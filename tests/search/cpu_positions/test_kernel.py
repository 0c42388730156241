"""The hot loops against plain numpy: every seed that satisfies the parities, no other, in order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.generators.mt19937_words import seeded
from birthmark.generators.numpy_seeding import by_array
from birthmark.search.cpu_positions.kernel import (
    FIRST,
    STEP,
    Seeding,
    agreeing,
    packed,
    scan,
    seeding_alone,
    sift,
)
from birthmark.search.cpu_positions.lanes import LANES

RANDOM = np.random.default_rng(7)


def table(words: int, masks: int) -> NDArray[np.uint32]:
    return RANDOM.integers(0, 2**32, (words, masks), dtype=np.uint64).astype(np.uint32)


def sums(
    seeds: NDArray[np.uint32], masks: NDArray[np.uint32], seeding: Seeding = "genrand"
) -> NDArray[np.uint8]:
    """uint8[seeds, masks]: the parities, by definition."""
    made = [seeded(seed) if seeding == "genrand" else by_array(np.array([seed], np.uint32)) for seed in seeds]
    states = np.stack(made)[:, : len(masks)]
    parts = [np.bitwise_xor.reduce(states & mask, axis=1) for mask in masks.T]
    found: NDArray[np.uint8] = np.bitwise_count(np.stack(parts, axis=1)) & np.uint8(1)
    return found


@pytest.mark.parametrize("words", [2, 398, 624])
@pytest.mark.parametrize(("first", "count"), [(0, 1), (1000, 3 * LANES[FIRST] + 5), (2**32 - 300, 300)])
def test_scan_keeps_what_satisfies_four_parities(words: int, first: int, count: int) -> None:
    """Whatever the range, its remainder or the length of the masks."""
    masks = table(words, FIRST)
    seeds = np.arange(first, first + count, dtype=np.uint64).astype(np.uint32)
    found = sums(seeds, masks)
    for wanted in range(1 << FIRST):
        right = (found == (wanted >> np.arange(FIRST)) & 1).all(axis=1)
        assert np.array_equal(scan(first, count, masks, wanted), seeds[right])


def test_sift_keeps_the_order() -> None:
    """Eight parities on any seeds in any order, and none on none."""
    seeds, masks = table(1, 2000)[0], table(624, STEP)
    found = sums(seeds, masks)
    wanted = found[1234]

    kept = sift(seeds, masks, packed(wanted))

    assert np.array_equal(kept, seeds[(found == wanted).all(axis=1)])
    assert seeds[1234] in kept
    assert len(sift(seeds[:0], masks, 0)) == 0


def test_python_s_seeding_is_tested_likewise() -> None:
    """`init_by_array` of one word: four parities, eight, and a count."""
    masks = table(624, FIRST + STEP)
    seeds = np.arange(2**32 - 400, 2**32, dtype=np.uint64).astype(np.uint32)
    found = sums(seeds, masks, "array")
    first, second = (np.ascontiguousarray(part) for part in np.split(masks, [FIRST], axis=1))
    wanted = found[321]
    four = scan(2**32 - 400, 400, first, packed(wanted[:FIRST]), "array")
    assert np.array_equal(four, seeds[(found[:, :FIRST] == wanted[:FIRST]).all(axis=1)])
    eight = sift(seeds, second, packed(wanted[FIRST:]), "array")
    assert np.array_equal(eight, seeds[(found[:, FIRST:] == wanted[FIRST:]).all(axis=1)])
    assert np.array_equal(agreeing(seeds, masks, wanted, "array"), (found == wanted).sum(axis=1))


@pytest.mark.parametrize("count", [1, STEP, 2 * STEP + 3])
def test_agreeing_counts_any_number_of_parities(count: int) -> None:
    """Also where they fill no whole step."""
    seeds, masks = table(1, LANES[STEP] + 7)[0], table(624, count)
    wanted = RANDOM.integers(0, 2, count).astype(np.uint8)

    counted = agreeing(seeds, masks, wanted)

    assert np.array_equal(counted, (sums(seeds, masks) == wanted).sum(axis=1))
    assert len(agreeing(seeds[:0], masks, wanted)) == 0


def test_seeding_alone_runs_the_whole_seeding() -> None:
    """What is measured is real: the last words of the states come out."""
    last = [int(seeded(np.uint32(seed))[623]) for seed in range(100, 175)]
    assert seeding_alone(100, 75) == sum(last) % 2**32
