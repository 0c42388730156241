"""The scan: which seeds give one Philox block words inside given windows.

A search asks this of every seed, so it is the one loop whose speed matters. Three things make it fast.

* All that does not depend on the seed is computed once a block (`constants`). The first round's products are
  such, and half of the second's; the last round needs one product only. Sixteen multiplications of twenty
  remain, and both words that a pair of lanes is made from come from the same last product.
* The loop has no branch and works on 64-bit lanes whose upper halves may hold anything: a vector multiply
  reads the lower halves only, so no operand needs a mask.
* Hits are counted a chunk at a time; only chunks with hits are gone through again.

A window is (low, width): a word w lies in it when (w - low) mod 2^32 <= width, so windows may wrap around.
Hits then pass a finer test by table, see `search.windows`. Seeds beyond 32 bits take a slower loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import KEY_STEP_0, KEY_STEP_1, MULTIPLIER_0, MULTIPLIER_1
from birthmark.numerics.compiled import kernel
from birthmark.search.vectors import widest_vectors
from birthmark.search.windows import WordsTest

#: Seeds whose hits are counted together before anything is stored.
CHUNK = 64
#: The seeds that have a high word of 0, and so the fast loop.
RUN = 1 << 32

_CHUNK = np.uint64(CHUNK)
_LOW = np.uint64(RUN - 1)
_HALF = np.uint64(32)
_STEP_0, _STEP_1 = np.uint64(KEY_STEP_0), np.uint64(KEY_STEP_1)
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)


def constants(counter: int, thread: int) -> NDArray[np.uint64]:
    """What the first two rounds of a block owe to everything but the seed.

    With counter (c0, c1, c2, c3) and key (seed, 0), round 1 leaves (A ^ seed, lo(M1 c2), hi(M0 c0) ^ c3,
    lo(M0 c0)) with A = hi(M1 c2) ^ c1, and round 2 leaves (B ^ (seed + W0), C, hi(M0 (A ^ seed)) ^ D,
    lo(M0 (A ^ seed))).

    Args:
        counter: offset / 4 plus calls, 64 bits.
        thread: thread index, 64 bits.

    Returns:
        uint64[4]: A, B, C and D.
    """
    low = RUN - 1
    product_0 = int(MULTIPLIER_0) * (counter & low)
    product_1 = int(MULTIPLIER_1) * (thread & low)
    again = int(MULTIPLIER_1) * ((product_0 >> 32) ^ (thread >> 32))
    return np.array(
        [
            (product_1 >> 32) ^ (counter >> 32),
            (again >> 32) ^ (product_1 & low),
            again & low,
            (product_0 & low) ^ int(KEY_STEP_1),
        ],
        dtype=np.uint64,
    )


@kernel(inline=True)
def _swapped(lane: np.uint64) -> np.uint64:
    """The halves of a lane exchanged: one instruction, and unlike a mask it does not narrow a product."""
    return (lane << _HALF) | (lane >> _HALF)


@kernel(inline=True)
def _words(
    seed: np.uint64, odd_pair: bool, a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """The two words of a pair, in the upper halves; the lower ones hold junk."""
    # A constant: as a parameter its ten values would fill the registers that a second vector in flight needs.
    key_1 = _STEP_1
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
    return _swapped(even), _swapped(last)


@kernel(inline=True)
def words_whole(
    seed: np.uint64, odd_pair: bool, counter: np.uint64, thread: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """`_words` for seeds of 64 bits: nothing is hoisted but what LLVM finds by itself."""
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
    return _swapped(even), _swapped(last)


@kernel(inline=True)
def inside(
    even: np.uint64,
    odd: np.uint64,
    low_0: np.uint64,
    width_0: np.uint64,
    low_1: np.uint64,
    width_1: np.uint64,
) -> np.uint64:
    """1 where both words lie in their windows, else 0. All are in upper halves: subtraction wraps at 2^32."""
    return np.uint64((even - low_0 <= width_0) & (odd - low_1 <= width_1))


@kernel(inline=True)
def on_stairs(
    even: np.uint64, odd: np.uint64, centre: np.uint64, shift: np.uint64, stairs: NDArray[np.uint64]
) -> bool:
    """The finer test of two words that lie in their windows; beyond, the last step stands for all."""
    step = min(even >> shift, np.uint64(stairs.shape[0] - 1))
    apart = odd - centre
    apart = min(apart, _ZERO - apart)
    held: bool = stairs[step, 0] <= apart <= stairs[step, 1]
    return held


@kernel(inline=True)
def shifted(windows: NDArray[np.uint64]) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Lows and widths in the upper halves; a width holds whatever junk lies below."""
    return (
        windows[0] << _HALF,
        (windows[1] << _HALF) | _LOW,
        windows[2] << _HALF,
        (windows[3] << _HALF) | _LOW,
    )


