"""MT19937 backwards: from a state anywhere in the stream to the seed, and how many words lie between.

Each step back undoes one step of the recurrence. The seeding leaves a mark that no other place of the
stream has: each of its words follows from the one before by a multiplication. So the walk stops where three
words satisfy the seeding relation; the first of them, inverted, gives the seed, and all 623 words must then
agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_words import MIDDLE, SEEDING, SIZE, TWIST, seeded
from birthmark.numerics.compiled import kernel

#: How far back a walk goes unless told otherwise: 2^32 words, some seconds.
FURTHEST = 1 << 32

_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_TOP = np.uint32(31)
_SEED_SHIFT = np.uint32(30)
_TWO = np.uint32(2)
_THREE = np.uint32(3)
#: Steps back from a window that need nothing but the window.
REACH = SIZE - MIDDLE
_INVERSE = pow(int(SEEDING), -1, 1 << 32)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a stream began.

    Attributes:
        seed: the low 32 bits of the seed; the generator never saw more.
        position: how many words the stream had given before the window.
    """

    seed: int
    position: int


def origin_of(window: NDArray[np.uint32], furthest: int = FURTHEST) -> Origin | None:
    """The seed behind a window, and the window's position; None if no seeding lies within reach.

    Args:
        window: uint32[624], the raw words of 624 consecutive outputs (a window of `mt19937_words`).
        furthest: the largest position that is tried.
    """
    words = np.zeros(2 * SIZE, np.uint32)
    words[:SIZE] = window
    mixed = np.empty(SIZE, np.uint32)
    blocks, most = 0, furthest // SIZE + 2
    while blocks < most:
        blocks += _walk_back(words, mixed, most - blocks)
        for second in range(SIZE, 0, -1):
            seed = _seed_of(int(words[second]))
            position = SIZE * (blocks - 1) + 1 - second
            near = _looks_seeded(words[second:]) and 0 <= position <= furthest
            if near and np.array_equal(seeded(np.uint32(seed))[1:], words[second : second + SIZE - 1]):
                return Origin(seed, position)
    return None


def _seed_of(second: int) -> int:
    """The first word of a seeding, from its second."""
    mixed = (second - 1) * _INVERSE & 0xFFFFFFFF
    return mixed ^ mixed >> 30


def _looks_seeded(words: NDArray[np.uint32]) -> bool:
    """Whether three words follow each other as words 1, 2 and 3 of a seeding."""
    return bool(_successor(words[0], _TWO) == words[1] and _successor(words[1], _THREE) == words[2])


@kernel()
def _walk_back(words: NDArray[np.uint32], mixed: NDArray[np.uint32], most: int) -> int:
    """Walk back by blocks of 624 words until one holds what looks like the second word of a seeding.

    Args:
        words: uint32[1248]; the lower half is the window. In the end it is the upper half, and what
        precedes
            it the lower, of whose first word only the highest bit is right yet.
        mixed: uint32[624], scratch.
        most: the most blocks to walk.

    Returns:
        The blocks walked.
    """
    for block in range(1, most + 1):
        for i in range(SIZE):
            words[SIZE + i] = words[i]
        # A step back gives the highest bit of one word and the other bits of the word after it.
        last = _undone(words[2 * SIZE - 1], words[SIZE + MIDDLE - 1])
        words[SIZE] = np.uint32((words[SIZE] & _UPPER) | (last & _LOWER))
        for i in range(REACH, SIZE):
            mixed[i] = _undone(words[i + SIZE], words[i + MIDDLE])
        for i in range(REACH + 1, SIZE):
            words[i] = np.uint32((mixed[i] & _UPPER) | (mixed[i - 1] & _LOWER))
        for i in range(REACH):
            mixed[i] = _undone(words[i + SIZE], words[i + MIDDLE])
        for i in range(1, REACH + 1):
            words[i] = np.uint32((mixed[i] & _UPPER) | (mixed[i - 1] & _LOWER))
        words[0] = np.uint32(mixed[0] & _UPPER)
        marks = np.uint32(0)
        for i in range(1, SIZE + 1):
            marks += np.uint32(words[i + 1] == _successor(words[i], _TWO))
        if marks != 0:
            for i in range(1, SIZE + 1):
                third = _successor(words[i + 1], _THREE)
                if words[i + 1] == _successor(words[i], _TWO) and words[i + 2] == third:
                    return block
    return most


@kernel(inline=True)
def _undone(last: np.uint32, middle: np.uint32) -> np.uint32:
    """The joined bits that the recurrence made `last` of."""
    word = np.uint32(last ^ middle)
    odd = np.uint32(word >> _TOP)
    word = np.uint32(word ^ np.uint32(np.uint32(np.uint32(0) - odd) & TWIST))
    return np.uint32(np.uint32(word << _ONE) | odd)


@kernel(inline=True)
def _successor(word: np.uint32, index: np.uint32) -> np.uint32:
    """The word of a seeding after `word`, at `index`."""
    return np.uint32(np.uint32(SEEDING * np.uint32(word ^ np.uint32(word >> _SEED_SHIFT))) + index)
