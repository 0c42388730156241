"""Where tensors lie in the stream of a seed that is known: one pass over it, for all of them at once.

A few neighbouring words that a tensor's values fix make an anchor; with some 70 known bits it fits at one
place of a stream only. The first word of each anchor is looked up for every position by its leading bits, so
that the pass costs little more than making the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937 import moved, window_at
from birthmark.generators.mt19937_words import SIZE, continued, temper
from birthmark.numerics.compiled import kernel
from birthmark.search.solve.equations import BITS, Words

#: Bits that an anchor must fix, words it may have, and stream positions it may reach over.
LEAST_BITS: Final = 72.0
MOST_WORDS: Final = 24
MOST_SPAN: Final = 1 << 16
#: Anchors of each tensor: some may lie on values that changed.
ANCHORS: Final = 8
#: Stream positions that are looked at together.
CHUNK: Final = 1 << 20
#: Leading bits by which anchors are looked up.
_LEADING: Final = 16
_REST = np.uint32(BITS - _LEADING)
_SHOWN = np.uint32((1 << BITS) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """Runs of known words.

    Attributes:
        tensor: int64[n], the number of the tensor that each belongs to.
        position: int64[n], of its first word, counted from the tensor's first.
        offset: int64[n, words], of its words from the first; words beyond its last repeat the first.
        low: uint32[n, words], the least that each word's low 24 bits can be.
        high: uint32[n, words], the most.
    """

    tensor: NDArray[np.int64]
    position: NDArray[np.int64]
    offset: NDArray[np.int64]
    low: NDArray[np.uint32]
    high: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.tensor)


def anchors_of(tensors: Sequence[Words]) -> Anchors:
    """Anchors of tensors, evenly spread over the words that are known of each."""
    rows: list[tuple[int, NDArray[np.int64]]] = []
    for number, words in enumerate(tensors):
        bits = BITS - np.log2(words.high.astype(np.float64) - words.low + 1.0)
        known = np.flatnonzero(bits >= 1.0)
        starts = np.arange(4 * ANCHORS) * len(known) // (4 * ANCHORS) if len(known) else known
        found = [run for start in np.unique(starts) if (run := _run(words, known[start:], bits)) is not None]
        rows += [(number, found[k * len(found) // ANCHORS]) for k in range(min(ANCHORS, len(found)))]
    width = max((len(run) for _, run in rows), default=1)
    padded = [np.concatenate([run, np.full(width - len(run), run[0])]) for _, run in rows]
    chosen = np.array(padded, np.int64).reshape(len(rows), width)
    which = np.array([number for number, _ in rows], np.int64)
    parts = [tensors[number] for number in which]
    position = np.array([part.position[run] for part, run in zip(parts, chosen, strict=True)], np.int64)
    low = np.array([part.low[run] for part, run in zip(parts, chosen, strict=True)], np.uint32)
    high = np.array([part.high[run] for part, run in zip(parts, chosen, strict=True)], np.uint32)
    shape = (len(rows), width)
    position = position.reshape(shape)
    return Anchors(which, position[:, 0], position - position[:, :1], low.reshape(shape), high.reshape(shape))


def locate(tensors: Sequence[Words], seed: int, reach: int) -> list[int | None]:
    """The place of each tensor in the stream of a seed: words before its first element.

    Args:
        tensors: what is known of the words of each tensor, counted from its first.
        seed: its low 32 bits.
        reach: how many words are looked at, as the first of an anchor.

    Returns:
        For each tensor the place that most of its anchors agree on, None where none fits.
    """
    anchors = anchors_of(tensors)
    votes: list[Counter[int]] = [Counter() for _ in tensors]
    if not len(anchors):
        return [None] * len(tensors)
    span = int(anchors.offset.max())
    begins, members = _by_leading_bits(anchors)
    hits = np.empty((CHUNK, 2), np.int64)
    window = window_at(seed, 0)
    for start in range(0, max(0, reach), CHUNK):
        outputs = temper(continued(window, CHUNK + span + SIZE)) & _SHOWN
        places = min(CHUNK, reach - start)
        count = _scan(outputs, places, begins, members, anchors.offset, anchors.low, anchors.high, hits)
        for place, anchor in hits[:count].tolist():
            index = start + place - int(anchors.position[anchor])
            votes[int(anchors.tensor[anchor])][index] += 1
        window = moved(window, CHUNK)
    return [vote.most_common(1)[0][0] if vote else None for vote in votes]


def _run(words: Words, known: NDArray[np.int64], bits: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """The first words of a list that fix enough bits together; None where they lie too far apart."""
    some = known[:MOST_WORDS]
    enough = int(np.searchsorted(np.cumsum(bits[some]), LEAST_BITS)) + 1
    if enough > len(some):
        return None
    run = some[:enough]
    near = int(words.position[run[-1]] - words.position[run[0]]) <= MOST_SPAN
    return run if near else None


def _by_leading_bits(anchors: Anchors) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each value of a word's leading bits the anchors whose first word can have it, as one list."""
    first, last = anchors.low[:, 0] >> _REST, anchors.high[:, 0] >> _REST
    lists: list[list[int]] = [[] for _ in range(1 << _LEADING)]
    for anchor, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for value in range(a, b + 1):
            lists[value].append(anchor)
    begins = np.zeros((1 << _LEADING) + 1, np.int64)
    begins[1:] = np.cumsum([len(each) for each in lists])
    return begins, np.array([anchor for each in lists for anchor in each], np.int64)


@kernel()
def _scan(
    outputs: NDArray[np.uint32],
    count: int,
    begins: NDArray[np.int64],
    members: NDArray[np.int64],
    offset: NDArray[np.int64],
    low: NDArray[np.uint32],
    high: NDArray[np.uint32],
    hits: NDArray[np.int64],
) -> int:
    """The (place, anchor) pairs at which all words of an anchor fit; as many as there is room for."""
    found = 0
    for place in range(count):
        leading = np.int64(outputs[place] >> _REST)
        for m in range(begins[leading], begins[leading + 1]):
            anchor = members[m]
            fits = True
            for k in range(offset.shape[1]):
                word = outputs[place + offset[anchor, k]]
                if word < low[anchor, k] or word > high[anchor, k]:
                    fits = False
                    break
            if fits and found < len(hits):
                hits[found, 0], hits[found, 1] = place, anchor
                found += 1
    return found
