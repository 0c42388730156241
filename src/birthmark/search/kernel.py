"""The scan: which seeds give one Philox block words inside given windows.

A search asks this of every seed, so it is the one loop whose speed matters. Three things make it fast.

* All that does not depend on the seed is computed once a block (`constants`). The first round's products are
  such, and half of the second's; the last round needs one product only. Sixteen multiplications of twenty
  remain, and both words that a pair of lanes is made from come from the same last product.
* The loop has no branch and works on 64-bit lanes whose upper halves may hold anything: a vector multiply
  reads the lower halves only, so no operand needs a mask.
* Hits are counted a chunk at a time; only chunks with hits are gone through again.

A window is (low, width): a word w lies in it when (w - low) mod 2^32 <= width, so windows may wrap around.
Seeds are scanned inside one run of 2^32 (their high word is the same); `search.runs` cuts longer ranges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import KEY_STEP_0, KEY_STEP_1, MULTIPLIER_0, MULTIPLIER_1
from birthmark.numerics.compiled import kernel
from birthmark.search.vectors import widest_vectors

#: Seeds whose hits are counted together before anything is stored.
CHUNK = 64
#: Seeds share a high word inside such runs.
RUN = 1 << 32

_CHUNK = np.uint64(CHUNK)
_LOW = np.uint64(RUN - 1)
_HALF = np.uint64(32)
_STEP_0, _STEP_1 = np.uint64(KEY_STEP_0), np.uint64(KEY_STEP_1)
_ZERO = np.uint64(0)


def constants(counter: int, thread: int, seed_high: int = 0) -> NDArray[np.uint64]:
    """What the first two rounds of a block owe to everything but the low word of the seed.

    With counter (c0, c1, c2, c3) and key (seed, h), round 1 leaves (A ^ seed, lo(M1 c2), hi(M0 c0) ^ c3 ^ h,
    lo(M0 c0)) with A = hi(M1 c2) ^ c1, and round 2 leaves (B ^ (seed + W0), C, hi(M0 (A ^ seed)) ^ D,
    lo(M0 (A ^ seed))).

    Args:
        counter: offset / 4 plus calls, 64 bits.
        thread: thread index, 64 bits.
        seed_high: upper 32 bits of the seeds.

    Returns:
        uint64[5]: A, B, C, D and the second key word of round 2.
    """
    low = RUN - 1
    product_0 = int(MULTIPLIER_0) * (counter & low)
    product_1 = int(MULTIPLIER_1) * (thread & low)
    second = (product_0 >> 32) ^ (thread >> 32) ^ seed_high
    again = int(MULTIPLIER_1) * second
    key_1 = (seed_high + int(KEY_STEP_1)) & low
    return np.array(
        [
            (product_1 >> 32) ^ (counter >> 32),
            (again >> 32) ^ (product_1 & low),
            again & low,
            (product_0 & low) ^ key_1,
            key_1,
        ],
        dtype=np.uint64,
    )


@kernel(inline=True)
def _passes(
    seed: np.uint64,
    odd_pair: bool,
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    d: np.uint64,
    key_1: np.uint64,
    low_0: np.uint64,
    width_0: np.uint64,
    low_1: np.uint64,
    width_1: np.uint64,
) -> np.uint64:
    """1 where the pair's words lie in their windows, else 0; lows and widths come shifted up by 32 bits."""
    product_0 = MULTIPLIER_0 * ((a ^ seed) & _LOW)
    key_0 = seed + _STEP_0
    x0 = b ^ key_0
    x1 = c
    x2 = (product_0 >> _HALF) ^ d
    x3 = product_0
    for _ in range(7):  # rounds 3 to 9
        key_0 = key_0 + _STEP_0
        key_1 = key_1 + _STEP_1
        product_0 = MULTIPLIER_0 * (x0 & _LOW)
        product_1 = MULTIPLIER_1 * (x2 & _LOW)
        x0 = (product_1 >> _HALF) ^ x1 ^ key_0
        x1 = product_1
        x2 = (product_0 >> _HALF) ^ x3 ^ key_1
        x3 = product_0
    if odd_pair:
        last = MULTIPLIER_0 * (x0 & _LOW)
        even = (last >> _HALF) ^ x3 ^ (key_1 + _STEP_1)
    else:
        last = MULTIPLIER_1 * (x2 & _LOW)
        even = (last >> _HALF) ^ x1 ^ (key_0 + _STEP_0)
    # Shifted up, the junk in the upper halves is gone and the subtraction wraps at 2^32 by itself.
    return np.uint64(((even << _HALF) - low_0 <= width_0) & ((last << _HALF) - low_1 <= width_1))


