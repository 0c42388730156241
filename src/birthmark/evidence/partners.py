"""Partners: which survivors one call of a launch would have made as the two halves of a normal pair.

Under a layout of G threads the elements j and j + G are the sine and the cosine of one Box-Muller step where
j lies in an even wave (lane 0 or 2). G is a whole number of blocks of 256 elements, so that partners have
the same place in their blocks: with a bit for every survivor of small magnitude, four words of one block and
four of another find all partners among 256 elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import BLOCK
from birthmark.devices.layout import Layout, pieces
from birthmark.numerics.compiled import kernel

_WORDS = BLOCK // 64
_ONE = np.uint64(1)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Survivors of a tensor, block by block of 256 elements of a launch.

    Attributes:
        values: float64[n], of the survivors, ascending by launch and place.
        place: int64[n], the place of each in its own launch.
        bits: uint64[blocks, 4], which elements of an occupied block are here.
        first: int64[blocks], where its values begin in `values`.
        number: int64[blocks], the block's number in its launch.
        launch: int64[blocks], which launch it is in.
        table: int32, for each block of each launch: where it is in the arrays above; -1 where it is empty.
        starts: int64[launches], where each launch begins in `table`.
        ends: int64[launches], where it ends.
        longest: elements of the longest launch.
    """

    values: NDArray[np.float64]
    place: NDArray[np.int64]
    bits: NDArray[np.uint64]
    first: NDArray[np.int64]
    number: NDArray[np.int64]
    launch: NDArray[np.int64]
    table: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    longest: int


def blocks_of(
    indices: NDArray[np.int64], values: NDArray[np.float64], shape: tuple[int, ...], ways: int = 1
) -> Blocks:
    """Sort survivors into blocks.

    Args:
        indices: C-order flat indices in the tensor, ascending, each once.
        values: the values there.
        shape: the tensor's extents; a huge float32 tensor is drawn by several launches.
        ways: equal shards that it was drawn in, one after another; they divide its size.
    """
    local = math.prod(shape) // ways
    launches, _ = pieces(local, "float32", Layout(BLOCK))
    begin = np.array([rank * local + piece.start for rank in range(ways) for piece in launches], np.int64)
    counts = np.array([-(-piece.size // BLOCK) for piece in launches] * ways, np.int64)
    ends = np.cumsum(counts)
    starts = ends - counts
    launch = np.searchsorted(begin, indices, side="right") - 1
    place = indices - begin[launch]
    slot = starts[launch] + place // BLOCK
    first = np.flatnonzero(np.diff(slot, prepend=-1))
    occupied = slot[first]
    table = np.full(int(ends[-1]) if len(ends) else 0, -1, np.int32)
    table[occupied] = np.arange(len(occupied), dtype=np.int32)
    bits = np.zeros((len(occupied), _WORDS), np.uint64)
    within = place % BLOCK
    np.bitwise_or.at(bits, (table[slot], within // 64), _ONE << (within % 64).astype(np.uint64))
    return Blocks(
        values=values,
        place=place,
        bits=bits,
        first=first,
        number=place[first] // BLOCK,
        launch=launch[first].astype(np.int64),
        table=table,
        starts=starts,
        ends=ends,
        longest=max((piece.size for piece in launches), default=0),
    )


def partners(blocks: Blocks, threads: int, wave: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions in `blocks.values` of all partners j, j + G where j lies in an even wave.

    Args:
        blocks: the survivors.
        threads: G, a multiple of 256.
        wave: 0 for the pairs of the layout; 1 for odd waves, whose elements are no partners: a control.
    """
    room = len(blocks.values) // 2 + 1
    one, other = np.empty(room, np.int64), np.empty(room, np.int64)
    found = _pairs(
        blocks.bits,
        blocks.first,
        blocks.number,
        blocks.launch,
        blocks.table,
        blocks.starts,
        blocks.ends,
        threads // BLOCK,
        wave,
        one,
        other,
    )
    return one[:found], other[:found]


def count_partners(blocks: Blocks, threads: int) -> int:
    """How many pairs `partners` would find."""
    return int(
        _counted(
            blocks.bits,
            blocks.number,
            blocks.launch,
            blocks.table,
            blocks.starts,
            blocks.ends,
            threads // BLOCK,
        )
    )


@kernel(inline=True)
def _ones(word: np.uint64) -> np.uint64:
    """The bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel()
def _pairs(
    bits: NDArray[np.uint64],
    first: NDArray[np.int64],
    number: NDArray[np.int64],
    launch: NDArray[np.int64],
    table: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    lag: int,
    wave: int,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
) -> int:
    found = 0
    for block in range(number.size):
        if (number[block] // lag) % 2 != wave:
            continue
        slot = starts[launch[block]] + number[block] + lag
        if slot >= ends[launch[block]]:
            continue
        partner = table[slot]
        if partner < 0:
            continue
        here, there = first[block], first[partner]
        for word in range(bits.shape[1]):
            mine, theirs = bits[block, word], bits[partner, word]
            both = mine & theirs
            while both != np.uint64(0):
                lowest = both & (~both + np.uint64(1))
                below = lowest - np.uint64(1)
                one[found] = here + np.int64(_ones(mine & below))
                other[found] = there + np.int64(_ones(theirs & below))
                found += 1
                both ^= lowest
            here += np.int64(_ones(mine))
            there += np.int64(_ones(theirs))
    return found


@kernel()
def _counted(
    bits: NDArray[np.uint64],
    number: NDArray[np.int64],
    launch: NDArray[np.int64],
    table: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    lag: int,
) -> int:
    found = 0
    for block in range(number.size):
        slot = starts[launch[block]] + number[block] + lag
        if (number[block] // lag) % 2 != 0 or slot >= ends[launch[block]] or table[slot] < 0:
            continue
        for word in range(bits.shape[1]):
            found += int(_ones(bits[block, word] & bits[table[slot], word]))
    return found
