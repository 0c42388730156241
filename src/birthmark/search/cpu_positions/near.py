"""Every seed of a range at every position near the start of its stream.

Masks of the seeded state cost a pass through all seeds for each position (see `masks`). Near the start it is
cheaper to run the streams themselves: sixteen seeds side by side, word for word, and at each position two
words are compared with what the survivors there say; where both fit, more are. A position costs about a third
of a nanosecond that way, a hundredth of what masks take, but all positions before it cost the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import NothingToSearch
from birthmark.generators.mt19937_words import MIDDLE, SIZE, TWIST, tempered
from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_uniform import BITS
from birthmark.search.cpu_positions.lanes import filler
from birthmark.search.cpu_positions.streams import Probe, fits, fitting
from birthmark.search.cpu_positions.vector_code import WIDTH
from birthmark.search.vectors import widest_vectors

#: Vectors of seeds that are seeded together.
TOGETHER: Final = 8
#: Room for what fits in one call.
HITS: Final = 1 << 10

_GROUP: Final = 8
#: Where a block's words begin to be made of words of the same block.
_TURN: Final = (SIZE - MIDDLE) * WIDTH
_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_ZERO = np.uint32(0)
_SEEN = np.uint32((1 << BITS) - 1)

_fill = filler(TOGETHER)


def near_matches(first: int, count: int, start: int, stop: int, probe: Probe) -> list[tuple[int, int]]:
    """(seed, position) of all draws that pass a probe.

    Args:
        first: the first seed.
        count: how many consecutive seeds; first + count is at most 2^32.
        start: the first position.
        stop: one past the last.
        probe: what the words there must be.

    Raises:
        NothingToSearch: very many pass.
    """
    hits = np.empty((HITS, 2), np.int64)
    span = int(probe.places.max())
    begin, end = start + probe.first, stop + probe.first
    number = int(_near(first, count, begin, end, span, probe.places, probe.low, probe.width, hits))
    if number > HITS:
        raise NothingToSearch(f"{number} seeds and positions fit: the values do not tell them apart.")
    return [(int(seed), int(place) - probe.first) for seed, place in hits[:number]]


@kernel()
def _near(
    first: int,
    count: int,
    begin: int,
    end: int,
    span: int,
    places: NDArray[np.int64],
    low: NDArray[np.uint32],
    width: NDArray[np.uint32],
    hits: NDArray[np.int64],
) -> int:
    """Note (seed, position of the probe's first word) of what fits; returns how many do.

    Word i of lane j lies at i * WIDTH + j. The words of a block lie behind the last `span` of the block
    before, so that a probe sees them together.
    """
    seeds, states = np.empty(TOGETHER * WIDTH, np.uint32), np.empty((TOGETHER, SIZE * WIDTH), np.uint32)
    words = np.empty((span + SIZE) * WIDTH, np.uint32)
    found = 0
    for done in range(0, count, TOGETHER * WIDTH):
        for j in range(len(seeds)):
            seeds[j] = np.uint32(first + done + j)
        _fill(seeds, states)
        for v in range(TOGETHER):
            base = done + v * WIDTH
            if base >= count:
                break
            lanes = min(WIDTH, count - base)
            made = 0
            while made < end + span:
                for i in range(span * WIDTH):
                    words[i] = words[SIZE * WIDTH + i]
                _advance(states[v])
                _output(states[v], words[span * WIDTH :])
                # The first row holds the word at `offset`; a probe begins in the first SIZE rows.
                offset = made - span
                lowest, highest = max(0, begin - offset, -offset), min(SIZE, end - offset)
                for row in range(lowest, highest, _GROUP):
                    rows = min(_GROUP, highest - row)
                    a, b, size = (row + places[0]) * WIDTH, (row + places[1]) * WIDTH, rows * WIDTH
                    near, far = words[a : a + size], words[b : b + size]
                    if fitting(near, far, low[0], width[0], low[1], width[1]) == 0:
                        continue
                    for i in range(row, row + rows):
                        for j in range(lanes):
                            k = 0
                            while k < len(places) and fits(
                                words[(i + places[k]) * WIDTH + j], low[k], width[k]
                            ):
                                k += 1
                            if k == len(places):
                                if found < len(hits):
                                    hits[found, 0] = first + base + j
                                    hits[found, 1] = offset + i
                                found += 1
                made += SIZE
    return found


@kernel()
def _advance(state: NDArray[np.uint32]) -> None:
    """The next 624 raw words of every lane."""
    widest_vectors()
    for n in range(_TURN):
        state[n] = _step(state[n], state[n + WIDTH], state[n + MIDDLE * WIDTH])
    for n in range(_TURN, (SIZE - 1) * WIDTH):
        state[n] = _step(state[n], state[n + WIDTH], state[n - _TURN])
    for n in range((SIZE - 1) * WIDTH, SIZE * WIDTH):
        state[n] = _step(state[n], state[n - (SIZE - 1) * WIDTH], state[n - _TURN])


@kernel(inline=True)
def _step(first: np.uint32, second: np.uint32, middle: np.uint32) -> np.uint32:
    joined = np.uint32((first & _UPPER) | (second & _LOWER))
    odd = np.uint32(_ZERO - np.uint32(joined & _ONE))
    return np.uint32(middle ^ np.uint32(joined >> _ONE) ^ np.uint32(odd & TWIST))


@kernel()
def _output(state: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    """The low 24 bits of the outputs."""
    widest_vectors()
    for n in range(len(state)):
        out[n] = np.uint32(tempered(state[n]) & _SEEN)
