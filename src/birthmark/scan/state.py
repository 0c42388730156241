"""What a scan has done so far, and what it ends with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from birthmark.checkpoints.declarations import Declarations
from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.evidence.judge import Judged, Judgements, distinct, judge
from birthmark.evidence.seed_free import SeedFree
from birthmark.evidence.solved import HostLook, SolvedReading
from birthmark.evidence.verdict import PREDICTED
from birthmark.packs.origins import AnyCase
from birthmark.reports.reading import Reading
from birthmark.search.outcome import Candidate, Outcome, Searched
from birthmark.search.progress import Progress
from birthmark.survivors.split import Holdout, Selection, split
from birthmark.survivors.survivor import Survivors


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """The end of a scan.

    Attributes:
        reading: the result.
        cases: what each finding rests on, in the order of the findings; an evidence pack carries them.
        stopped: whether it was interrupted; its ledger lets it go on.
    """

    reading: Reading
    cases: tuple[AnyCase, ...]
    stopped: bool


@dataclass(slots=True)
class State:
    """What has been done so far."""

    checkpoint: Checkpoint
    declared: Declarations
    progress: Progress | None
    parts: dict[str, tuple[Selection, Holdout]] = field(default_factory=dict)
    searches: list[tuple[str, Searched]] = field(default_factory=list)
    judgements: list[Judgements] = field(default_factory=list)
    layouts: list[tuple[Survivors, SeedFree]] = field(default_factory=list)
    confirmed: dict[str, SeedFree] = field(default_factory=dict)
    solved: list[SolvedReading] = field(default_factory=list)
    looks: list[HostLook] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stopped: bool = False

    @property
    def trials(self) -> int:
        """Predictions tried by all searches and looks so far."""
        return sum(searched.trials for _, searched in self.searches) + sum(look.trials for look in self.looks)

    @property
    def findings(self) -> list[Judged]:
        """What is to be reported so far."""
        return [found for group in distinct(self.judgements) for found in group.findings]

    @property
    def settled(self) -> bool:
        """Whether survivors are predicted, so that no further seed needs to be tried."""
        return self.predicted is not None or bool(self.solved)

    @property
    def predicted(self) -> Judged | None:
        """The first finding whose seed and layout predict survivors."""
        return next((each for each in self.findings if each.judgement.outcome in PREDICTED), None)

    def split(self, target: Survivors) -> tuple[Selection, Holdout]:
        """Selection and hold-out of a tensor, made once."""
        if target.tensor not in self.parts:
            self.parts[target.tensor] = split(self.checkpoint, target)
        return self.parts[target.tensor]

    def judge(self, target: Survivors, selection: Selection, holdout: Holdout, outcome: Outcome) -> None:
        """Hold the candidates of a search against the checkpoint."""
        if not outcome.candidates:
            return
        judgements = judge(
            self.checkpoint,
            target,
            selection,
            holdout,
            outcome.candidates,
            trials=self.trials,
            layouts=_compared(outcome.candidates),
            declared=self.declared.scale,
        )
        self.judgements.append(judgements)


def _compared(candidates: Sequence[Candidate]) -> tuple[int, ...]:
    """The G's that a candidate is held against: the table's, and those that the search left open."""
    left = {threads for candidate in candidates for threads in candidate.not_excluded}
    return tuple(sorted(left.union(table_threads())))
