"""From a CPU draw to a finding, and to what is said where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.evidence.cpu_prediction import CpuOrigin
from birthmark.evidence.decoys import Decoys
from birthmark.evidence.exactness import Exactness
from birthmark.evidence.score import Score
from birthmark.evidence.solved import SOLVE_TRIALS, SolvedReading
from birthmark.evidence.verdict import Claim
from birthmark.reports.findings import MOST_IDS, score_model
from birthmark.reports.reading import (
    AlteredModel,
    BitExactModel,
    ControlsModel,
    DeclaredModel,
    DecoysModel,
    Finding,
    SamplerModel,
    ScoreModel,
    SearchedModel,
    SeedControlModel,
    SolveModel,
    SurvivorsModel,
)
from birthmark.samplers.cpu_uniform import SCALINGS
from birthmark.survivors.survivor import Survivors

_NO_SCORE = ScoreModel(n=0, r=None, sigma=None, log10_p_local=None, log10_p_global=None)


def solved_finding(
    found: SolvedReading, survivors: Survivors, declared: DeclaredModel | None = None
) -> Finding:
    """A CPU draw as a finding.

    Args:
        found: with the result "match".
        survivors: what it was read from.
        declared: a seed that the checkpoint's own files declare; compared by its low 32 bits.
    """
    origin, units, exact, held = found.origin, found.units, found.exactness, found.exactness_holdout
    if (
        found.result != "match"
        or found.method is None
        or origin is None
        or units is None
        or exact is None
        or held is None
    ):
        raise ValueError(f"a reading of a CPU draw with the result {found.result!r} is no finding")
    ids, altered = units.ids[units.predicted].tolist(), units.ids[units.altered].tolist()
    spread = [0.0, origin.scale] if origin.distribution == "normal" else [-origin.scale, origin.scale]
    return Finding(
        tensor=survivors.tensor,
        outcome="match",
        survivors=SurvivorsModel(
            axis=survivors.axis, count=len(ids), ids=ids if len(ids) <= MOST_IDS else None
        ),
        altered=AlteredModel(
            count=len(altered),
            ids=altered if len(altered) <= MOST_IDS else None,
            elements=units.altered_elements,
        ),
        scale=origin.scale,
        factor=1.0 if found.exact or _short(origin.scale) else None,
        generator="mt19937",
        platform="cpu",
        arithmetic=origin.arithmetic,
        arithmetics_not_excluded=_arithmetics(found, origin),
        method=found.method,
        seed=origin.seed,
        seed_hex=f"{origin.seed:#x}",
        seed_rule=None,
        declared=_compared(declared, origin.seed),
        offset=None,
        index=origin.index,
        solve=_solve(found),
        sampler=SamplerModel(
            distribution=origin.distribution,
            parameters=spread,
            dtype="float32",
            version=None,
            dtypes_not_excluded=[] if origin.dtype == "float32" else [origin.dtype],
        ),
        layout=None,
        selection=_score(found.selection),
        holdout=_score(found.holdout),
        trials=found.trials,
        holdout_trials=found.holdout_trials,
        bit_exact=_bit_exact(exact, held),
        share=None,
        controls=ControlsModel(
            seed_plus_one=SeedControlModel(score=_score(found.seed_plus_one)),
            next_layout=None,
            decoys=_decoys(found.decoys),
        ),
        vendor=None,
    )


def solved_claim(found: SolvedReading, survivors: Survivors) -> Claim:
    """The same as the overall verdict sees it."""
    origin = found.origin
    return Claim(
        "match" if found.result == "match" else "none",
        survivors.tensor,
        ("mt19937", origin.seed if origin else None, None, origin.index if origin else None),
    )


def solved_notes(found: SolvedReading, tensor: str) -> list[str]:
    """What a reader should know about the look for a CPU draw, whatever came of it."""
    if found.result != "match" or found.origin is None:
        notes = [f"{tensor}, CPU draw: nothing found, because {found.reason}."]
        return notes + ([f"{tensor}, not solved: {_sentence(found.unsolved)}"] if found.unsolved else [])
    origin = found.origin
    notes = [
        f"Verdict on {tensor}: match, because {found.reason}; {found.holdout_units[0]:,} of "
        f"{found.holdout_units[1]:,} rows or columns of the hold-out are predicted.",
        _position(origin, tensor),
        f"The seed of {tensor} stands for all with the same low 32 bits: this generator never sees more.",
        "layout is null, and so are offset and vendor: a CPU draw has no launch layout, and its position is "
        "`index`.",
    ]
    if found.method == "solve":
        notes.append(
            f"{tensor} was solved: {found.tally.equations:,} linear equations of rank {found.tally.rank:,} "
            f"in the generator's state, {found.tally.satisfied:,} redundant ones satisfied, at try "
            f"{found.attempts:,}. trials is 2^{SOLVE_TRIALS.bit_length() - 1}: every seed at every position "
            "of 32 bits."
        )
    else:
        notes.append(
            f"{tensor} was found among the seeds that people use, at the stream positions that were tried."
        )
        notes.append(f"solve of {tensor} is null: {_sentence(found.unsolved or 'nothing was solved')}")
    if (near := found.index_plus_one) is not None and near.sigma is not None:
        notes.append(f"One word later in the stream the hold-out of {tensor} scores {near.sigma:.1f} sigma.")
    if found.dropped:
        notes.append(
            f"{found.dropped:,} held-out values of {tensor} were left out: they come from the same words as "
            "values of the selection."
        )
    if not found.written and not found.exact:
        notes.append(
            f"Scale {origin.scale:.8g} is the middle of those that fit; it is none that people write "
            "down, so it was perhaps changed after the draw."
        )
    return notes


def with_solved(searched: SearchedModel, solved: Sequence[tuple[Survivors, SolvedReading]]) -> SearchedModel:
    """The account of what was searched, with the looks for CPU draws."""
    if not solved:
        return searched
    lines = [line for survivors, one in solved for line in searched_lines(one, survivors.tensor)]
    tried = sum(one.attempts + (one.search.trials if one.search else 0) for _, one in solved)
    return searched.model_copy(
        update={"stages": [*searched.stages, *lines], "trials": searched.trials + tried}
    )


def searched_lines(found: SolvedReading, tensor: str) -> list[str]:
    """What was tried, as lines of `searched.stages`."""
    lines = []
    if found.attempts or found.unsolved or found.method == "solve":
        outcome = "solved" if found.unsolved is None else "not solved"
        lines.append(
            f"{tensor}: CPU draw, any seed and position, by solving for the generator's state, "
            f"{found.attempts:,} subset{'' if found.attempts == 1 else 's'}, {outcome}"
        )
    for one in found.search.tried if found.search else ():
        seeds = f"all {one.of:,}" if one.seeds == one.of else f"the first {one.seeds:,} of {one.of:,}"
        lines.append(f"{tensor}: CPU draw, dictionary of seeds, index {one.index:,}: {seeds} seeds")
    return lines


def _position(origin: CpuOrigin, tensor: str) -> str:
    if origin.index < 0:
        return (
            f"index of {tensor} is negative: its first {-origin.index:,} values did not come from this "
            "stream, as where a table was enlarged later."
        )
    return (
        f"index of {tensor} counts the 32-bit words that the generator gave before this tensor: "
        f"{origin.index:,}" + (", so it was the first thing drawn." if origin.index == 0 else ".")
    )


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _short(scale: float) -> bool:
    """Whether a scale is a short decimal: no decay leaves one."""
    return float(f"{scale:.2g}") == scale


def _arithmetics(found: SolvedReading, origin: CpuOrigin) -> list[str]:
    """Uniforms that were rounded to a coarse dtype leave the arithmetic open; normals have only one."""
    if origin.distribution == "normal" or found.exact:
        return [origin.arithmetic]
    return sorted(SCALINGS)


def _compared(declared: DeclaredModel | None, seed: int) -> DeclaredModel | None:
    if declared is None:
        return None
    return declared.model_copy(update={"agrees": declared.seed % (1 << 32) == seed})


def _solve(found: SolvedReading) -> SolveModel | None:
    if found.method != "solve":
        return None
    return SolveModel(
        equations=found.tally.equations,
        rank=found.tally.rank,
        redundant_satisfied=found.tally.satisfied,
    )


def _score(score: Score | None) -> ScoreModel:
    return _NO_SCORE if score is None else score_model(score)


def _bit_exact(exact: Exactness, held: Exactness) -> BitExactModel:
    return BitExactModel(
        equal=exact.equal,
        of=exact.of,
        within_ulp={str(k): count for k, count in exact.within_ulp.items()},
        holdout={"equal": held.equal, "of": held.of},
    )


def _decoys(decoys: Decoys | None) -> DecoysModel:
    if decoys is None:
        return DecoysModel(count=0, max_sigma=None)
    return DecoysModel(
        count=decoys.count,
        max_sigma=decoys.max_sigma,
        n=decoys.n,
        mean=decoys.mean,
        std=decoys.std,
        candidate_sigma=decoys.candidate_sigma,
        edges=list(decoys.edges),
        histogram=list(decoys.counts),
    )
