"""Weighing an origin: a case goes in, a judgement with every number of a finding comes out.

The counterpart of `weigh` for draws without a launch layout. It looks only at the case, so a pack that
carries the case gives the same judgement without the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.decoys import Decoys
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import Exactness, Units, tally
from birthmark.evidence.moved import score_moved
from birthmark.evidence.origin_prediction import OriginPrediction, predict, score_decoys
from birthmark.evidence.score import Score, score
from birthmark.evidence.verdict import Grounds, judge_grounds
from birthmark.search.origin import Found, Origin
from birthmark.survivors.survivor import Axis

#: Elements on which the share is measured that a wrong seed explains.
CHANCE_SAMPLE = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class OriginCase:
    """One candidate and the values it is held against.

    Attributes:
        found: the candidate, and how it was come by.
        shape: the tensor's extents.
        dtype: its stored dtype.
        axis: what units count.
        selection: what the search saw.
        holdout: what it did not see, and shares no random words with.
    """

    found: Found
    shape: tuple[int, ...]
    dtype: str
    axis: Axis
    selection: Elements
    holdout: Elements

    @property
    def tensor(self) -> str:
        """The tensor's name."""
        return self.found.tensor

    @property
    def everything(self) -> Elements:
        """Selection and hold-out together, in ascending order."""
        return self.selection.with_(self.holdout)


@dataclass(frozen=True, slots=True, eq=False)
class OriginJudgement:
    """What a candidate is worth.

    Attributes:
        case: what it was judged on.
        outcome: "match": survivors, held-out ones among them, are predicted; "none": they are not.
        reason: why, in words.
        selection, holdout: the scores.
        exact: bit-exact counts on both together.
        exact_holdout: the same on the hold-out alone.
        units: how each unit of both fares.
        holdout_units: the same of the hold-out alone.
        chance: the share of elements that the next seed explains.
        arithmetics: those that predict as many values as the best; more than one where they agree.
        seed_plus_one: the next seed's score on the hold-out.
        place_plus_one: the score there one word later; None where the generator has no places.
        rows_moved: the score there with each unit's values held against the next unit's prediction; None for
            fewer than two units.
        decoys: the measured background.
    """

    case: OriginCase
    outcome: Literal["match", "none"]
    reason: str
    selection: Score
    holdout: Score
    exact: Exactness
    exact_holdout: Exactness
    units: Units
    holdout_units: Units
    chance: float
    arithmetics: tuple[str, ...]
    seed_plus_one: Score
    place_plus_one: Score | None
    decoys: Decoys
    rows_moved: Score | None = None

    @property
    def origin(self) -> Origin:
        """What is claimed."""
        return self.case.found.origin


def weigh_origin(case: OriginCase) -> OriginJudgement:
    """Judge a candidate on the values of its case."""
    found, origin, seen, hidden = case.found, case.found.origin, case.selection, case.holdout
    false, later = origin.next_seed(), origin.next_place()
    sample = seen.thinned(CHANCE_SAMPLE)
    chance = float(predict(false, sample).near.mean()) if len(sample) else 0.0
    on_seen, on_hidden = predict(origin, seen), predict(origin, hidden)
    scores = (
        score(seen.values, on_seen.standard, trials=found.trials),
        score(hidden.values, on_hidden.standard, trials=found.holdout_trials),
    )
    hidden_units = tally(hidden.unit, on_hidden.near, chance)
    seen_units = tally(seen.unit, on_seen.near, chance)
    decoys = score_decoys(origin, hidden)
    above = None
    if decoys.max_sigma is not None and decoys.candidate_sigma is not None:
        above = decoys.candidate_sigma > decoys.max_sigma
    outcome, reason = judge_grounds(
        Grounds(
            *scores,
            above,
            int(seen_units.elements[seen_units.predicted].sum()),
            int(hidden_units.elements[hidden_units.predicted].sum()),
            None,
        )
    )
    if outcome == "match" and len(hidden) == 0:
        outcome, reason = "none", "no value remains that the solution has not seen"
    return OriginJudgement(
        case=case,
        outcome="match" if outcome == "match" else "none",
        reason=reason,
        selection=scores[0],
        holdout=scores[1],
        exact=_together(on_seen, on_hidden),
        exact_holdout=on_hidden.exactness,
        units=tally(*_both(seen, hidden, on_seen.near, on_hidden.near), chance),
        holdout_units=hidden_units,
        chance=chance,
        arithmetics=_arithmetics(origin, seen.with_(hidden)),
        seed_plus_one=score(hidden.values, false.standard(hidden.indices)),
        place_plus_one=None if later is None else score(hidden.values, later.standard(hidden.indices)),
        decoys=decoys,
        rows_moved=score_moved(hidden, seen, case.shape, case.axis, origin.standard),
    )


def _arithmetics(origin: Origin, everything: Elements) -> tuple[str, ...]:
    """The arithmetics that predict as many stored bits as the best, the candidate's own first."""
    if origin.arithmetic is None:
        return ()
    others = origin.others()
    equal = [int(predict(each, everything).equal.sum()) for each in (origin, *others)]
    names = [each.arithmetic for each in (origin, *others)]
    return tuple(
        name for name, count in zip(names, equal, strict=True) if name is not None and count == max(equal)
    )


def _both(
    seen: Elements, hidden: Elements, near: NDArray[np.bool_], near_hidden: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    return np.concatenate([seen.unit, hidden.unit]), np.concatenate([near, near_hidden])


def _together(first: OriginPrediction, second: OriginPrediction) -> Exactness:
    one, other = first.exactness, second.exactness
    within = {k: one.within_ulp[k] + other.within_ulp[k] for k in one.within_ulp}
    return Exactness(one.equal + other.equal, one.of + other.of, within)
