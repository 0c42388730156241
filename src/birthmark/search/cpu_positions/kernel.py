"""The hot loops: which seeds satisfy a few parities of their seeded state.

`scan` runs through consecutive seeds and tests four parities; `sift` tests eight more on any seeds that are
left; `agreeing` counts how many of many parities each seed satisfies. Parities are given as masks of the
624 words of the state (see `masks`) and the wanted sums, mask k's in bit k.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_words import SIZE, seeded
from birthmark.numerics.compiled import kernel
from birthmark.search.cpu_positions.lanes import ARRAY_SEED, LANES, array_runner, runner

#: How a state is made of a seed: `init_genrand` (PyTorch, NumPy), or `init_by_array` of one word (Python).
Seeding = Literal["genrand", "array"]
#: Parities of one test of `scan`, and of one step of `sift` and `agreeing`.
FIRST: Final = 4
STEP: Final = 8

_LANES_FIRST = LANES[FIRST]
_LANES_STEP = LANES[STEP]
_LANES_BARE = LANES[0]
_ONE = np.uint32(1)
_ZERO = np.uint32(0)

_run_first, _run_step, _run_bare = runner(FIRST), runner(STEP), runner(0)
_array_first, _array_step = array_runner(FIRST), array_runner(STEP)


def scan(
    first: int, count: int, masks: NDArray[np.uint32], wanted: int, seeding: Seeding = "genrand"
) -> NDArray[np.uint32]:
    """The seeds that satisfy four parities, ascending.

    Args:
        first: the first seed.
        count: how many seeds; first + count is at most 2^32.
        masks: uint32[words, 4], C-order, of the first 2 or more words of the state; for "array" of all 624.
        wanted: the four sums, mask k's in bit k.
        seeding: how states are made.
    """
    hits = np.empty(count + _LANES_FIRST, np.uint32)
    base, scratch = _tables(seeding, _LANES_FIRST)
    found = _scan(np.uint32(first), count, masks, np.uint32(wanted), base, scratch, hits)
    return hits[:found].copy()


def sift(
    seeds: NDArray[np.uint32], masks: NDArray[np.uint32], wanted: int, seeding: Seeding = "genrand"
) -> NDArray[np.uint32]:
    """The seeds, in their order, that satisfy eight parities: uint32[words, 8]; else as in `scan`."""
    if len(seeds) == 0:
        return seeds
    hits = np.empty(len(seeds) + _LANES_STEP, np.uint32)
    base, scratch = _tables(seeding, _LANES_STEP)
    return hits[: _sift(seeds, masks, np.uint32(wanted), base, scratch, hits)].copy()


def agreeing(
    seeds: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    wanted: NDArray[np.uint8],
    seeding: Seeding = "genrand",
) -> NDArray[np.int64]:
    """How many parities each seed satisfies.

    Args:
        seeds: uint32[n].
        masks: uint32[words, m]; words as in `scan`.
        wanted: uint8[m], the sums.
        seeding: how states are made.
    """
    totals = np.zeros(len(seeds), np.int64)
    base, scratch = _tables(seeding, _LANES_STEP)
    for start in range(0, len(wanted) if len(seeds) else 0, STEP):
        part, sums = masks[:, start : start + STEP], wanted[start : start + STEP]
        padded = np.zeros((len(masks), STEP), np.uint32)
        padded[:, : part.shape[1]] = part
        used = np.uint32((1 << len(sums)) - 1)
        _agreeing(seeds, padded, np.uint32(packed(sums)), used, base, scratch, totals)
    return totals


def packed(sums: NDArray[np.uint8]) -> int:
    """Sums as one number, sum k in bit k."""
    return sum(int(each) << k for k, each in enumerate(sums))


def seeding_alone(first: int, count: int) -> int:
    """Run `init_genrand` of consecutive seeds and test nothing, to be timed: the sum of the last words."""
    return int(_seeding_alone(np.uint32(first), count))


def _tables(seeding: Seeding, lanes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(the state that "array" begins with, room for what it makes of it); both empty for "genrand"."""
    if seeding == "genrand":
        return np.empty(0, np.uint32), np.empty(0, np.uint32)
    return seeded(np.uint32(ARRAY_SEED)), np.empty(SIZE * lanes, np.uint32)


