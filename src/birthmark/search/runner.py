"""The work itself: one unit's seeds through one pass's blocks, hits through the second test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from birthmark.search.blocks import Block
from birthmark.search.confirm import confirm
from birthmark.search.kernel import constants, scan, scan_listed
from birthmark.search.seeds import Run
from birthmark.search.stage import Stage, Unit

#: Seeds of one call into the kernel: some milliseconds, so that a stop is heard soon.
SLICE = 1 << 21
#: Room for the hits of one call; a fuller one is taken in parts.
HITS = 1 << 14


@dataclass(frozen=True, slots=True)
class Found:
    """A seed that convinced the witnesses, with the prediction (row of its stage) that convinced."""

    seed: int
    row: int


@dataclass(frozen=True, slots=True)
class Done:
    """A finished work unit.

    Attributes:
        unit: which.
        hits: seeds that passed a probe's words, over all blocks.
        found: seeds that convinced the witnesses.
    """

    unit: Unit
    hits: int
    found: tuple[Found, ...]


def run(stage: Stage, unit: Unit, stop: Event) -> Done | None:
    """Do one unit; None if `stop` was set before it was finished."""
    hits = 0
    found: dict[tuple[int, int], None] = {}
    room = np.empty(HITS, np.uint64)
    for block in stage.passes[unit.number].blocks:
        for piece in stage.seeds.pieces(unit.start, unit.stop, block.rank):
            for keys in _passing(block, piece, room):
                if stop.is_set():
                    return None
                hits += len(keys)
                if len(keys):
                    found.update(dict.fromkeys(_convincing(stage, block, keys)))
    return Done(unit, hits, tuple(Found(seed, row) for seed, row in sorted(found)))


def _convincing(stage: Stage, block: Block, keys: NDArray[np.uint64]) -> list[tuple[int, int]]:
    pairs, _ = confirm(keys, block.element, block.groups, stage.base, stage.places, stage.witnesses)
    return pairs


def _passing(
    block: Block, piece: Run | NDArray[np.uint64], room: NDArray[np.uint64]
) -> Iterator[NDArray[np.uint64]]:
    """The keys of a piece that pass, each time the kernel comes back; all are views of `room`."""
    if isinstance(piece, Run):
        fixed = constants(block.counter, block.thread, piece.high)
        first, stop = piece.low, piece.low + piece.count
        while first < stop:
            found, done = scan(first, min(SLICE, stop - first), block.pair, fixed, block.windows, room)
            first += done
            yield room[:found] | np.uint64(piece.high << 32)
        return
    first = 0
    while first < len(piece):
        found, done = scan_listed(
            piece[first : first + SLICE], block.counter, block.thread, block.pair, block.windows, room
        )
        first += done
        yield room[:found]
