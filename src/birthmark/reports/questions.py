"""What a critic would ask of a finding, each question with its answer or the reason why it was not asked.

Everything follows from the findings and the mixtures, so an evidence pack's answers can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.evidence.verdict import PREDICTED
from birthmark.reports import wording
from birthmark.reports.models import MixtureModel, ScoreModel
from birthmark.reports.reading import Finding, QuestionModel

#: A control that scores beyond this many sigma is no chance any more: about one in two million does.
UNUSUAL = 5.0
NOTHING = QuestionModel(
    topic="Controls",
    question="What do the controls say?",
    asked=False,
    answer="Nothing was found that a control could be held against; what was tried stands under the search.",
)


def questions(findings: Sequence[Finding], mixtures: Sequence[MixtureModel]) -> list[QuestionModel]:
    """The questions about the first finding and about all of them together.

    Args:
        findings: as the reading has them.
        mixtures: what came together in a tensor.
    """
    if not findings:
        return [NOTHING]
    first = findings[0]
    return [
        _chance(first),
        _alike(first),
        _layout(first, findings),
        _vendor(first),
        _origins(first, mixtures),
        _processes(first, findings),
        _without_seed(first),
        _trained(first),
    ]


def _ask(topic: str, question: str, answer: str | None, why_not: str = "") -> QuestionModel:
    if answer is None:
        return QuestionModel(topic=topic, question=question, asked=False, answer=f"Not asked: {why_not}.")
    return QuestionModel(topic=topic, question=question, asked=True, answer=answer)


def _chance(one: Finding) -> QuestionModel:
    decoys = one.controls.decoys
    tries = f"{one.trials:,} trials"
    answer = f"p = {wording.power_of_ten(one.selection.log10_p_global)} after {tries}"
    if one.holdout.r is not None:
        held = wording.power_of_ten(one.holdout.log10_p_global)
        answer += f", and {held} on values that had no part in them"
    answer += "."
    if decoys.max_sigma is not None and decoys.candidate_sigma is not None:
        best, mine = decoys.max_sigma, decoys.candidate_sigma
        if one.method == "seed-free":
            answer += (
                f" Of {decoys.count:,} other layouts the best reaches R = {best:.1f}, this one {mine:.1f}."
            )
        else:
            answer += (
                f" Of {decoys.count:,} false seeds the best reaches {best:.1f} sigma, this one {mine:.1f}."
            )
    return _ask("Chance", "Could it be chance?", answer)


def _alike(one: Finding) -> QuestionModel:
    noun = _noun(one)
    question = f"Could {noun}s that resemble each other make the score?"
    moved = one.controls.rows_moved
    if one.method == "seed-free":
        return _ask("Alike", question, None, "the pairs of every other layout are this control")
    if moved is None or moved.score.sigma is None:
        return _ask("Alike", question, None, "there are not two of them")
    sigma = moved.score.sigma
    text = (
        f"held against the next {noun}'s prediction, they score {sigma:+.1f} sigma (in place "
        f"{_sigma(one.holdout if one.holdout.sigma is not None else one.selection)})"
    )
    word = "They share something, so take the score with care" if abs(sigma) > UNUSUAL else "No"
    return _ask("Alike", question, f"{word}: {text}.")


def _noun(one: Finding) -> str:
    """What the units of a finding are called; a whole tensor's are its rows."""
    return "column" if one.survivors.axis == "column" else "row"


def _sigma(score: ScoreModel) -> str:
    return "-" if score.sigma is None else f"{score.sigma:+.1f}"


def _layout(one: Finding, findings: Sequence[Finding]) -> QuestionModel:
    question = "Could another layout have drawn it?"
    if one.layout is None:
        return _ask("Layout", question, None, "this generator has no launch layout")
    left = one.layout.not_excluded
    if one.layout.threads is None:
        return _ask("Layout", question, f"Yes: {len(left):,} known ones give the same values.")
    rival = one.controls.next_layout
    others = [each for each in left if each != one.layout.threads]
    if rival is None:
        answer = "No other layout of the table predicts different values here"
    elif rival.differing is None:
        answer = f"The next best, {rival.threads:,} threads, reaches R = {rival.score.sigma or 0.0:.1f}"
    else:
        answer = (
            f"The next best, {rival.threads:,} threads, scores {_sigma(rival.differing)} sigma where it "
            "differs"
        )
        if any(each.layout and each.layout.threads == rival.threads for each in findings if each is not one):
            answer += " (it drew other values here)"
    open_ = (
        f"not excluded beside this one: {wording.listed(others)}" if others else "no other one is left open"
    )
    return _ask("Layout", question, f"{answer}; {open_}.")


