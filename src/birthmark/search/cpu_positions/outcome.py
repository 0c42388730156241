"""What a search at stream positions comes back with: its candidates, and exactly what was searched."""

from __future__ import annotations

from dataclasses import dataclass

from birthmark.search.cpu_positions.judge import PositionCandidate


@dataclass(frozen=True, slots=True)
class PositionsSearched:
    """What was searched.

    Attributes:
        seeds: the range: first, and one past the last.
        positions: the stream positions, in the order in which they were tried.
        passes: finished passes through all seeds and positions, and planned ones. Each rests on other values.
        units: finished work units, and all.
        conditions: known parities of bits of words.
        values: values that these rest on.
        trials: predictions that were planned: seeds times positions. Scores are after so many.
        tested: seeds that passed all tests of a pass and were held against all conditions.
        complete: whether every planned unit is finished.
        miss_chance: the chance that a true seed, within the range and at one of the positions, was missed; 1
            where no pass is finished.
        seconds: how long it took, earlier sittings not included.
        seeds_per_second: seeds times positions times passes of this sitting, over its seconds.
    """

    seeds: tuple[int, int]
    positions: tuple[int, ...]
    passes: tuple[int, int]
    units: tuple[int, int]
    conditions: int
    values: int
    trials: int
    tested: int
    complete: bool
    miss_chance: float
    seconds: float
    seeds_per_second: float


@dataclass(frozen=True, slots=True)
class PositionsOutcome:
    """The end of a search.

    Attributes:
        candidates: those that stand out after all trials, best first.
        searched: what was searched.
        stopped: whether it was interrupted; its ledger lets it go on.
    """

    candidates: tuple[PositionCandidate, ...]
    searched: PositionsSearched
    stopped: bool