@kernel(inline=True)
def _next_hit(
    first: np.uint64,
    chunks: np.uint64,
    odd_pair: bool,
    fixed: NDArray[np.uint64],
    windows: NDArray[np.uint64],
) -> np.uint64:
    widest_vectors()
    a, b, c, d = fixed[0], fixed[1], fixed[2], fixed[3]
    low_0, width_0, low_1, width_1 = shifted(windows)
    for chunk in range(chunks):
        base = first + chunk * _CHUNK
        passing = _ZERO
        for i in range(_CHUNK):
            even, odd = _words(base + i, odd_pair, a, b, c, d)
            passing += inside(even, odd, low_0, width_0, low_1, width_1)
        if passing:
            return np.uint64(chunk)
    return chunks


@kernel()
def _next_hit_even(
    first: np.uint64, chunks: np.uint64, fixed: NDArray[np.uint64], windows: NDArray[np.uint64]
) -> np.uint64:
    """How many chunks from `first` on have no hit: the hot loop, alone in its function."""
    return _next_hit(first, chunks, False, fixed, windows)


@kernel()
def _next_hit_odd(
    first: np.uint64, chunks: np.uint64, fixed: NDArray[np.uint64], windows: NDArray[np.uint64]
) -> np.uint64:
    return _next_hit(first, chunks, True, fixed, windows)


@kernel()
def _scan(
    first: np.uint64,
    count: np.uint64,
    odd_pair: bool,
    fixed: NDArray[np.uint64],
    windows: NDArray[np.uint64],
    stairs: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64, np.uint64]:
    widest_vectors()
    a, b, c, d = fixed[0], fixed[1], fixed[2], fixed[3]
    low_0, width_0, low_1, width_1 = shifted(windows)
    centre, shift, dense = windows[4] << _HALF, windows[5] + _HALF, windows[6] > _ZERO
    evens, odds = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    marked = np.empty(CHUNK, np.uint64)
    room = np.uint64(hits.shape[0])
    found, passed, done = _ZERO, _ZERO, _ZERO
    while done < count and found + _CHUNK <= room:
        if not dense:
            left = (count - done + _CHUNK - _ONE) // _CHUNK
            if odd_pair:
                done += _next_hit_odd(first + done, left, fixed, windows) * _CHUNK
            else:
                done += _next_hit_even(first + done, left, fixed, windows) * _CHUNK
            if done >= count:
                break
        # Making the words again costs less than storing those of every chunk, unless hits are everywhere.
        base = first + done
        if odd_pair:
            for i in range(_CHUNK):
                evens[i], odds[i] = _words(base + i, True, a, b, c, d)
        else:
            for i in range(_CHUNK):
                evens[i], odds[i] = _words(base + i, False, a, b, c, d)
        here = _ZERO
        for i in range(min(_CHUNK, count - done)):
            marked[here] = i
            here += inside(evens[i], odds[i], low_0, width_0, low_1, width_1)
        passed += here
        for i in marked[:here]:
            hits[found] = base + i
            found += np.uint64(on_stairs(evens[i], odds[i], centre, shift, stairs))
        done += _CHUNK
    return found, passed, min(done, count)


