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
from birthmark.search.sieve import sift
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
            for keys, passed in _passing(block, piece, room):
                if stop.is_set():
                    return None
                hits += passed
                if len(keys):
                    found.update(dict.fromkeys(_convincing(stage, block, keys)))
    return Done(unit, hits, tuple(Found(seed, row) for seed, row in sorted(found)))


def _convincing(stage: Stage, block: Block, keys: NDArray[np.uint64]) -> list[tuple[int, int]]:
    seeds = keys - np.uint64(block.rank)
    if len(block.sieve):
        places = stage.places[block.groups[0].members[0]]
        seeds = sift(seeds, block.sieve, stage.base, places, stage.sieve)
    if len(seeds) == 0:
        return []
    return [
        pair
        for group in block.groups
        for pair in confirm(
            seeds, block.element, group, stage.base, stage.places, stage.witnesses, stage.sieve
        )
    ]


def _passing(
    block: Block, piece: Run | NDArray[np.uint64], room: NDArray[np.uint64]
) -> Iterator[tuple[NDArray[np.uint64], int]]:
    """The keys that pass, a view of `room`, and how many lay in the windows, call by call into the kernel."""
    size = piece.count if isinstance(piece, Run) else len(piece)
    fixed = constants(block.counter, block.thread)
    done = 0
    while done < size:
        part = min(SLICE, size - done)
        if isinstance(piece, Run):
            scanned = scan(piece.first + done, part, fixed, block.test, room)
        else:
            scanned = scan_listed(piece[done : done + part], block.counter, block.thread, block.test, room)
        done += scanned.done
        yield room[: scanned.found], scanned.passed
