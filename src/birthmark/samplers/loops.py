"""The compiled loops of `fill`: words of many blocks, and values of many words.

Each is short and touches few arrays, so that the compiler uses the machine's vectors: beyond a handful of
arrays LLVM gives up checking that they do not overlap. That is why the words of scattered blocks come
packed in pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import block
from birthmark.numerics.compiled import kernel
from birthmark.samplers.normal import half, pair, pair64
from birthmark.samplers.uniform import unit, unit64

_HALF = np.uint64(32)
_FIRST_PAIR = np.uint8(2)


@kernel()
def words_of_run(key: np.uint64, counter: np.uint64, thread: np.uint64, out: NDArray[np.uint32]) -> None:
    """The words of consecutive threads in one call, from `thread` on; `out` has a row for each word."""
    for i in range(out.shape[1]):
        w0, w1, w2, w3 = block(key, counter, thread + np.uint64(i))
        out[0, i] = w0
        out[1, i] = w1
        out[2, i] = w2
        out[3, i] = w3


@kernel()
def word_pairs(
    keys: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    threads: NDArray[np.uint64],
    lanes: NDArray[np.uint8],
    out: NDArray[np.uint64],
) -> None:
    """The pair of words that makes each lane's value, the first of them in the low half."""
    for i in range(out.size):
        w0, w1, w2, w3 = block(keys[i], counters[i], threads[i])
        second = lanes[i] >= _FIRST_PAIR
        out[i] = np.uint64(w2 if second else w0) | (np.uint64(w3 if second else w1) << _HALF)


@kernel()
def units(words: NDArray[np.uint32], code: np.uint32, out: NDArray[np.float32]) -> None:
    """The uniform in (0, 1] of each word."""
    for i in range(out.size):
        out[i] = unit(words[i], code)


@kernel()
def pairs(
    x: NDArray[np.uint32],
    y: NDArray[np.uint32],
    code: np.uint32,
    sines: NDArray[np.float32],
    cosines: NDArray[np.float32],
) -> None:
    """The two standard normals of each pair of words."""
    for i in range(sines.size):
        s, c = pair(x[i], y[i], code)
        sines[i] = s
        cosines[i] = c


@kernel()
def halves(
    x: NDArray[np.uint32],
    y: NDArray[np.uint32],
    odd: NDArray[np.uint32],
    code: np.uint32,
    out: NDArray[np.float32],
) -> None:
    """One normal of each pair of words: the cosine value where `odd` is 1, else the sine value."""
    for i in range(out.size):
        out[i] = half(x[i], y[i], odd[i], code)


@kernel()
def doubles(
    uniform: bool,
    keys: NDArray[np.uint64],
    counters: NDArray[np.uint64],
    threads: NDArray[np.uint64],
    lanes: NDArray[np.uint8],
    code: np.uint32,
    out: NDArray[np.float64],
) -> None:
    """Double standard values at any positions; a block has two lanes."""
    for i in range(out.size):
        w0, w1, w2, w3 = block(keys[i], counters[i], threads[i])
        second = lanes[i] != np.uint8(0)
        if uniform:
            out[i] = unit64(w2 if second else w0, w3 if second else w1, code)
        else:
            s, c = pair64(w0, w1, w2, w3, code)
            out[i] = c if second else s
