"""From a draw without a launch layout to a finding, and to what is said where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.evidence.exactness import Exactness, Units
from birthmark.evidence.likelihood import likelihood
from birthmark.evidence.origin_case import OriginJudgement
from birthmark.evidence.solved import HostLook, SolvedReading
from birthmark.evidence.verdict import Claim
from birthmark.reports.findings import MOST_IDS, decoys_model, likelihood_model, score_model
from birthmark.reports.reading import (
    AlteredModel,
    BitExactModel,
    ControlsModel,
    DeclaredModel,
    Finding,
    SamplerModel,
    SearchedModel,
    SeedControlModel,
    SolveModel,
    SurvivorsModel,
)
from birthmark.search.cpu_origin import CpuOrigin
from birthmark.search.origin import Found, Origin
from birthmark.search.solve.selections import SOLVE_TRIALS

#: Share of the explained values that are bit-exact where the arithmetic is the right one.
ALL_BUT_FEW = 0.99
#: More tensors than this are counted, not named, in one line.
MOST_NAMED = 4


def solved_finding(found: SolvedReading, declared: DeclaredModel | None = None) -> Finding:
    """A draw of one host's generator as a finding.

    Args:
        found: a match.
        declared: a seed that the checkpoint's own files declare; compared by its low 32 bits.
    """
    if not found.matches or found.units is None:
        raise ValueError("a candidate that was refuted is no finding")
    return origin_finding(found.judgement, found.units, declared)


def origin_finding(
    judgement: OriginJudgement, units: Units, declared: DeclaredModel | None = None
) -> Finding:
    """The same from a judgement and the units that it is claimed for."""
    case, origin, way = judgement.case, judgement.origin, judgement.case.found
    ids, altered = units.ids[units.predicted].tolist(), units.ids[units.altered].tolist()
    later, moved = judgement.place_plus_one, judgement.rows_moved
    return Finding(
        tensor=case.tensor,
        outcome="match",
        survivors=SurvivorsModel(axis=case.axis, count=len(ids), ids=ids if len(ids) <= MOST_IDS else None),
        altered=AlteredModel(
            count=len(altered),
            ids=altered if len(altered) <= MOST_IDS else None,
            elements=units.altered_elements,
        ),
        scale=origin.scale,
        factor=1.0 if way.exact or _short(origin.scale) else None,
        generator=origin.generator,
        platform=origin.platform,
        arithmetic=origin.arithmetic,
        arithmetics_not_excluded=sorted(judgement.arithmetics),
        method=way.method,
        seed=origin.seed,
        seed_hex=f"{origin.seed:#x}",
        seed_rule=None,
        declared=_compared(declared, origin.seed),
        offset=None,
        index=origin.index,
        solve=_solve(way),
        sampler=SamplerModel(
            distribution=origin.distribution,
            parameters=list(origin.parameters),
            dtype="float32",
            version=None,
            dtypes_not_excluded=[] if origin.dtype == "float32" else [origin.dtype],
        ),
        layout=None,
        selection=score_model(judgement.selection),
        holdout=score_model(judgement.holdout),
        trials=way.trials,
        holdout_trials=way.holdout_trials,
        bit_exact=_bit_exact(judgement.exact, judgement.exact_holdout),
        share=None,
        controls=ControlsModel(
            seed_plus_one=SeedControlModel(score=score_model(judgement.seed_plus_one)),
            place_plus_one=None if later is None else SeedControlModel(score=score_model(later)),
            next_layout=None,
            decoys=decoys_model(judgement.decoys),
            rows_moved=None if moved is None else SeedControlModel(score=score_model(moved)),
            scored=judgement.units.ids.size,
            unexplained=int((~judgement.units.predicted).sum()),
        ),
        vendor=None,
        likelihood=likelihood_model(
            likelihood(judgement.selection, judgement.holdout, origin=_claimed(origin), tensor=case.tensor)
        ),
    )


def _claimed(origin: Origin) -> str:
    """What is claimed, as a proposition names it."""
    where = "" if origin.index is None else f" (word {origin.index:,} of its stream)"
    return f"{origin.generator} seed {origin.seed}{where}"


def solved_claim(found: SolvedReading) -> Claim:
    """The same as the overall verdict sees it."""
    return origin_claim(found.judgement)


def origin_claim(judgement: OriginJudgement) -> Claim:
    """A judgement as the overall verdict sees it."""
    origin = judgement.origin
    return Claim(
        judgement.outcome, judgement.case.tensor, (origin.generator, origin.seed, None, origin.index)
    )


def solved_notes(solved: Sequence[SolvedReading], looks: Sequence[HostLook]) -> list[str]:
    """What a reader should know about draws without a layout, and about the looks for them."""
    notes = [note for one in solved for note in _finding_notes(one)]
    if solved:
        notes.append(
            "layout is null, and so are offset and vendor: such a draw has no launch layout, and its "
            "position is `index`."
        )
        if any(one.judgement.origin.generator == "mt19937" for one in solved):
            notes.append(
                "A seed of mt19937 stands for all with the same low 32 bits: PyTorch's CPU generator never "
                "sees more."
            )
        return notes
    return notes + [
        f"{_named(look.tensors)}, {look.what}: {_sentence(look.reason)}" for look in looks if look.reason
    ]


def _finding_notes(one: SolvedReading) -> list[str]:
    judgement, way = one.judgement, one.judgement.case.found
    origin, tensor = judgement.origin, one.tensor
    held, explained = judgement.holdout_units, int(judgement.units.explained.sum())
    worn = origin.worn if isinstance(origin, CpuOrigin) else 0.0
    notes = [
        f"Verdict on {tensor}: match, because {judgement.reason}; {int(held.predicted.sum()):,} of "
        f"{held.ids.size:,} rows or columns of the hold-out are predicted.",
    ]
    if (place := _position(origin.index, tensor)) is not None:
        notes.append(place)
    if way.tally.rank:
        notes.append(
            f"{tensor} was {way.how}: {way.tally.equations:,} linear equations of rank {way.tally.rank:,} "
            f"in the generator's state, {way.tally.satisfied:,} redundant ones satisfied, at try "
            f"{way.attempts:,}. trials is 2^{SOLVE_TRIALS.bit_length() - 1}: every seed at every position "
            "of 32 bits."
        )
    else:
        notes.append(f"{tensor} was {way.how}. Its solve is null: no linear system was needed.")
    if len(judgement.arithmetics) > 1 and not worn:
        notes.append(
            f"The values of {tensor} are the same in both arithmetics: {' and '.join(judgement.arithmetics)}."
        )
    elif judgement.exact.equal < ALL_BUT_FEW * explained and not worn:
        notes.append(
            f"Of the {explained:,} values of {tensor} that the prediction explains, "
            f"{judgement.exact.equal:,} are equal bit for bit and the others to within rounding: a build "
            "whose mathematical functions round otherwise drew them."
        )
    elif origin.arithmetic == "cpu-unfused":
        notes.append(
            f"{tensor} was drawn by a build that rounds the product before it adds (cpu-unfused), as older "
            "ones and those without AVX2 do; fused ones predict other last bits."
        )
    if one.dropped:
        notes.append(
            f"{one.dropped:,} held-out values of {tensor} were left out: they come from the same words as "
            "values of the selection."
        )
    if worn:
        notes.append(
            f"The values of {tensor} were decayed in steps that float32 hardly resolves, so that each was "
            f"shrunk by a factor of its own: they agree with their predictions to within {worn:.1%}, hardly "
            "any bit for bit."
        )
    elif not way.written and not way.exact:
        notes.append(
            f"Scale {origin.scale:.8g} of {tensor} is the middle of those that fit; it is none that people "
            "write down, so it was perhaps changed after the draw."
        )
    return notes


def with_looks(searched: SearchedModel, looks: Sequence[HostLook], solved: int = 0) -> SearchedModel:
    """The account of what was searched, with the looks for draws without a layout.

    Args:
        searched: the account of all other searches; `NOTHING_SEARCHED` where there was none.
        looks: each look, whatever came of it.
        solved: how many of them gave a finding.
    """
    if not looks:
        return searched
    alone = not searched.stages
    lines = [f"{_named(look.tensors)}: {look.what}" for look in looks]
    hypotheses = ["mt19937 on a CPU, normal and uniform"]
    if any("CPU draw" not in look.what for look in looks):
        hypotheses.append("neighbouring generators, as the stages say")
    return searched.model_copy(
        update={
            "hypotheses": list(dict.fromkeys([*searched.hypotheses, *hypotheses])),
            "stages": [*searched.stages, *lines],
            "trials": searched.trials + sum(look.trials for look in looks),
            "candidates_tested": searched.candidates_tested + solved,
            "complete": all(look.complete for look in looks) and (alone or searched.complete),
        }
    )


def _named(tensors: Sequence[str]) -> str:
    if len(tensors) <= MOST_NAMED:
        return ", ".join(tensors)
    return f"{', '.join(tensors[:MOST_NAMED])} and {len(tensors) - MOST_NAMED:,} more"


def _position(index: int | None, tensor: str) -> str | None:
    if index is None:
        return None
    if index < 0:
        return (
            f"index of {tensor} is negative: its first {-index:,} values did not come from this "
            "stream, as where a table was enlarged later."
        )
    return (
        f"index of {tensor} counts the 32-bit words that the generator gave before this tensor: "
        f"{index:,}" + (", so it was the first thing drawn." if index == 0 else ".")
    )


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _short(scale: float) -> bool:
    """Whether a scale is a short decimal: no decay leaves one."""
    return float(f"{scale:.2g}") == scale


def _compared(declared: DeclaredModel | None, seed: int) -> DeclaredModel | None:
    if declared is None:
        return None
    return declared.model_copy(update={"agrees": declared.seed % (1 << 32) == seed})


def _solve(way: Found) -> SolveModel | None:
    if not way.tally.rank:
        return None
    return SolveModel(
        equations=way.tally.equations,
        rank=way.tally.rank,
        redundant_satisfied=way.tally.satisfied,
    )


def _bit_exact(exact: Exactness, held: Exactness) -> BitExactModel:
    return BitExactModel(
        equal=exact.equal,
        of=exact.of,
        within_ulp={str(k): count for k, count in exact.within_ulp.items()},
        holdout={"equal": held.equal, "of": held.of},
    )
