"""The verdict: which of the named outcomes the evidence amounts to, and why.

A match needs two things that do not replace each other. The score must be significant after all trials on the
selection and again on the hold-out; and whole units must be predicted to within rounding. Significance
without exactness is a weak trace: another sampler, or training, stands between the draw and the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

from birthmark.evidence.score import Score
from birthmark.evidence.significance import SIGNIFICANT, SIGNIFICANT_ALONE

Verdict = Literal["match", "weak-trace", "mixture", "layout-only", "seed-only", "none", "not-searched"]
#: What one finding can amount to by itself.
Outcome = Literal["match", "seed-only", "weak-trace", "none"]

#: Outcomes whose units are predicted.
PREDICTED: Final = frozenset({"match", "seed-only"})
#: Predicted elements that a match needs; fewer could be chance in a coarse dtype.
LEAST_PREDICTED = 32


@dataclass(frozen=True, slots=True)
class Grounds:
    """What the verdict on one candidate is reached from.

    Attributes:
        selection, holdout: the scores.
        above_background: whether the candidate scores above every decoy; None where none were scored.
        predicted_selection, predicted_holdout: elements of predicted units on either side.
        separated: whether the survivors single out one layout; None where the generator has none.
    """

    selection: Score
    holdout: Score
    above_background: bool | None
    predicted_selection: int
    predicted_holdout: int
    separated: bool | None


def judge_grounds(grounds: Grounds) -> tuple[Outcome, str]:
    """The outcome for one candidate, with the reason in words."""
    significant, why = _significant(grounds)
    if not significant:
        return "none", why
    held_out = grounds.holdout.n > 0
    predicted = grounds.predicted_selection + grounds.predicted_holdout
    if predicted < LEAST_PREDICTED or (held_out and grounds.predicted_holdout == 0):
        return (
            "weak-trace",
            "the correlation is significant, but the residuals are larger than rounding explains: "
            "the values were changed after the draw, or another sampler drew them",
        )
    if grounds.separated is False:
        return "seed-only", "the seed predicts the survivors, but under more than one layout"
    return "match", "the survivors are predicted to within rounding, on the selection and on the hold-out"


def _significant(grounds: Grounds) -> tuple[bool, str]:
    if grounds.above_background is False:
        return False, "a decoy scores at least as high as the candidate"
    if grounds.holdout.log10_p_global is None:
        reason = grounds.holdout.reason or "no score"
        if grounds.selection.rarer_than(SIGNIFICANT_ALONE):
            return True, "the selection alone is significant"
        return (
            False,
            f"the hold-out gives no score ({reason}), and the selection alone is not significant enough",
        )
    if not grounds.selection.rarer_than(SIGNIFICANT):
        return False, "the score on the selection is not rare enough after all trials"
    if not grounds.holdout.rarer_than(SIGNIFICANT):
        return False, "the hold-out does not confirm the selection"
    return True, "significant on the selection and on the hold-out"


@dataclass(frozen=True, slots=True)
class Claim:
    """One finding as the overall verdict sees it.

    Attributes:
        outcome: its own outcome, or "layout-only" for one made without a seed.
        tensor: the tensor it is about.
        origin: what must be equal for two findings to be of one initialisation: generator, seed of shard 0,
            G, offset rule.
    """

    outcome: Outcome | Literal["layout-only"]
    tensor: str
    origin: tuple[object, ...]


def overall(claims: Sequence[Claim]) -> Verdict:
    """The verdict of a reading from its findings; "none" where there are none.

    Two matches in one tensor with different origins are a mixture: rows of two initialisations side by side.
    Where one of the two leaves its layout open, only different seeds make them one.
    """
    predicted = [claim for claim in claims if claim.outcome in ("match", "seed-only")]
    for claim, other in combinations(predicted, 2):
        both_match = claim.outcome == other.outcome == "match"
        same = claim.origin == other.origin if both_match else claim.origin[:2] == other.origin[:2]
        if claim.tensor == other.tensor and not same:
            return "mixture"
    order: tuple[Verdict, ...] = ("match", "seed-only", "layout-only", "weak-trace")
    outcomes = {claim.outcome for claim in claims}
    return next((verdict for verdict in order if verdict in outcomes), "none")
