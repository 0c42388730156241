"""The words of a launch, by position or in a run, as 32-bit or as joined 64-bit numbers.

What draws integers takes the four words of a block one by one, or in pairs: the first word of a pair is the
high half of a 64-bit number, and a block gives two of them (pytorch
`aten/src/ATen/native/cuda/DistributionTemplates.h`, 1.7.1 to 2.15.0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import key_of, words
from birthmark.samplers.fill import CHUNK, LANES
from birthmark.samplers.loops import words_of_run

_HALF = np.uint64(32)


def words_at(
    seed: int,
    counter: NDArray[np.uint64],
    thread: NDArray[np.uint64],
    lane: NDArray[np.uint8],
    *,
    joined: bool = False,
) -> NDArray[Any]:
    """The words at any positions of one stream.

    Args:
        seed: any integer; taken modulo 2^64.
        counter: offset / 4 plus earlier calls of the thread, uint64, one-dimensional.
        thread: global thread index, likewise.
        lane: which of the call's numbers: 0 to 3, or 0 to 1 for joined ones.
        joined: whether two words make a 64-bit number.

    Returns:
        uint32, or uint64 for joined words, of `counter`'s shape.
    """
    four = words(seed, counter, thread)
    if joined:
        first = np.take_along_axis(four, 2 * lane[:, None].astype(np.intp), 1)[:, 0]
        second = np.take_along_axis(four, 2 * lane[:, None].astype(np.intp) + 1, 1)[:, 0]
        return join(first, second)
    return np.take_along_axis(four, lane[:, None].astype(np.intp), 1)[:, 0]


def words_range(
    seed: int, threads: int, start: int, stop: int, *, offset: int = 0, joined: bool = False
) -> NDArray[Any]:
    """The words of elements start to stop of one launch, each block computed once.

    Args:
        seed: any integer; taken modulo 2^64.
        threads: threads of the launch.
        start: the first element, from 0 on.
        stop: the one after the last.
        offset: the generator's offset when the launch starts, a multiple of 4.
        joined: whether two words make a 64-bit number.

    Returns:
        uint32, or uint64 for joined words, of shape (stop - start,).
    """
    key = key_of(seed)
    lanes = LANES // 2 if joined else LANES
    per_call = lanes * threads
    out: NDArray[Any] = np.empty(stop - start, np.uint64 if joined else np.uint32)
    block = np.empty((LANES, min(CHUNK, threads)), np.uint32)
    for call in range(start // per_call, -(-stop // per_call)):
        for thread in range(0, threads, CHUNK):
            count = min(CHUNK, threads - thread)
            # Lane l of these threads makes the elements from `firsts[l]` on, relative to `out`.
            firsts = [call * per_call + lane * threads + thread - start for lane in range(lanes)]
            touched = [lane for lane, first in enumerate(firsts) if -count < first < out.size]
            if not touched:
                continue
            made = block[:, :count] if count == block.shape[1] else np.empty((LANES, count), np.uint32)
            words_of_run(key, np.uint64(offset // LANES + call), np.uint64(thread), made)
            for lane in touched:
                first = firsts[lane]
                part = slice(max(0, -first), min(count, out.size - first))
                target = slice(max(0, first), max(0, first) + part.stop - part.start)
                out[target] = (
                    join(made[2 * lane, part], made[2 * lane + 1, part]) if joined else made[lane, part]
                )
    return out


def join(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Pairs of words as 64-bit numbers, the first word high."""
    joined: NDArray[np.uint64] = (first.astype(np.uint64) << _HALF) | second
    return joined
