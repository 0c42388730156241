"""The stages of a plan, in order, each built when its turn comes: the first must not wait for the last.

1. dictionary: the seeds that people use, with the layouts of the device table; then ("wide dictionary") with
   every layout of 16 to 512 SMs.
2. layout-free: every seed, where some element lies below every layout of the table. One scan then answers for
   every layout from some G up; which one it is follows from the other elements.
3. table: every seed, for the layouts of the table that stage 2 did not cover.
4. exhaustive, if asked for: every seed, for the layouts of 16 to 512 SMs that no stage before covered.

Values that look normal may have been drawn as truncated normals, and each such family has stages of its own.
The dictionary is tried with all families, which takes seconds, before every seed is tried with any. Then the
plain normal goes first, unless the values end where a cut-off does (see `search.families`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import BLOCK
from birthmark.search.blocks import Block, blocks_of, shares
from birthmark.search.confirm import decisive, kind_of, prepare
from birthmark.search.coverage import Coverage, Scan, identity
from birthmark.search.elements import Elements
from birthmark.search.miss import COVERED, MOST, MOST_DICTIONARY, MOST_WIDE, chance_of_miss
from birthmark.search.places import locate, unpack
from birthmark.search.plan import Plan, by_promise, hidden_plans
from birthmark.search.probes import choose, probed_units
from birthmark.search.seeds import Seeds, consecutive
from birthmark.search.sieve import sieve_of
from birthmark.search.space import Prediction
from birthmark.search.stage import ENDLESS, Stage, StageName, passes_of


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """Predictions (rows), the plan's elements (columns, probe candidates first), and their packed places."""

    plan: Plan
    predictions: tuple[Prediction, ...]
    packed: NDArray[np.uint64]

    @property
    def candidates(self) -> Elements:
        return self.plan.elements.take(np.arange(self.plan.candidates))

    @property
    def witnesses(self) -> NDArray[np.int64]:
        return np.arange(self.plan.candidates, len(self.plan.elements))

    def rows(self) -> list[int]:
        return list(range(len(self.predictions)))

    def by_sharding(self, rows: Sequence[int]) -> list[list[int]]:
        """Rows with the same sharding and draw, in the order of the predictions."""
        found: dict[tuple[int, str], list[int]] = {}
        for row in rows:
            found.setdefault(identity(self.predictions[row])[:2], []).append(row)
        return list(found.values())

    def agreed(self, rows: Sequence[int]) -> NDArray[np.bool_]:
        """The elements that all these rows place alike."""
        same: NDArray[np.bool_] = (self.packed[rows] == self.packed[rows[0]]).all(axis=0)
        return same

    def decided(self, rows: Sequence[int]) -> NDArray[np.int64] | None:
        """The witnesses that all these rows place alike, if they alone can decide about a seed."""
        columns = self.witnesses[self.agreed(rows)[self.witnesses]]
        plan = self.plan
        elements = plan.elements.take(columns)
        kind = kind_of(plan.family.source, double=plan.double)
        return columns if decisive(prepare(elements, kind)) else None

    def serving(self, row: int, done: Coverage) -> frozenset[int]:
        """The probes that earlier stages scanned for a prediction."""
        places = {element: int(self.packed[row, element]) for element in done.elements}
        return done.serving(self.predictions[row], places)

    def miss(self, row: int, done: Coverage) -> float:
        """The chance that earlier stages missed a true seed of a prediction."""
        return chance_of_miss(probed_units(self.candidates, sorted(self.serving(row, done))))


def all_stages(plan: Plan) -> Iterator[Stage]:
    """The stages of a plan and its hidden families: the dictionary with each before every seed with any."""
    yield from _dictionary_stages(plan)
    hidden = hidden_plans(plan)
    for each in hidden:
        yield from _dictionary_stages(each)
    for each in by_promise(plan, hidden):
        yield from _range_stages(each)


def stages(plan: Plan) -> Iterator[Stage]:
    """The stages of one plan alone, one at a time."""
    yield from _dictionary_stages(plan)
    yield from _range_stages(plan)


def _dictionary_stages(plan: Plan) -> Iterator[Stage]:
    seeds = plan.dictionary
    if not seeds.size:
        return
    table = _space(plan, plan.table)
    yield _stage("dictionary", table, seeds, table.rows(), MOST_DICTIONARY, Coverage())
    wide = _wide(plan) if plan.family.scale is None else None
    if wide is not None:
        yield _stage("wide dictionary", wide, seeds, wide.rows(), MOST_WIDE, Coverage())


def _range_stages(plan: Plan) -> Iterator[Stage]:
    every = consecutive(*plan.options.seeds)
    if not every.size:
        return
    table = _space(plan, plan.table)
    done = Coverage()
    if free := _layout_free(table, every, done):
        yield free
    left = [row for row in table.rows() if table.miss(row, done) > COVERED]
    if left:
        yield _stage("table", table, every, left, MOST, done)
    wide = _wide(plan) if plan.options.exhaustive else None
    left = [row for row in wide.rows() if wide.miss(row, done) > COVERED] if wide else []
    if wide and left:
        yield _stage("exhaustive", wide, every, left, MOST, done)


def _space(plan: Plan, predictions: tuple[Prediction, ...]) -> _Space:
    return _Space(plan, predictions, locate(predictions, plan.elements.indices))