@kernel(inline=True)
def _collect(
    first: np.uint64,
    count: np.uint64,
    odd_pair: bool,
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    d: np.uint64,
    key_1: np.uint64,
    low_0: np.uint64,
    width_0: np.uint64,
    low_1: np.uint64,
    width_1: np.uint64,
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64]:
    widest_vectors()
    flags = np.empty(CHUNK, np.uint64)
    room = np.uint64(hits.shape[0])
    found = _ZERO
    done = _ZERO
    while done < count and found + _CHUNK <= room:
        base = first + done
        inside = _ZERO
        for i in range(_CHUNK):
            inside += _passes(base + i, odd_pair, a, b, c, d, key_1, low_0, width_0, low_1, width_1)
        if inside:
            for i in range(_CHUNK):
                flags[i] = _passes(base + i, odd_pair, a, b, c, d, key_1, low_0, width_0, low_1, width_1)
            for i in range(min(_CHUNK, count - done)):
                hits[found] = base + i
                found += flags[i]
        done += _CHUNK
    return found, min(done, count)


@kernel()
def _scan(
    first: np.uint64,
    count: np.uint64,
    odd_pair: bool,
    fixed: NDArray[np.uint64],
    windows: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64]:
    a, b, c, d, key_1 = fixed[0], fixed[1], fixed[2], fixed[3], fixed[4]
    low_0, width_0, low_1, width_1 = (
        windows[0] << _HALF,
        windows[1] << _HALF,
        windows[2] << _HALF,
        windows[3] << _HALF,
    )
    # Two copies of the loop, each with the pair fixed: no branch is left inside.
    if odd_pair:
        return _collect(first, count, True, a, b, c, d, key_1, low_0, width_0, low_1, width_1, hits)
    return _collect(first, count, False, a, b, c, d, key_1, low_0, width_0, low_1, width_1, hits)


@kernel()
def _count(
    first: np.uint64, count: np.uint64, fixed: NDArray[np.uint64], windows: NDArray[np.uint64]
) -> np.uint64:
    widest_vectors()
    a, b, c, d, key_1 = fixed[0], fixed[1], fixed[2], fixed[3], fixed[4]
    low_0, width_0, low_1, width_1 = (
        windows[0] << _HALF,
        windows[1] << _HALF,
        windows[2] << _HALF,
        windows[3] << _HALF,
    )
    inside = _ZERO
    for i in range(count):
        inside += _passes(first + i, False, a, b, c, d, key_1, low_0, width_0, low_1, width_1)
    return inside


