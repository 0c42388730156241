"""Linear mixtures: one draw of a merge, weighed with the other draws taken away.

Values of a merge of two models are a x + b y in the rows that neither trained. Each draw gets a judgement of
its own: the other ones, at the weights that fit the selection, are subtracted, and the rest is scored against
this draw, on selection and hold-out, with decoys and neighbours as everywhere else. Whether the sum of all
gives the values to within rounding is asked of all together; without that there is a weak trace and no merge.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.case import Beside, Case
from birthmark.evidence.combination import SAME_SCALE, Combination, combine, narrowest
from birthmark.evidence.decoys import score_decoys
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import tally
from birthmark.evidence.fit import Fit
from birthmark.evidence.judgement import Judgement
from birthmark.evidence.layouts import compare_layouts, next_best
from birthmark.evidence.moved import score_moved
from birthmark.evidence.nominal import nominals
from birthmark.evidence.scale import Scale
from birthmark.evidence.score import LEAST, score
from birthmark.evidence.verdict import LEAST_PREDICTED, Grounds, judge_grounds
from birthmark.hypothesis import Draw

#: Elements on which the share is measured that a wrong seed explains.
CHANCE_SAMPLE = 1 << 14
#: What is left of a merge is no value of the stored dtype.
LEFT = "float64"


def weigh_merged(case: Case) -> Judgement:
    """Judge one draw of a merge on the values of its case, beside the case's other draws."""
    seed, everything = case.seed, case.everything
    dtype = narrowest(case.selection.values, case.dtype)
    sum_ = combine((Beside(case.hypothesis, seed), *case.beside), case.selection, dtype)
    parts = sum_.drawn(everything.indices)
    compared = sum_.compare_drawn(parts, everything.values, dtype)
    units = tally(everything.unit, compared.near, _chance(case, sum_, dtype))
    inside = np.isin(everything.unit, units.ids[units.predicted])
    # Rows on which the draws agree are given by one of them as well, and are no evidence of a sum.
    telling = inside & ~np.isin(everything.unit, _given_alone(sum_, parts, everything, dtype, units.chance))
    exact = int(np.count_nonzero(telling)) >= LEAST_PREDICTED
    hidden = np.isin(everything.indices, case.holdout.indices, assume_unique=True)
    left = replace(everything, values=everything.values - np.einsum("i,in->n", sum_.weights[1:], parts[1:]))
    selection = score(left.values[~hidden], parts[0][~hidden], trials=case.trials)
    holdout = score(left.values[hidden], parts[0][hidden], trials=case.holdout_trials)
    kept = left.keep(hidden) if len(case.holdout) >= LEAST else left.keep(~hidden)
    fit = _fit(case, sum_, int(compared.equal[~hidden].sum()))
    decoys = score_decoys(fit.hypothesis, seed, kept)
    layouts = compare_layouts(
        fit, seed, left.keep(inside) if exact else left, LEFT, case.layouts, exact=False
    )
    mine = holdout if holdout.sigma is not None else selection
    above = None
    if decoys.max_sigma is not None and mine.sigma is not None:
        above = mine.sigma > decoys.max_sigma
    outcome, reason = judge_grounds(
        Grounds(
            selection=selection,
            holdout=holdout,
            above_background=above,
            predicted_selection=int(np.count_nonzero(telling & ~hidden)) if exact else 0,
            predicted_holdout=int(np.count_nonzero(telling & hidden)) if exact else 0,
            separated=layouts.separated,
        )
    )
    judgement = Judgement(
        case=case,
        outcome=outcome,
        reason=reason,
        fit=fit,
        selection=selection,
        holdout=holdout,
        exact=compared.exactness(),
        exact_holdout=compared.exactness(hidden),
        units=units,
        seed_plus_one=score(
            left.values[hidden], fit.hypothesis.standard((seed + 1) % 2**64, everything.indices[hidden])
        ),
        decoys=decoys,
        layouts=layouts,
        next_layout=next_best(fit, seed, left.keep(hidden), case.layouts),
        arithmetic=None,
        notes=(),
        combination=sum_,
        rows_moved=score_moved(
            left.keep(hidden),
            left.keep(~hidden),
            case.shape,
            case.axis,
            lambda indices: fit.hypothesis.standard(seed, indices),
        ),
    )
    return replace(judgement, notes=_remarks(judgement, sum_))


