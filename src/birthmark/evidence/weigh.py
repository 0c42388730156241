"""Weighing: a case goes in, a judgement with every number of a finding comes out.

`weigh` looks only at the case, so a pack that carries the case gives the same judgement without the
checkpoint.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from birthmark.evidence.arithmetic import compare_arithmetics
from birthmark.evidence.case import Case
from birthmark.evidence.decoys import TRACE, Decoys, score_decoys
from birthmark.evidence.exactness import tally
from birthmark.evidence.fit import Fit, fit, unfitted
from birthmark.evidence.judgement import Judgement as Judgement
from birthmark.evidence.layouts import compare_layouts, next_best
from birthmark.evidence.linear_mixture import weigh_merged
from birthmark.evidence.moved import score_moved
from birthmark.evidence.prediction import predict
from birthmark.evidence.remarks import remarks
from birthmark.evidence.score import LEAST, Score, score
from birthmark.evidence.verdict import LEAST_PREDICTED, Grounds, judge_grounds

#: Elements on which the share is measured that a wrong seed explains.
CHANCE_SAMPLE = 1 << 14


def weigh(case: Case) -> Judgement:
    """Judge a candidate on the values of its case; one draw of a merge beside the others of its case.

    Raises:
        UsageError: the hypothesis cannot predict these elements (a bug in the caller).
    """
    if case.beside:
        return weigh_merged(case)
    seed, dtype, everything = case.seed, case.dtype, case.everything
    chosen = fit(case.hypothesis, seed, case.selection, dtype, case.declared)
    loose = unfitted(case.hypothesis, case.scale, len(case.selection))
    predicted = predict(chosen or loose, seed, everything, dtype)
    units = tally(everything.unit, predicted.near, _chance(case, chosen or loose))
    inside = np.isin(everything.unit, units.ids[units.predicted])
    exact = chosen is not None and int(np.count_nonzero(inside)) >= LEAST_PREDICTED
    if chosen is None or not exact:
        chosen = loose
        predicted = predict(chosen, seed, everything, dtype)
    hidden = np.isin(everything.indices, case.holdout.indices, assume_unique=True)
    standard = predicted.standard
    stored = score(everything.values[~hidden], standard[~hidden], trials=case.trials)
    # A faint trace must not be governed by a few large values; a clear one needs no such care.
    faint = not exact and (stored.r is None or stored.r < TRACE)
    scored = case.levelled() if faint else case
    values = scored.everything.values
    selection = score(values[~hidden], standard[~hidden], trials=case.trials)
    holdout = score(values[hidden], standard[hidden], trials=case.holdout_trials)
    hypothesis = chosen.hypothesis
    decoys = score_decoys(
        hypothesis, seed, scored.holdout if len(case.holdout) >= LEAST else scored.selection
    )
    kept = everything.keep(inside) if exact else scored.everything
    layouts = compare_layouts(chosen, seed, kept, dtype, case.layouts, exact=exact)
    outcome, reason = judge_grounds(
        Grounds(
            selection=selection,
            holdout=holdout,
            above_background=_above(decoys, holdout if holdout.sigma is not None else selection),
            predicted_selection=int(np.count_nonzero(inside & ~hidden)) if exact else 0,
            predicted_holdout=int(np.count_nonzero(inside & hidden)) if exact else 0,
            separated=layouts.separated,
        )
    )
    following = hypothesis.standard((seed + 1) % 2**64, case.holdout.indices)
    judgement = Judgement(
        case=case,
        outcome=outcome,
        reason=reason,
        fit=chosen,
        selection=selection,
        holdout=holdout,
        exact=predicted.exactness(),
        exact_holdout=predicted.exactness(hidden),
        units=units,
        seed_plus_one=score(scored.holdout.values, following),
        decoys=decoys,
        layouts=layouts,
        next_layout=next_best(chosen, seed, scored.holdout, case.layouts),
        arithmetic=compare_arithmetics(chosen, seed, kept, dtype) if exact else None,
        notes=(),
        as_stored=score(everything.values, standard) if faint else None,
        rows_moved=score_moved(
            scored.holdout,
            scored.selection,
            case.shape,
            case.axis,
            lambda indices: hypothesis.standard(seed, indices),
        ),
    )
    return replace(judgement, notes=remarks(judgement))


def _chance(case: Case, chosen: Fit) -> float:
    """The share of elements that a wrong seed explains."""
    some = case.everything.thinned(CHANCE_SAMPLE)
    by_chance = predict(chosen, (case.seed + 1) % 2**64, some, case.dtype).near
    return float(by_chance.mean()) if by_chance.size else 0.0


def _above(decoys: Decoys, mine: Score) -> bool | None:
    """Whether the candidate scores above every decoy; sigma compares whatever the number of elements."""
    if decoys.max_sigma is None or mine.sigma is None:
        return None
    return mine.sigma > decoys.max_sigma
