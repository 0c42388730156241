"""The Philox blocks that a set of probes asks for, each with the predictions that it answers for.

A probe lies in one block under every layout that agrees on it; such predictions share one scan. The second
test goes through them group by group, one sharding each; where all groups agree on enough witnesses, one
sieve serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.search.confirm import Group
from birthmark.search.elements import Elements
from birthmark.search.places import unpack
from birthmark.search.sieve import LEAST, MOST
from birthmark.search.space import Prediction
from birthmark.search.windows import WordsTest, words_test
from birthmark.survivors.survivor import Distribution

#: Witnesses of the probe's own unit that are asked before all others: if the probe holds, they do.
OWN_FIRST = 8


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One Philox block and what its words must be.

    Attributes:
        element: the probe's column among the elements of the stage.
        rank: the process that draws it; the key is the seed of rank 0 plus this.
        counter, thread: the block.
        test: what its words must be.
        packed: the packed place of the probe.
        groups: the predictions that place the probe here, one group a sharding.
        sieve: int64, witnesses on which all groups agree, for one sieve; none where they are too few.
    """

    element: int
    rank: int
    counter: int
    thread: int
    test: WordsTest
    packed: int
    groups: tuple[Group, ...]
    sieve: NDArray[np.int64]

    @property
    def members(self) -> list[int]:
        """The predictions that this block answers for."""
        return [member for group in self.groups for member in group.members.tolist()]


def shares(candidates: Elements, distribution: Distribution, *, double: bool) -> NDArray[np.float64]:
    """The share of seeds that pass each element's windows, whatever its lane; 2 where it has no test."""
    found = np.empty(len(candidates))
    for e in range(len(candidates)):
        low, high = float(candidates.low[e]), float(candidates.high[e])
        test = words_test(distribution, low, high, 0, double=double, finer=False)
        found[e] = 2.0 if test is None else test.share
    return found


def blocks_of(
    element: int,
    elements: Elements,
    witness_columns: NDArray[np.int64],
    predictions: Sequence[Prediction],
    places: NDArray[np.uint64],
    sharp: NDArray[np.bool_],
    distribution: Distribution,
    wanted: frozenset[int],
    *,
    double: bool,
) -> tuple[Block, ...]:
    """The blocks of one probe under given predictions, those that answer for most first.

    Args:
        element: the probe's column.
        elements: all elements of the stage.
        witness_columns: the columns of witnesses, in the order in which they are asked.
        predictions: the rows of `places`.
        places: packed places of the elements under them.
        sharp: bool[elements], which of them a sieve may ask.
        distribution: the distribution of the values.
        wanted: the packed places of the probe that are to be scanned.
        double: whether the draw is in double precision.
    """
    order = _order(element, elements, witness_columns)
    low, high = float(elements.low[element]), float(elements.high[element])
    tests = {
        lane: words_test(distribution, low, high, lane, double=double) for lane in range(2 if double else 4)
    }
    # Most blocks have one member, which agrees with itself on everything; they share what follows from that.
    everything = np.ones(places.shape[1], np.bool_)
    alone = _asked(order, sharp)
    found = []
    column = places[:, element]
    for packed in sorted(wanted.intersection(column.tolist())):
        members = np.flatnonzero(column == np.uint64(packed))
        rank, call, thread, lane = unpack(packed)
        test = tests[lane]
        if test is None:
            continue
        counter = predictions[int(members[0])].hypothesis.offset // 4 + call
        if len(members) == 1:
            sieve = alone
            groups: tuple[Group, ...] = (Group(order, members, everything, alone[:0]),)
        else:
            sieve = _asked(order, (places[members] == places[members[0]]).all(axis=0) & sharp)
            # A sieve of the whole block makes those of its groups needless.
            groups = _groups(members, predictions, places, order, sharp & (len(sieve) == 0))
        found.append(Block(element, rank, counter, thread, test, packed, groups, sieve))
    return tuple(sorted(found, key=lambda block: (-len(block.members), block.packed)))


def _order(element: int, elements: Elements, witness_columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The witnesses without the probe itself; some of its own unit come first."""
    others = witness_columns[elements.indices[witness_columns] != elements.indices[element]]
    own = others[elements.unit[others] == elements.unit[element]][:OWN_FIRST]
    return np.concatenate([own, others[~np.isin(others, own)]])


def _groups(
    members: NDArray[np.int64],
    predictions: Sequence[Prediction],
    places: NDArray[np.uint64],
    order: NDArray[np.int64],
    sharp: NDArray[np.bool_],
) -> tuple[Group, ...]:
    kinds: dict[tuple[int, str], list[int]] = {}
    for member in members.tolist():
        hypothesis = predictions[member].hypothesis
        kinds.setdefault((hypothesis.sharding.ways, hypothesis.draw.dtype), []).append(member)
    found = []
    for rows in kinds.values():
        common = (places[rows] == places[rows[0]]).all(axis=0)
        found.append(Group(order, np.array(rows, np.int64), common, _asked(order, common & sharp)))
    return tuple(found)


def _asked(order: NDArray[np.int64], fit: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first witnesses of those that fit, or none where they are too few for a sieve."""
    asked: NDArray[np.int64] = order[fit[order]][:MOST]
    return asked if len(asked) >= LEAST else asked[:0]
