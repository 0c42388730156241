"""What a search tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Status:
    """How far a search is.

    Attributes:
        stage: the stage's name.
        probe: which of the stage's passes is going on, from 1.
        probes: how many passes the stage has.
        share: the finished share of the stage's work, 0 to 1.
        seconds: since the search began.
        seconds_left: until the stage ends at the present rate; None before the first unit is finished.
        seeds_per_second: seeds through one pass.
        blocks_per_second: seeds times Philox blocks.
        hits: seeds that passed a probe's words so far, in this stage.
        candidates: seeds that convinced the witnesses so far.
    """

    stage: str
    probe: int
    probes: int
    share: float
    seconds: float
    seconds_left: float | None
    seeds_per_second: float
    blocks_per_second: float
    hits: int
    candidates: int


class Progress(Protocol):
    """Whoever wants to know; called from the searching thread a few times a second."""

    def update(self, status: Status) -> None:
        """Take note. A KeyboardInterrupt raised here ends the search as Ctrl-C does."""
        ...
