"""Remarks on a judgement: what a reader must know to take its numbers for what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from birthmark.evidence.exactness import PREDICTED_SHARE
from birthmark.evidence.score import fisher
from birthmark.evidence.significance import SIGNIFICANT

if TYPE_CHECKING:
    from birthmark.evidence.weigh import Judgement

#: A background that is this far from a standard normal says that the values have a structure of their own.
UNUSUAL_MEAN = 0.2
UNUSUAL_STD = 0.1


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """What goes into a reading's notes about one finding."""
    found = [*_scores(judgement), *_background(judgement)]
    if judgement.outcome in ("match", "seed-only"):
        found += [*_scale(judgement), *_draw(judgement), *_arithmetic(judgement), *_units(judgement)]
    if judgement.outcome == "weak-trace":
        found += _trace(judgement)
    return (*found, *_layout(judgement))


def _scores(judgement: Judgement) -> list[str]:
    found = [f"Verdict on {judgement.case.tensor}: {judgement.outcome}, because {judgement.reason}."]
    for name, one in (("selection", judgement.selection), ("hold-out", judgement.holdout)):
        if one.reason is not None:
            found.append(f"No score on the {name}: {one.reason}.")
    return found


def _trace(judgement: Judgement) -> list[str]:
    found = [
        "The scale is the stored values' own; the scale and the dtype of the draw cannot be read off values "
        "that were changed afterwards."
    ]
    stored, holdout = judgement.as_stored, judgement.holdout
    if stored is not None and stored.r is not None:
        found.append(
            "Scores of a faint trace are taken on levelled values: columns with mean 0, rows and columns of "
            f"one size, outliers brought in. As stored the {stored.n:,} values correlate at {stored.r:.4f} "
            "with the draw."
        )
    if holdout.r is not None and (ends := fisher(holdout.r, holdout.n)) is not None:
        found.append(
            f"On the hold-out the correlation is {holdout.r:.4f}, with a 95 % interval from {ends[0]:.4f} to "
            f"{ends[1]:.4f}."
        )
    return found


def _background(judgement: Judgement) -> list[str]:
    decoys = judgement.decoys
    if decoys.mean is None or decoys.std is None:
        return ["No decoys were scored: the values do not vary, or there are too few."]
    if abs(decoys.mean) > UNUSUAL_MEAN or abs(decoys.std - 1.0) > UNUSUAL_STD:
        return [
            f"The measured background is not a standard normal (mean {decoys.mean:.2f}, std {decoys.std:.2f} "
            f"over {decoys.count:,} decoys); take sigma with care."
        ]
    return []


def _scale(judgement: Judgement) -> list[str]:
    scale, factor = judgement.fit.scale, judgement.fit.factor
    if scale.nominal is not None:
        plain = scale.nominal.formula == f"{scale.value:g}"
        name = "a short decimal" if plain else scale.nominal.formula
        return [
            f"Scale {scale.value:.8g}, {name}: {scale.covered:,} of {scale.of:,} values of the selection fit "
            "it."
        ]
    text = (
        f"Scale {scale.value:.8g} is the middle of the interval {scale.low:.8g} to {scale.high:.8g} that "
        f"{scale.covered:,} of {scale.of:,} values share; no scale that people write down lies in it"
    )
    if factor is None:
        return [f"{text}, and no usual one explains it, so the factor stays unknown."]
    sure = "the values were rounded at that scale first" if judgement.fit.rounded_first else "an assumption"
    return [f"{text}. Drawn with {scale.value / factor:.6g} ({sure}), they were scaled by {factor:.8g}."]


def _draw(judgement: Judgement) -> list[str]:
    fit, draw = judgement.fit, judgement.fit.hypothesis.draw
    found = []
    if fit.same_dtypes:
        found.append(
            f"A draw in {draw.dtype} and one in {' or '.join(fit.same_dtypes)} give the same stored "
            "values here: the dtype at draw time cannot be told."
        )
    if fit.same_versions:
        found.append(
            f"Truncated draws of the versions {', '.join((draw.version, *fit.same_versions))} give the same "
            "stored values here."
        )
    return found


def _arithmetic(judgement: Judgement) -> list[str]:
    test, exact = judgement.arithmetic, judgement.exact
    found = []
    if test is not None and len(test.not_excluded) > 1:
        found.append(
            f"The values were compared with the arithmetic {test.not_excluded[0]}; they do not exclude "
            f"{' and '.join(test.not_excluded[1:])}."
        )
    survivors = int(judgement.units.explained[judgement.units.predicted].sum())
    if judgement.case.dtype in ("float32", "float64") and exact.equal < survivors:
        if judgement.fit.decayed:
            found.append(
                "The common factor was applied in rounded steps, so float32 values cannot equal a single "
                "product; the counts within a few units in the last place carry the comparison."
            )
        else:
            found.append(
                f"{survivors - exact.equal:,} values of survivors differ from their prediction by no more "
                "than a few millionths of sigma: that is another arithmetic in the last bits, not training."
            )
    return found


def _units(judgement: Judgement) -> list[str]:
    units = judgement.units
    found = []
    if altered := int(units.altered.sum()):
        found.append(
            f"{altered:,} of the {int(units.predicted.sum()):,} predicted {judgement.case.axis}s scored here "
            f"have {units.altered_elements:,} elements that were changed afterwards."
        )
    if rest := int((~units.predicted).sum()):
        found.append(
            f"{rest:,} of {units.ids.size:,} {judgement.case.axis}s that were taken for survivors are not "
            f"predicted by this draw (fewer than {PREDICTED_SHARE:.0%} of their elements); they are scored "
            "and counted all the same."
        )
    return found


def _layout(judgement: Judgement) -> list[str]:
    layouts = judgement.layouts
    if layouts is None or layouts.separated or judgement.outcome == "none":
        return []
    many = len(layouts.not_excluded)
    text = f"The survivors cannot separate the layouts: {many} of those compared would give the same values"
    if layouts.at_least is not None and judgement.outcome == "seed-only":
        text += f", and so would any launch of at least {layouts.at_least:,} threads"
    return [f"{text}."]


def threshold_note() -> str:
    """What a reading calls significant."""
    return (
        f"Significant means a probability below 10^{SIGNIFICANT:g} after all trials, on the selection and on "
        "the hold-out."
    )