def _wide(plan: Plan) -> _Space | None:
    """The predictions of all layouts that no layout of the table makes."""
    if plan.options.layouts is not None:
        return None
    known = {
        (*identity(prediction)[:2], threads) for prediction in plan.table for threads in prediction.threads
    }
    fresh = tuple(
        prediction
        for prediction in plan.predictions(plan.layouts(wide=True))
        if known.isdisjoint((*identity(prediction)[:2], threads) for threads in prediction.threads)
    )
    return _space(plan, fresh) if fresh else None


def _layout_free(table: _Space, seeds: Seeds, done: Coverage) -> Stage | None:
    """The stage of probes that every layout places alike, or None where there are none."""
    endless = _space(
        table.plan,
        tuple(
            Prediction(replace(table.predictions[rows[0]].hypothesis, threads=ENDLESS), (ENDLESS,))
            for rows in table.by_sharding(table.rows())
        ),
    )
    both = _Space(
        table.plan,
        table.predictions + endless.predictions,
        np.concatenate([table.packed, endless.packed]),
    )
    share = _shares(table.plan)
    groups = [
        rows
        for rows in both.by_sharding(both.rows())
        if (both.agreed(rows)[: table.plan.candidates] & (share <= 1.0)).any()
    ]
    rows = [row for group in groups for row in group]
    return _stage("layout-free", both, seeds, rows, MOST, done) if rows else None


def _shares(plan: Plan) -> NDArray[np.float64]:
    candidates = plan.elements.take(np.arange(plan.candidates))
    return shares(candidates, plan.family.source, double=plan.double)


def _stage(
    name: StageName, space: _Space, seeds: Seeds, rows: Sequence[int], most_miss: float, done: Coverage
) -> Stage:
    """A stage that serves the predictions in `rows`, each sharding with the probes that cost least.

    What it scans is noted in `done`, and what `done` has already is not scanned again.
    """
    plan = space.plan
    groups = space.by_sharding(rows)
    wanted, misses = _probes(name, space, groups, most_miss, done)
    probes = list(wanted)
    columns = np.concatenate([np.array(probes, np.int64), space.witnesses])
    elements = plan.elements.take(columns)
    predictions = tuple(space.predictions[row] for row in rows)
    places = np.ascontiguousarray(space.packed[np.ix_(np.array(rows, np.int64), columns)])
    at_least = _at_least(space, groups, probes) if name == "layout-free" else None
    sieve = sieve_of(elements, plan.family.source, double=plan.double)
    blocks: list[tuple[Block, ...]] = []
    scans: list[Scan] = []
    for probe in sorted(range(len(probes)), key=lambda probe: -elements.probability[probe]):
        found = blocks_of(
            probe,
            elements,
            np.arange(len(probes), len(columns)),
            predictions,
            places,
            sieve.sharp,
            plan.family.source,
            frozenset(wanted[probes[probe]]),
            double=plan.double,
        )
        fresh = tuple(
            block
            for block in found
            if any(probes[probe] not in space.serving(rows[member], done) for member in block.members)
        )
        blocks.append(fresh)
        scans.extend(_scan(block, probes[probe], predictions, at_least) for block in fresh)
    done.add(scans)
    return Stage(
        name,
        plan,
        seeds,
        predictions,
        places,
        prepare(elements, kind_of(plan.family.source, double=plan.double)),
        sieve,
        passes_of(blocks, len(predictions), seeds.size, plan.options.unit),
        len(probes),
        tuple(misses[row] for row in rows),
        at_least,
    )


def _probes(
    name: StageName, space: _Space, groups: Sequence[list[int]], most_miss: float, done: Coverage
) -> tuple[dict[int, set[int]], dict[int, float]]:
    """The probes of a stage, each with the places to scan, and each prediction's chance of a miss."""
    plan, candidates, share = space.plan, space.candidates, _shares(space.plan)
    wanted: dict[int, set[int]] = {}
    misses: dict[int, float] = {}
    for rows in groups:
        allowed = share <= 1.0
        if name == "layout-free":
            allowed &= space.agreed(rows)[: plan.candidates]
        choice = choose(
            candidates,
            share,
            space.packed[rows, : plan.candidates],
            allowed,
            most_miss=most_miss,
            chosen=sorted(frozenset.intersection(*(space.serving(row, done) for row in rows))),
            paid=wanted,
            undecided=space.decided(rows) is None,
            count=plan.options.probes,
        )
        misses.update(dict.fromkeys(rows, choice.miss))
        for element in choice.fresh:
            wanted.setdefault(element, set()).update(space.packed[rows, element].tolist())
    return wanted, misses


def _at_least(space: _Space, groups: Sequence[list[int]], probes: Sequence[int]) -> int | None:
    """The smallest G from which up layouts place the probes and enough witnesses alike; None if none do."""
    farthest = 0
    for rows in groups:
        decided = space.decided(rows)
        if decided is None:
            return None
        mine = [probe for probe in probes if space.agreed(rows)[probe]]
        for element in (*mine, *decided.tolist()):
            farthest = max(farthest, unpack(int(space.packed[rows[0], element]))[2])
    return (farthest // BLOCK + 1) * BLOCK


def _scan(block: Block, element: int, predictions: Sequence[Prediction], at_least: int | None) -> Scan:
    served = frozenset(identity(predictions[member]) for member in block.members)
    return Scan(element, block.packed, served, at_least)
