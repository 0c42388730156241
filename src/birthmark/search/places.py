"""Where elements come from under every prediction, each place packed into one number that kernels unpack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.numerics.compiled import kernel
from birthmark.search.space import Prediction

#: Bits of a packed place from the lowest up: lane, rank, thread, and calls since the draw's start.
LANE_BITS, RANK_BITS, THREAD_BITS, CALL_BITS = 2, 6, 28, 28
#: The most threads of a layout that can be packed.
MOST_THREADS = 1 << THREAD_BITS

_LANE_MASK = np.uint64((1 << LANE_BITS) - 1)
_RANK_SHIFT, _RANK_MASK = np.uint64(LANE_BITS), np.uint64((1 << RANK_BITS) - 1)
_THREAD_SHIFT, _THREAD_MASK = np.uint64(LANE_BITS + RANK_BITS), np.uint64((1 << THREAD_BITS) - 1)
_CALL_SHIFT = np.uint64(LANE_BITS + RANK_BITS + THREAD_BITS)


def locate(predictions: Sequence[Prediction], indices: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The packed places of elements (columns) under predictions (rows): equal numbers, equal places.

    Raises:
        UsageError: a place does not fit: a sharding of more than 64 ways, or more than 2^28 calls a thread.
    """
    packed = np.empty((len(predictions), len(indices)), np.uint64)
    for row, prediction in enumerate(predictions):
        hypothesis = prediction.hypothesis
        place = hypothesis.locate(indices)
        call = place.counter - np.uint64(hypothesis.offset // 4)
        rank = place.rank.astype(np.uint64)
        for part, bits in ((rank, RANK_BITS), (place.thread, THREAD_BITS), (call, CALL_BITS)):
            if part.size and int(part.max()) >> bits:
                raise UsageError(
                    f"an element lies at rank, thread or call {int(part.max())}: expected below 2^{bits}."
                )
        packed[row] = (
            place.lane.astype(np.uint64)
            | (rank << _RANK_SHIFT)
            | (place.thread << _THREAD_SHIFT)
            | (call << _CALL_SHIFT)
        )
    return packed


@kernel(inline=True)
def lane_of(packed: np.uint64) -> np.uint64:
    """Which of its call's values an element takes."""
    return packed & _LANE_MASK


@kernel(inline=True)
def rank_of(packed: np.uint64) -> np.uint64:
    """The process that draws it."""
    return (packed >> _RANK_SHIFT) & _RANK_MASK


@kernel(inline=True)
def thread_of(packed: np.uint64) -> np.uint64:
    """The thread of the launch."""
    return (packed >> _THREAD_SHIFT) & _THREAD_MASK


@kernel(inline=True)
def call_of(packed: np.uint64) -> np.uint64:
    """Calls of that thread before, since the draw began."""
    return packed >> _CALL_SHIFT


def unpack(packed: int) -> tuple[int, int, int, int]:
    """(rank, call, thread, lane) of one packed place."""
    return (
        (packed >> int(_RANK_SHIFT)) & int(_RANK_MASK),
        packed >> int(_CALL_SHIFT),
        (packed >> int(_THREAD_SHIFT)) & int(_THREAD_MASK),
        packed & int(_LANE_MASK),
    )