def _given_alone(
    sum_: Combination, parts: NDArray[np.float64], everything: Elements, dtype: str, chance: float
) -> NDArray[np.int64]:
    """Units that a single one of the draws gives, at the scale of all of them together."""
    found = [np.zeros(0, np.int64)]
    for number in range(len(parts)):
        weights = np.zeros(len(parts))
        weights[number] = sum_.total
        near = replace(sum_, weights=weights).compare_drawn(parts, everything.values, dtype).near
        alone = tally(everything.unit, near, chance)
        found.append(alone.ids[alone.predicted])
    return np.unique(np.concatenate(found))


def _fit(case: Case, sum_: Combination, equal: int) -> Fit:
    """The draw at the scale that all draws of the merge had, if one scale was common to them."""
    weight, error = float(sum_.weights[0]), 2.0 * float(sum_.covariance[0, 0]) ** 0.5
    scale = Scale(weight, weight - error, weight + error, sum_.fitted, sum_.of, None, blurred=True)
    draw = replace(case.hypothesis.draw, parameters=(0.0, _common_scale(case.hypothesis.draw, sum_.total)))
    hypothesis = replace(case.hypothesis, draw=draw)
    return Fit(hypothesis, scale, None, rounded_first=False, equal=equal, of=len(case.selection))


def _common_scale(draw: Draw, total: float) -> float:
    """The sum of the weights, or the scale that people write down beside it."""
    if total <= 0.0:
        return abs(total) or 1.0
    near = nominals(total, draw)
    return next((one.value for one in near if abs(one.value / total - 1.0) <= SAME_SCALE), total)


def _chance(case: Case, sum_: Combination, dtype: str) -> float:
    """The share of elements that the sum explains with the next seed in place of the candidate's."""
    some = case.everything.thinned(CHANCE_SAMPLE)
    if not len(some):
        return 0.0
    wrong = Beside(case.hypothesis, (case.seed + 1) % 2**64)
    parts = replace(sum_, draws=(wrong, *sum_.draws[1:])).drawn(some.indices)
    return float(sum_.compare_drawn(parts, some.values, dtype).near.mean())


def given(judgement: Judgement, elements: Elements) -> NDArray[np.bool_]:
    """Which elements the merge of a judgement gives to within rounding."""
    assert judgement.combination is not None
    dtype = narrowest(judgement.case.selection.values, judgement.case.dtype)
    return judgement.combination.compare(elements, dtype).near


def _remarks(judgement: Judgement, sum_: Combination) -> tuple[str, ...]:
    """What a reader must know to take the numbers for what they are."""
    case, units = judgement.case, judgement.units
    draws = " + ".join(
        f"{weight:.6g} x (seed {one.seed}, G = {one.hypothesis.threads:,})"
        for weight, one in zip(sum_.weights.tolist(), sum_.draws, strict=True)
    )
    verdict = f"Verdict on {case.tensor}: {judgement.outcome}, because {judgement.reason}."
    if judgement.outcome == "none":
        return (verdict,)
    found = [
        verdict,
        f"The values of {case.tensor} were fitted as {draws}; {sum_.fitted:,} of {sum_.of:,} values of the "
        f"selection made the fit, with a residual of {sum_.residual:.2g}. The scores are those of each draw "
        "with the other ones subtracted.",
    ]
    if judgement.outcome in ("match", "seed-only"):
        found.append(
            "Shares of a merge suppose that all of its draws had one scale, whose sum of weights is "
            f"{sum_.total:.6g}. arithmetic, factor and vendor are null: a sum of draws does not tell them."
        )
        if sum_.rounded is not None:
            found.append(f"The draws were rounded to {sum_.rounded} before they were added.")
        if rest := int((~units.predicted).sum()):
            found.append(
                f"{rest:,} of {units.ids.size:,} {case.axis}s that were taken for survivors are not given by "
                "the sum; they are scored and counted all the same."
            )
    else:
        found.append(
            "The sum of these draws leaves more than rounding explains: a further part, or training, is in "
            "the values, so that no merge is claimed."
        )
    return tuple(found)