@kernel(inline=True)
def _passes_whole(
    seed: np.uint64,
    odd_pair: bool,
    counter: np.uint64,
    thread: np.uint64,
    low_0: np.uint64,
    width_0: np.uint64,
    low_1: np.uint64,
    width_1: np.uint64,
) -> np.uint64:
    """`_passes` for a seed of 64 bits: nothing is hoisted but what LLVM finds by itself."""
    key_0, key_1 = seed, seed >> _HALF
    x0, x1, x2, x3 = counter, counter >> _HALF, thread, thread >> _HALF
    for _ in range(9):
        product_0 = MULTIPLIER_0 * (x0 & _LOW)
        product_1 = MULTIPLIER_1 * (x2 & _LOW)
        x0 = (product_1 >> _HALF) ^ x1 ^ key_0
        x1 = product_1
        x2 = (product_0 >> _HALF) ^ x3 ^ key_1
        x3 = product_0
        key_0 = key_0 + _STEP_0
        key_1 = key_1 + _STEP_1
    if odd_pair:
        last = MULTIPLIER_0 * (x0 & _LOW)
        even = (last >> _HALF) ^ x3 ^ key_1
    else:
        last = MULTIPLIER_1 * (x2 & _LOW)
        even = (last >> _HALF) ^ x1 ^ key_0
    return np.uint64(((even << _HALF) - low_0 <= width_0) & ((last << _HALF) - low_1 <= width_1))


@kernel(inline=True)
def _collect_listed(
    seeds: NDArray[np.uint64],
    odd_pair: bool,
    counter: np.uint64,
    thread: np.uint64,
    low_0: np.uint64,
    width_0: np.uint64,
    low_1: np.uint64,
    width_1: np.uint64,
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64]:
    widest_vectors()
    flags = np.empty(CHUNK, np.uint64)
    room, count = np.uint64(hits.shape[0]), np.uint64(seeds.shape[0])
    found = _ZERO
    done = _ZERO
    while done < count and found + _CHUNK <= room:
        size = min(_CHUNK, count - done)
        part = seeds[done : done + size]
        inside = _ZERO
        for i in range(size):
            flag = _passes_whole(part[i], odd_pair, counter, thread, low_0, width_0, low_1, width_1)
            flags[i] = flag
            inside += flag
        if inside:
            for i in range(size):
                hits[found] = part[i]
                found += flags[i]
        done += size
    return found, done


@kernel()
def _scan_listed(
    seeds: NDArray[np.uint64],
    counter: np.uint64,
    thread: np.uint64,
    odd_pair: bool,
    windows: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64]:
    low_0, width_0, low_1, width_1 = (
        windows[0] << _HALF,
        windows[1] << _HALF,
        windows[2] << _HALF,
        windows[3] << _HALF,
    )
    if odd_pair:
        return _collect_listed(seeds, True, counter, thread, low_0, width_0, low_1, width_1, hits)
    return _collect_listed(seeds, False, counter, thread, low_0, width_0, low_1, width_1, hits)


def scan(
    first: int,
    count: int,
    pair: int,
    fixed: NDArray[np.uint64],
    windows: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[int, int]:
    """Scan `count` consecutive seeds of one run of 2^32.

    Args:
        first: low 32 bits of the first seed.
        count: seeds; first + count must not exceed 2^32.
        pair: 0 for the words 0 and 1 of the block, 1 for its words 2 and 3.
        fixed: `constants` of the block and the run.
        windows: uint64[4]: low and width of the pair's first word, low and width of its second.
        hits: uint64, at least CHUNK long, filled from its start with the low words of the seeds that pass,
            ascending.

    Returns:
        (hits found, seeds scanned). Fewer seeds than asked for were scanned where `hits` got full: go on
        from first + scanned.
    """
    found, done = _scan(np.uint64(first), np.uint64(count), bool(pair), fixed, windows, hits)
    return int(found), int(done)


def count_passing(first: int, count: int, fixed: NDArray[np.uint64], windows: NDArray[np.uint64]) -> int:
    """How many of `count` seeds pass on the words 0 and 1; the bare kernel, which benchmarks compare with."""
    return int(_count(np.uint64(first), np.uint64(count), fixed, windows))


def scan_listed(
    seeds: NDArray[np.uint64],
    counter: int,
    thread: int,
    pair: int,
    windows: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[int, int]:
    """`scan` for seeds of 64 bits that do not follow one another; `hits` gets whole seeds."""
    found, done = _scan_listed(seeds, np.uint64(counter), np.uint64(thread), bool(pair), windows, hits)
    return int(found), int(done)
