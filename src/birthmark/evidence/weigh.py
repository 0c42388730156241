"""Weighing: a case goes in, a judgement with every number of a finding comes out.

`weigh` looks only at the case, so a pack that carries the case gives the same judgement without the
checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.arithmetic import ArithmeticTest, compare_arithmetics
from birthmark.evidence.case import Case
from birthmark.evidence.decoys import Decoys, score_decoys
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import Exactness, Units, compare, explained, tally
from birthmark.evidence.fit import Fit, fit, unfitted
from birthmark.evidence.layouts import LayoutTest, NextLayout, compare_layouts, next_best
from birthmark.evidence.remarks import remarks
from birthmark.evidence.score import Score, score
from birthmark.evidence.verdict import LEAST_PREDICTED, Grounds, Outcome, judge_grounds

#: Elements on which the share is measured that a wrong seed explains.
CHANCE_SAMPLE = 1 << 14


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

    @property
    def survivors(self) -> NDArray[np.int64]:
        """Ids of the units that are predicted, the partly altered ones among them."""
        return self.units.ids[self.units.predicted]

    @property
    def unexplained(self) -> NDArray[np.int64]:
        """Ids of the units that are not predicted: no survivors after all, or of another initialisation."""
        return self.units.ids[~self.units.predicted]


def weigh(case: Case) -> Judgement:
    """Judge a candidate on the values of its case.

    Raises:
        UsageError: the hypothesis cannot predict these elements (a bug in the caller).
    """
    everything = case.everything
    chosen, units = _fitted(case, everything)
    exact = bool(_predicted(units, everything.unit).sum() >= LEAST_PREDICTED)
    if not exact:
        chosen = unfitted(case.hypothesis, case.scale, len(case.selection))
    hypothesis, seed = chosen.hypothesis, case.seed
    selection = _score(case.selection, chosen, seed, case.trials)
    holdout = _score(case.holdout, chosen, seed, case.holdout_trials)
    decoys = score_decoys(hypothesis, seed, case.holdout if len(case.holdout) >= 3 else case.selection)
    kept = everything.keep(_predicted(units, everything.unit)) if exact else everything
    layouts = compare_layouts(chosen, seed, kept, case.dtype, case.layouts, exact=exact)
    outcome, reason = judge_grounds(
        Grounds(
            selection=selection,
            holdout=holdout,
            above_background=_above(decoys, holdout if holdout.sigma is not None else selection),
            predicted_selection=int(_predicted(units, case.selection.unit).sum()) if exact else 0,
            predicted_holdout=int(_predicted(units, case.holdout.unit).sum()) if exact else 0,
            separated=layouts.separated,
        )
    )
    judgement = Judgement(
        case=case,
        outcome=outcome,
        reason=reason,
        fit=chosen,
        selection=selection,
        holdout=holdout,
        exact=_exactness(everything, chosen, seed, case.dtype),
        exact_holdout=_exactness(case.holdout, chosen, seed, case.dtype),
        units=units,
        seed_plus_one=_score(case.holdout, chosen, (seed + 1) % 2**64, 1),
        decoys=decoys,
        layouts=layouts,
        next_layout=next_best(chosen, seed, case.holdout, case.layouts),
        arithmetic=compare_arithmetics(chosen, seed, kept, case.dtype) if exact else None,
        notes=(),
    )
    return replace(judgement, notes=remarks(judgement))


def _fitted(case: Case, everything: Elements) -> tuple[Fit, Units]:
    """The best fit of the selection, and how each unit fares under it."""
    chosen = fit(case.hypothesis, case.seed, case.selection, case.dtype, case.declared)
    if chosen is None:
        chosen = unfitted(case.hypothesis, case.scale, len(case.selection))
    near = _near(everything, chosen, case.seed, case.dtype)
    some = everything.thinned(CHANCE_SAMPLE)
    by_chance = _near(some, chosen, (case.seed + 1) % 2**64, case.dtype)
    chance = float(by_chance.mean()) if by_chance.size else 0.0
    return chosen, tally(everything.unit, near, chance)


def _near(elements: Elements, chosen: Fit, seed: int, dtype: str) -> NDArray[np.bool_]:
    predicted = chosen.stored(chosen.hypothesis.standard(seed, elements.indices), dtype)
    return explained(elements.values, predicted, dtype, chosen.scale.value, decayed=chosen.decayed)


def _predicted(units: Units, unit: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which elements belong to predicted units."""
    result: NDArray[np.bool_] = np.isin(unit, units.ids[units.predicted])
    return result


def _score(elements: Elements, chosen: Fit, seed: int, trials: int) -> Score:
    return score(elements.values, chosen.hypothesis.standard(seed, elements.indices), trials=trials)


def _exactness(elements: Elements, chosen: Fit, seed: int, dtype: str) -> Exactness:
    return compare(
        elements.values, chosen.stored(chosen.hypothesis.standard(seed, elements.indices), dtype), dtype
    )


def _above(decoys: Decoys, mine: Score) -> bool | None:
    """Whether the candidate scores above every decoy; sigma compares whatever the number of elements."""
    if decoys.max_sigma is None or mine.sigma is None:
        return None
    return mine.sigma > decoys.max_sigma
