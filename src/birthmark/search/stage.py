"""A stage of a search: seeds, predictions, and the passes of probes over them, cut into work units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import BLOCK
from birthmark.search.blocks import Block
from birthmark.search.confirm import Witnesses
from birthmark.search.places import MOST_THREADS
from birthmark.search.plan import Plan
from birthmark.search.seeds import Seeds
from birthmark.search.sieve import Sieve
from birthmark.search.space import Prediction

StageName = Literal["dictionary", "wide dictionary", "layout-free", "table", "exhaustive"]

#: A layout larger than any: what agrees with it agrees with every G from some number up.
ENDLESS = MOST_THREADS - BLOCK
#: Seeds times blocks of one work unit: about a second of one core.
UNIT_WORK = 4 * 10**8
#: A unit is never smaller than this, and a stage is cut into a few at least.
LEAST_UNIT, LEAST_UNITS = 1 << 14, 8
#: A block that answers for this share of a stage's predictions, or more, goes first.
SHARED = 0.25


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: positions start <= p < stop of a stage's seeds, through one pass's blocks."""

    stage: str
    number: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """One probe's blocks, or the shared part of them, over all seeds of a stage.

    Attributes:
        blocks: what is scanned for every seed.
        shared: whether these are the blocks on which many predictions agree.
        unit: seeds in one work unit.
    """

    blocks: tuple[Block, ...]
    shared: bool
    unit: int


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A stage.

    Attributes:
        name: which one.
        plan: the plan that it belongs to.
        seeds: its seeds.
        predictions: the rows of `places`.
        places: packed places of the stage's elements (columns).
        witnesses: what the elements' standard values can be; probes are among them.
        sieve: what their words can be.
        passes: in the order in which they are made.
        probes: distinct probe elements.
        miss: for each prediction the chance that this stage and those before it miss a true seed.
        at_least: where the stage serves every G from some number up: that number; else None.
    """

    name: StageName
    plan: Plan
    seeds: Seeds
    predictions: tuple[Prediction, ...]
    places: NDArray[np.uint64]
    witnesses: Witnesses
    sieve: Sieve
    passes: tuple[Pass, ...]
    probes: int
    miss: tuple[float, ...]
    at_least: int | None

    @property
    def title(self) -> str:
        """The name with its family: no other stage of a search has it."""
        return f"{self.plan.family.prefix}{self.name}"

    @property
    def work(self) -> int:
        """Seeds times blocks."""
        return sum(self.seeds.size * len(each.blocks) for each in self.passes)

    @property
    def base(self) -> int:
        """The generator's offset at the draw's start, in calls."""
        return self.predictions[0].hypothesis.offset // 4

    @property
    def threads(self) -> tuple[int, ...]:
        """The G's that it serves, ascending."""
        return tuple(
            sorted({each for prediction in self.predictions for each in prediction.threads} - {ENDLESS})
        )

    def units(self) -> Iterator[Unit]:
        """All work units, pass by pass; those of a pass tile the seeds exactly."""
        for number, each in enumerate(self.passes):
            for start in range(0, self.seeds.size, each.unit):
                yield Unit(self.title, number, start, min(start + each.unit, self.seeds.size))


def passes_of(
    blocks: list[tuple[Block, ...]], predictions: int, seeds: int, unit: int | None
) -> tuple[Pass, ...]:
    """Cut the blocks of each probe into passes: what many predictions share goes before what few do.

    Args:
        blocks: for each probe, the best one first, its blocks.
        predictions: how many predictions the stage has.
        seeds: how many seeds.
        unit: seeds in one work unit; None for about a second's worth.
    """
    found = []
    for shared in (True, False):
        for each in blocks:
            part = tuple(block for block in each if (len(block.members) >= SHARED * predictions) == shared)
            if part:
                found.append(Pass(part, shared, unit or _unit(len(part), seeds)))
    return tuple(found)


def _unit(blocks: int, seeds: int) -> int:
    """Seeds in a unit: a second's worth, but a few units in all."""
    largest = max(LEAST_UNIT, 1 << (max(UNIT_WORK // blocks, 1).bit_length() - 1))
    return max(LEAST_UNIT, min(largest, -(-seeds // LEAST_UNITS)))