@kernel()
def _scan(
    first: np.uint32,
    count: int,
    masks: NDArray[np.uint32],
    wanted: np.uint32,
    base: NDArray[np.uint32],
    scratch: NDArray[np.uint32],
    hits: NDArray[np.uint32],
) -> np.int64:
    seeds, bits = np.empty(_LANES_FIRST, np.uint32), np.empty(_LANES_FIRST, np.uint32)
    found = np.int64(0)
    for done in range(0, count, _LANES_FIRST):
        start = np.uint32(first + np.uint32(done))
        for j in range(_LANES_FIRST):
            seeds[j] = np.uint32(start + np.uint32(j))
        if len(base) == 0:
            _run_first(seeds, masks, masks.shape[0], bits)
        else:
            _array_first(seeds, masks, base, scratch, bits)
        for j in range(min(_LANES_FIRST, count - done)):
            hits[found] = seeds[j]
            found += np.int64(bits[j] == wanted)
    return found


@kernel()
def _sift(
    given: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    wanted: np.uint32,
    base: NDArray[np.uint32],
    scratch: NDArray[np.uint32],
    hits: NDArray[np.uint32],
) -> np.int64:
    seeds, bits = np.zeros(_LANES_STEP, np.uint32), np.empty(_LANES_STEP, np.uint32)
    found = np.int64(0)
    for done in range(0, len(given), _LANES_STEP):
        here = min(_LANES_STEP, len(given) - done)
        for j in range(here):
            seeds[j] = given[done + j]
        _step(seeds, masks, base, scratch, bits)
        for j in range(here):
            hits[found] = seeds[j]
            found += np.int64(bits[j] == wanted)
    return found


@kernel()
def _agreeing(
    given: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    wanted: np.uint32,
    used: np.uint32,
    base: NDArray[np.uint32],
    scratch: NDArray[np.uint32],
    totals: NDArray[np.int64],
) -> None:
    """Add to each seed's total how many of the `used` (a mask) parities it satisfies."""
    seeds, bits = np.zeros(_LANES_STEP, np.uint32), np.empty(_LANES_STEP, np.uint32)
    for done in range(0, len(given), _LANES_STEP):
        here = min(_LANES_STEP, len(given) - done)
        for j in range(here):
            seeds[j] = given[done + j]
        _step(seeds, masks, base, scratch, bits)
        for j in range(here):
            agreed = np.uint32(np.uint32(~np.uint32(bits[j] ^ wanted)) & used)
            for _ in range(STEP):
                totals[done + j] += np.int64(agreed & _ONE)
                agreed = np.uint32(agreed >> _ONE)


@kernel()
def _step(
    seeds: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    base: NDArray[np.uint32],
    scratch: NDArray[np.uint32],
    bits: NDArray[np.uint32],
) -> None:
    if len(base) == 0:
        _run_step(seeds, masks, masks.shape[0], bits)
    else:
        _array_step(seeds, masks, base, scratch, bits)


@kernel()
def _seeding_alone(first: np.uint32, count: int) -> np.uint32:
    seeds, last = np.empty(_LANES_BARE, np.uint32), np.empty(_LANES_BARE, np.uint32)
    table = np.empty((1, 1), np.uint32)
    total = _ZERO
    for done in range(0, count, _LANES_BARE):
        base = np.uint32(first + np.uint32(done))
        for j in range(_LANES_BARE):
            seeds[j] = np.uint32(base + np.uint32(j))
        _run_bare(seeds, table, SIZE, last)
        for j in range(min(_LANES_BARE, count - done)):
            total = np.uint32(total + last[j])
    return total