@kernel()
def _count(
    first: np.uint64, count: np.uint64, fixed: NDArray[np.uint64], windows: NDArray[np.uint64]
) -> np.uint64:
    widest_vectors()
    a, b, c, d = fixed[0], fixed[1], fixed[2], fixed[3]
    low_0, width_0, low_1, width_1 = shifted(windows)
    passing = _ZERO
    for i in range(count):
        even, odd = _words(first + i, False, a, b, c, d)
        passing += inside(even, odd, low_0, width_0, low_1, width_1)
    return passing


@kernel(inline=True)
def _collect_listed(
    seeds: NDArray[np.uint64],
    counter: np.uint64,
    thread: np.uint64,
    odd_pair: bool,
    windows: NDArray[np.uint64],
    stairs: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64, np.uint64]:
    widest_vectors()
    low_0, width_0, low_1, width_1 = shifted(windows)
    centre, shift = windows[4] << _HALF, windows[5] + _HALF
    evens, odds = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    room, count = np.uint64(hits.shape[0]), np.uint64(seeds.shape[0])
    found, passed, done = _ZERO, _ZERO, _ZERO
    while done < count and found + _CHUNK <= room:
        size = min(_CHUNK, count - done)
        part = seeds[done : done + size]
        for i in range(size):
            evens[i], odds[i] = words_whole(part[i], odd_pair, counter, thread)
        for i in range(size):
            if inside(evens[i], odds[i], low_0, width_0, low_1, width_1):
                passed += _ONE
                hits[found] = part[i]
                found += np.uint64(on_stairs(evens[i], odds[i], centre, shift, stairs))
        done += size
    return found, passed, done


@kernel()
def _scan_listed(
    seeds: NDArray[np.uint64],
    counter: np.uint64,
    thread: np.uint64,
    odd_pair: bool,
    windows: NDArray[np.uint64],
    stairs: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64, np.uint64]:
    if odd_pair:
        return _collect_listed(seeds, counter, thread, True, windows, stairs, hits)
    return _collect_listed(seeds, counter, thread, False, windows, stairs, hits)


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one call into the kernel did.

    Attributes:
        found: hits written.
        passed: seeds whose words lay in the windows, before the finer test.
        done: seeds scanned; fewer than asked for where the room for hits ran out.
    """

    found: int
    passed: int
    done: int


def scan(
    first: int, count: int, fixed: NDArray[np.uint64], test: WordsTest, hits: NDArray[np.uint64]
) -> Scanned:
    """Scan `count` consecutive seeds.

    Args:
        first: the first seed.
        count: how many; first + count must not exceed 2^32.
        fixed: `constants` of the block.
        test: what the words must be.
        hits: uint64, at least CHUNK long, filled from its start with the seeds that pass, ascending.
    """
    found, passed, done = _scan(
        np.uint64(first), np.uint64(count), bool(test.pair), fixed, test.windows, test.stairs, hits
    )
    return Scanned(int(found), int(passed), int(done))


def scan_listed(
    seeds: NDArray[np.uint64], counter: int, thread: int, test: WordsTest, hits: NDArray[np.uint64]
) -> Scanned:
    """`scan` for any seeds of 64 bits; it takes about a third longer."""
    found, passed, done = _scan_listed(
        seeds, np.uint64(counter), np.uint64(thread), bool(test.pair), test.windows, test.stairs, hits
    )
    return Scanned(int(found), int(passed), int(done))


def count_passing(first: int, count: int, fixed: NDArray[np.uint64], test: WordsTest) -> int:
    """How many of `count` seeds have their words 0 and 1 in the windows: the bare kernel, for benchmarks."""
    return int(_count(np.uint64(first), np.uint64(count), fixed, test.windows))
