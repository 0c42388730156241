"""What a candidate is worth: every number of a finding, with the values that it was judged on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.arithmetic import ArithmeticTest
from birthmark.evidence.case import Case
from birthmark.evidence.combination import Combination
from birthmark.evidence.decoys import Decoys
from birthmark.evidence.exactness import Exactness, Units
from birthmark.evidence.fit import Fit
from birthmark.evidence.layouts import LayoutTest, NextLayout
from birthmark.evidence.score import Score
from birthmark.evidence.verdict import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a candidate is worth.

    Attributes:
        case: what it was judged on.
        outcome: "match", "seed-only", "weak-trace" or "none".
        reason: why, in words.
        fit: the arithmetic, draw and scale that the numbers below use.
        selection, holdout: scores on what the search saw and on what it did not.
        exact: bit-exact counts on both together.
        exact_holdout: the same on the hold-out alone.
        units: how each unit of both fares.
        seed_plus_one: the next seed's score on the hold-out.
        decoys: the measured background.
        layouts: which layouts remain; None where the generator has none.
        next_layout: the next-best other layout; None where all predict the same.
        arithmetic: which arithmetics remain; None where the generator has only one or nothing is predicted.
        notes: remarks on the numbers, one sentence or two each.
        as_stored: for a faint trace, whose scores are those of levelled values: the score of all values as
            they are stored; None elsewhere.
        rows_moved: the score of the hold-out with each unit's values held against the next unit's prediction;
            None where there are fewer than two units.
        combination: for one draw of a merge: how the draws add up, this one first; None elsewhere.
    """

    case: Case
    outcome: Outcome
    reason: str
    fit: Fit
    selection: Score
    holdout: Score
    exact: Exactness
    exact_holdout: Exactness
    units: Units
    seed_plus_one: Score
    decoys: Decoys
    layouts: LayoutTest | None
    next_layout: NextLayout | None
    arithmetic: ArithmeticTest | None
    notes: tuple[str, ...]
    as_stored: Score | None = None
    rows_moved: Score | None = None
    combination: Combination | None = None

    @property
    def survivors(self) -> NDArray[np.int64]:
        """Ids of the units that are predicted, the partly altered ones among them."""
        return self.units.ids[self.units.predicted]

    @property
    def unexplained(self) -> NDArray[np.int64]:
        """Ids of the units that are not predicted: no survivors after all, or of another initialisation."""
        return self.units.ids[~self.units.predicted]
