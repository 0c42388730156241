"""Known answers for the search at stream positions: planted seeds are found, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import SelfTestFailed
from birthmark.generators.mt19937 import words, words_at
from birthmark.generators.mt19937_words import temper
from birthmark.generators.numpy_seeding import array_window
from birthmark.search.cpu_positions.kernel import FIRST, STEP, agreeing, packed, scan, sift
from birthmark.search.cpu_positions.masks import state_masks

#: Planted seeds: both ends of the range, both ends of 31 bits, and an everyday one.
PLANTED = (0, 42, 2**31 - 1, 2**31, 2**32 - 1)
#: Positions in the stream: before and after the first 227 words, and far ones.
POSITIONS = (0, 226, 227, 100_003, 1_000_000_007)
#: Seeds around each planted one; no multiple of what runs side by side.
_AROUND = 210
#: The 10,000th output of the generator's default seed 5489, as the C++ standard (26.5.5) states it.
_DEFAULT_SEED, _TEN_THOUSANDTH = 5489, 4123659995


def check() -> None:
    """Compute the published output, then find planted seeds by bits of their words at several positions.

    Raises:
        SelfTestFailed: a value differs, or the search finds too little or too much.
    """
    if int(words(_DEFAULT_SEED, 9_999, 1)[0]) != _TEN_THOUSANDTH:
        raise _failed("the generator does not give its published output")
    bits = np.uint32(1) << np.arange(FIRST + STEP, dtype=np.uint32)
    for seed, position in zip(PLANTED, POSITIONS, strict=True):
        where = np.full(len(bits), position, np.int64)
        masks = state_masks(where, bits)
        first, second = (np.ascontiguousarray(part) for part in np.split(masks, [FIRST], axis=1))
        low = max(0, seed - _AROUND)
        seeds = np.arange(low, min(seed + _AROUND, 2**32), dtype=np.uint64).astype(np.uint32)
        wanted = (words_at(seed, where) & bits != 0).astype(np.uint8)
        sums = np.array([words(int(each), position, 1)[0] for each in seeds[:: _AROUND // 7]])
        others = np.count_nonzero((sums[:, None] & bits != 0) == (wanted == 1), axis=1)
        found = sift(scan(low, len(seeds), first, packed(wanted[:FIRST])), second, packed(wanted[FIRST:]))
        counts = agreeing(seeds, masks, wanted)
        if (
            seed not in found
            or not np.array_equal(found, seeds[counts == len(bits)])
            or not np.array_equal(counts[:: _AROUND // 7], others)
        ):
            raise _failed(f"the test of seed {seed} at position {position} does not find it, or finds more")
    _check_array(bits)


def _check_array(bits: NDArray[np.uint32]) -> None:
    """The seeding that Python uses, at the start of the stream."""
    seed = PLANTED[-1]
    masks = state_masks(np.zeros(len(bits), np.int64), bits)
    wanted = (temper(array_window(np.array([seed], np.uint32))[:1]) & bits != 0).astype(np.uint8)
    first = np.ascontiguousarray(masks[:, :FIRST])
    found = scan(seed - _AROUND, _AROUND + 1, first, packed(wanted[:FIRST]), "array")
    counts = agreeing(found, masks, wanted, "array")
    if found[-1:].tolist() != [seed] or counts[-1] != len(bits) or len(found) > _AROUND // 4:
        raise _failed(f"the test of Python's seed {seed} does not find it, or finds more")


def _failed(what: str) -> SelfTestFailed:
    return SelfTestFailed(
        f"{what}.",
        advice="Results of this machine cannot be trusted; report it with its processor and versions.",
    )
