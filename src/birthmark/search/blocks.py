"""The Philox blocks that a set of probes asks for, each with the predictions that it answers for.

A probe lies in one block under every layout that agrees on it; such predictions share one scan. The second
test goes through them group by group (one sharding each); witnesses on which a group agrees come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.search.confirm import Groups
from birthmark.search.elements import Elements
from birthmark.search.places import unpack
from birthmark.search.space import Prediction
from birthmark.search.windows import probe
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
        pair: which two of its words are tested.
        windows: uint64[4], see `search.kernel`.
        share: the share of seeds that pass.
        packed: the packed place of the probe.
        groups: the predictions that place the probe here.
    """

    element: int
    rank: int
    counter: int
    thread: int
    pair: int
    windows: NDArray[np.uint64]
    share: float
    packed: int
    groups: Groups

    @property
    def members(self) -> int:
        """How many predictions this block answers for."""
        return len(self.groups.members)


def shares(candidates: Elements, distribution: Distribution, *, double: bool) -> NDArray[np.float64]:
    """The share of seeds that pass each element's test, whatever its lane; 2 where it has no test."""
    found = np.empty(len(candidates))
    for e in range(len(candidates)):
        test = probe(distribution, float(candidates.low[e]), float(candidates.high[e]), 0, double=double)
        found[e] = 2.0 if test is None else test[2]
    return found


def blocks_of(
    element: int,
    elements: Elements,
    witness_columns: NDArray[np.int64],
    predictions: Sequence[Prediction],
    places: NDArray[np.uint64],
    distribution: Distribution,
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
        distribution: the distribution of the values.
        double: whether the draw is in double precision.
    """
    order = _order(element, elements, witness_columns)
    found = []
    column = places[:, element]
    for packed in np.unique(column).tolist():
        members = np.flatnonzero(column == np.uint64(packed))
        rank, call, thread, lane = unpack(packed)
        low, high = float(elements.low[element]), float(elements.high[element])
        test = probe(distribution, low, high, lane, double=double)
        if test is None:
            continue
        pair, windows, share = test
        counter = predictions[int(members[0])].hypothesis.offset // 4 + call
        groups = _groups(members, predictions, places, order)
        found.append(Block(element, rank, counter, thread, pair, windows, share, packed, groups))
    return tuple(sorted(found, key=lambda block: (-block.members, block.packed)))


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
) -> Groups:
    kinds: dict[tuple[int, str], list[int]] = {}
    for member in members.tolist():
        hypothesis = predictions[member].hypothesis
        kinds.setdefault((hypothesis.sharding.ways, hypothesis.draw.dtype), []).append(member)
    common = np.empty((len(kinds), places.shape[1]), np.bool_)
    for group, rows in enumerate(kinds.values()):
        common[group] = (places[rows] == places[rows[0]]).all(axis=0)
    ordered = [member for rows in kinds.values() for member in rows]
    ends = np.cumsum([len(rows) for rows in kinds.values()])
    return Groups(order, np.array(ordered, np.int64), ends.astype(np.int64), common)