def _vendor(one: Finding) -> QuestionModel:
    question = "Could another vendor's device have drawn it?"
    if one.vendor is not None:
        worth = one.vendor.likelihood
        more = "" if worth is None else f" Likelihood ratio for NVIDIA against AMD: 10^{worth.log10:.1f}."
        return _ask("Vendor", question, one.vendor.statement + more)
    if one.layout is None:
        reason = "it was drawn without a GPU's launch"
    elif one.merge is not None:
        reason = "a sum of draws does not keep the last bits of one arithmetic"
    elif one.method == "seed-free":
        reason = "the exact scale of the draw is not known, so no last bits can be compared"
    else:
        reason = "no value is predicted to its last bits"
    return _ask("Vendor", question, None, reason)


def _origins(one: Finding, mixtures: Sequence[MixtureModel]) -> QuestionModel:
    question = "Did several initialisations come together?"
    if mixtures:
        return _ask("Origins", question, " ".join(each.statement for each in mixtures))
    if one.outcome not in PREDICTED:
        return _ask("Origins", question, None, f"no {_noun(one)} is predicted")
    controls, axis = one.controls, _noun(one)
    if not controls.unexplained:
        return _ask(
            "Origins", question, f"No sign of it: all {controls.scored:,} {axis}s scored have this one."
        )
    answer = (
        f"No other one was found: {controls.unexplained:,} of {controls.scored:,} {axis}s scored are not "
        "predicted by this one, as where training touched them lightly."
    )
    return _ask("Origins", question, answer)


def _processes(one: Finding, findings: Sequence[Finding]) -> QuestionModel:
    question = "Did several processes draw it?"
    if one.method == "seed-free":
        return _ask("Processes", question, None, "that is read off seeds, and none is known")
    ruled = [each for each in findings if each.seed_rule is not None and each.outcome != "layout-only"]
    if not ruled:
        answer = f"One is enough: seed {one.seed} gives all that is predicted here."
        if (births := _births(findings)) > 1:
            answer = f"No rule of processes was seen: {births} initialisations, one process for each."
        return _ask("Processes", question, answer)
    by_layout: dict[int, set[int]] = {}
    for each in ruled:
        if each.layout is not None and each.layout.threads is not None and each.seed is not None:
            by_layout.setdefault(each.layout.threads, set()).add(each.seed)
    threads, seeds = max(by_layout.items(), key=lambda item: len(item[1]), default=(0, set()))
    if len(seeds) < 2:
        return _ask("Processes", question, ruled[0].seed_rule)
    answer = f"Yes: at least {len(seeds)} separately seeded ones share the layout of {threads:,} threads."
    return _ask("Processes", question, answer)


def _births(findings: Sequence[Finding]) -> int:
    """How many different seeds and layouts there are; a layout that stays open is no further one."""
    layouts: dict[tuple[str, int | None], set[int]] = {}
    for each in findings:
        known = layouts.setdefault((each.generator, each.seed), set())
        if each.layout is not None and each.layout.threads is not None:
            known.add(each.layout.threads)
    return sum(max(1, len(known)) for known in layouts.values())


def _without_seed(one: Finding) -> QuestionModel:
    question = "Does the layout show without the seed?"
    if one.method == "seed-free":
        return _ask("No seed", question, "That is how it was found.")
    if one.without_seed is not None:
        asked, answer = one.without_seed.asked, one.without_seed.statement
        return QuestionModel(topic="No seed", question=question, asked=asked, answer=answer)
    if one.layout is None:
        reason = "this generator has no launch layout"
    elif one.outcome not in PREDICTED:
        reason = "it needs values that are unchanged"
    else:
        reason = "it is asked of the first two tensors whose survivors are predicted"
    return _ask("No seed", question, None, reason)


def _trained(one: Finding) -> QuestionModel:
    axis = _noun(one)
    question = f"Do trained {axis}s remember the draw?"
    trained = one.trained
    if trained is None:
        if one.outcome == "weak-trace":
            return _ask("Trained", question, "Yes: trained values are what it was found in.")
        why = "a sum of draws has no trace of one" if one.merge is not None else "hardly any is left"
        if one.method == "seed-free":
            why = "no value is predicted without a seed"
        return _ask("Trained", question, None, why)
    r, sigma = trained.score.r, trained.score.sigma
    if r is None or sigma is None:
        return _ask("Trained", question, None, "their values do not vary")
    ends = "" if trained.lo is None or trained.hi is None else f" ({trained.lo:.3f} to {trained.hi:.3f})"
    moved = trained.moved
    beside = (
        ""
        if moved is None or moved.sigma is None
        else f"; held against the next {axis}'s: {moved.sigma:+.1f} sigma"
    )
    text = (
        f"{trained.score.n:,} values of {trained.units:,} {axis}s have r = {r:+.3f}{ends}, {sigma:+.1f} sigma"
    )
    word = "Yes" if sigma > UNUSUAL else "No, which training can do"
    return _ask("Trained", question, f"{word}: {text}{beside}.")
