"""What these searches come back with: their candidates, and exactly what was searched."""

from __future__ import annotations

from dataclasses import dataclass

from birthmark.search.cpu_positions.judge import PositionCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How far a search went.

    Attributes:
        passes: finished passes through all that was to be tried, and planned ones. Each rests on other
            values.
        units: finished work units, and all.
        conditions: known parities of bits of words.
        values: values that these rest on.
        trials: predictions that were planned, seeds times positions. Scores are after so many.
        tested: predictions that passed all tests of a pass and were held against all conditions.
        complete: whether every planned unit is finished.
        miss_chance: the chance that a true seed and position, among those tried, was missed; 1 where no pass
            is finished.
        seconds: how long it took, earlier sittings not included.
        per_second: predictions tried a second in this sitting, over all passes.
    """

    passes: tuple[int, int]
    units: tuple[int, int]
    conditions: int
    values: int
    trials: int
    tested: int
    complete: bool
    miss_chance: float
    seconds: float
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsSearched(Searched):
    """What a search of many seeds at few positions went through.

    Attributes:
        seeds: the range: first, and one past the last.
        positions: the stream positions, in the order in which they were tried.
    """

    seeds: tuple[int, int]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsSearched(Searched):
    """What a search of few seeds at many positions went through.

    Attributes:
        seeds: the seeds, in the order in which they were tried.
        positions: the range: first, and one past the last.
    """

    seeds: tuple[int, ...]
    positions: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NearSearched(Searched):
    """What a search of many seeds at all positions near the start went through.

    Attributes:
        seeds: the range: first, and one past the last.
        positions: the range: first, and one past the last.
    """

    seeds: tuple[int, int]
    positions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PositionsOutcome:
    """The end of `search_positions`.

    Attributes:
        candidates: those that stand out after all trials, best first.
        searched: what was searched.
        stopped: whether it was interrupted; its ledger lets it go on.
    """

    candidates: tuple[PositionCandidate, ...]
    searched: PositionsSearched
    stopped: bool


@dataclass(frozen=True, slots=True)
class StreamsOutcome:
    """The end of `search_streams`; attributes as in `PositionsOutcome`."""

    candidates: tuple[PositionCandidate, ...]
    searched: StreamsSearched
    stopped: bool


@dataclass(frozen=True, slots=True)
class NearOutcome:
    """The end of `search_near`; attributes as in `PositionsOutcome`."""

    candidates: tuple[PositionCandidate, ...]
    searched: NearSearched
    stopped: bool
