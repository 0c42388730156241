"""From judgements to findings: the evidence's own words put into the schema's keys."""

from __future__ import annotations

from birthmark.devices.catalogue import Device, sharing
from birthmark.evidence.case import Case
from birthmark.evidence.census import Census
from birthmark.evidence.combination import Combination
from birthmark.evidence.decoys import Decoys
from birthmark.evidence.judge import Judged
from birthmark.evidence.likelihood import Likelihood, likelihood
from birthmark.evidence.measured import log10_p_least
from birthmark.evidence.score import Score
from birthmark.evidence.shares import Share
from birthmark.evidence.vendor import VendorTest
from birthmark.evidence.weigh import Judgement
from birthmark.recipes.megatron import rule_text
from birthmark.recipes.sharding import Sharding
from birthmark.reports.reading import (
    AlteredModel,
    BitExactModel,
    ControlsModel,
    DeclaredModel,
    DecoysModel,
    DeviceModel,
    Finding,
    Float64Model,
    LayoutControlModel,
    LayoutModel,
    LikelihoodModel,
    MergeModel,
    OtherDrawModel,
    SamplerModel,
    ScoreModel,
    SeedControlModel,
    ShareModel,
    SurvivorsModel,
    VendorModel,
)

#: More ids than this are not listed; a whole tensor says so by its axis.
MOST_IDS = 1 << 17


def finding(
    judged: Judged,
    declared: DeclaredModel | None = None,
    seed_rule: str | None = None,
    *,
    seen: int | None = None,
) -> Finding:
    """A judgement as a finding.

    Args:
        judged: with an outcome other than "none".
        declared: a seed that the checkpoint's own files declare; None where there is none.
        seed_rule: what several processes' seeds together say about the rule; None for nothing.
        seen: how many shards of the tensor are findings under one rule; None for all of them.
    """
    judgement = judged.judgement
    case, fit = judgement.case, judgement.fit
    draw, sharding = fit.hypothesis.draw, fit.hypothesis.sharding
    if judgement.outcome == "none":
        raise ValueError("a judgement with the outcome 'none' is no finding")
    arithmetics = judgement.arithmetic.not_excluded if judgement.arithmetic else ()
    vendor = judgement.arithmetic.vendor if judgement.arithmetic else None
    imitated = vendor is not None and vendor.imitated
    survivors, altered = _survivors(judgement, judged.census)
    devices = _devices(judgement)
    exact = judgement.outcome in ("match", "seed-only")
    sum_ = judgement.combination
    plain = exact and sum_ is None
    return Finding(
        tensor=case.tensor,
        outcome=judgement.outcome,
        survivors=survivors,
        altered=altered,
        scale=fit.scale.value,
        factor=fit.factor if plain else None,
        generator=fit.hypothesis.generator,
        platform=_platform(arithmetics, devices, imitated=imitated),
        arithmetic=fit.hypothesis.arithmetic if plain and not imitated else None,
        arithmetics_not_excluded=list(arithmetics),
        method="search",
        seed=case.seed_of_rank,
        seed_hex=f"{case.seed_of_rank:#x}",
        seed_rule=(_lone(case) if seen == 1 else None) or _rule(case.seed, sharding) or seed_rule,
        declared=declared,
        offset=fit.hypothesis.offset,
        index=None,
        solve=None,
        sampler=SamplerModel(
            distribution=draw.distribution,
            parameters=_as_drawn(draw.parameters, fit.factor if plain else None),
            dtype=draw.dtype,
            version=draw.version if draw.distribution != "normal" else None,
            dtypes_not_excluded=list(fit.same_dtypes) if plain else [],
        ),
        layout=_layout(judgement, devices),
        selection=score_model(judgement.selection),
        holdout=score_model(judgement.holdout),
        trials=case.trials,
        holdout_trials=case.holdout_trials,
        bit_exact=_bit_exact(judgement),
        share=share_model(sum_.share()) if sum_ is not None and exact else None,
        controls=_controls(judgement),
        vendor=vendor_model(vendor) if vendor else None,
        likelihood=likelihood_model(
            likelihood(
                judgement.selection,
                judgement.holdout,
                origin=_origin(judgement),
                tensor=case.tensor,
            )
        ),
        merge=_merge(sum_) if sum_ is not None else None,
    )


def _merge(sum_: Combination) -> MergeModel:
    """How the draw of a finding adds up with the others of its merge."""
    weights = sum_.weights.tolist()
    return MergeModel(
        weight=weights[0],
        beside=[
            OtherDrawModel(seed=one.seed, threads=one.hypothesis.threads, weight=weight)
            for one, weight in zip(sum_.draws[1:], weights[1:], strict=True)
        ],
        residual=sum_.residual,
    )


def share_model(share: Share) -> ShareModel:
    """A share in the schema's keys."""
    return ShareModel(value=share.value, lo=share.lo, hi=share.hi)


def _lone(case: Case) -> str | None:
    """What one shard alone says; None where it is the whole tensor."""
    sharding = case.hypothesis.sharding
    if case.rank is None or sharding.ways == 1:
        return None
    height = sharding.local_shape(case.shape)[0]
    first, last = case.rank * height, min(case.shape[0], (case.rank + 1) * height) - 1
    return (
        f"Rows {first:,} to {last:,} are drawn as a process of its own draws shard {case.rank} of "
        f"{sharding.ways}, with the seed {case.seed_of_rank}; no other shard follows from it, so no rule of "
        "seeds shows."
    )


def _rule(seed: int, sharding: Sharding) -> str | None:
    """How the seeds of a tensor's shards follow; None for a whole tensor."""
    if sharding.rule == "dtensor":
        return (
            f"{sharding.ways} processes under one seed draw {sharding.ways} equal runs of rows, each as many "
            "elements further on in the stream as the runs before it hold: a distributed tensor, as FSDP2's."
        )
    if sharding.rule == "stepped" and sharding.step == 0:
        return (
            f"{sharding.ways} processes draw {sharding.ways} equal runs of rows, each with the same seed "
            "from the same place on: the runs repeat each other, and one seeding explains them all."
        )
    if sharding.rule == "stepped":
        return (
            f"{sharding.ways} processes draw {sharding.ways} equal runs of rows; each has the seed of the "
            f"one before {'plus' if sharding.step > 0 else 'minus'} {abs(sharding.step)}, from {seed} on."
        )
    return rule_text(seed, sharding.ways) if sharding.rule == "megatron" else None


def _origin(judgement: Judgement) -> str:
    """What is claimed, as a proposition names it."""
    case, hypothesis, layouts = judgement.case, judgement.fit.hypothesis, judgement.layouts
    where = f"offset {hypothesis.offset}"
    if layouts is None or layouts.separated:
        where = f"G = {hypothesis.threads:,} threads, {where}"
    return f"{hypothesis.generator} seed {case.seed_of_rank} ({where})"


def likelihood_model(one: Likelihood | None) -> LikelihoodModel | None:
    """A likelihood ratio in the schema's keys."""
    if one is None:
        return None
    return LikelihoodModel(
        log10=one.log10,
        log10_after_trials=one.log10_after_trials,
        words=one.words,
        for_it=one.for_it,
        against_it=one.against_it,
    )


def vendor_model(test: VendorTest) -> VendorModel:
    """The vendor test in the schema's keys."""
    plain = test.float64
    return VendorModel(
        discriminating=test.discriminating,
        nvidia=test.nvidia,
        amd=test.amd,
        neither=test.neither,
        statement=test.statement,
        likelihood=likelihood_model(test.likelihood),
        float64=None
        if plain is None
        else Float64Model(
            discriminating=plain.discriminating,
            nvidia=plain.nvidia,
            float64=plain.other,
            neither=plain.neither,
            likelihood=likelihood_model(plain.likelihood),
        ),
    )


def decoys_model(decoys: Decoys) -> DecoysModel:
    """The measured background in the schema's keys."""
    return DecoysModel(
        count=decoys.count,
        max_sigma=decoys.max_sigma,
        n=decoys.n,
        mean=decoys.mean,
        std=decoys.std,
        candidate_sigma=decoys.candidate_sigma,
        edges=list(decoys.edges),
        histogram=list(decoys.counts),
        log10_p_measured=decoys.log10_p_measured,
        log10_p_least=log10_p_least(decoys.count) if decoys.count else None,
        statement=decoys.statement,
    )


def score_model(score: Score) -> ScoreModel:
    """A score in the schema's keys."""
    return ScoreModel(
        n=score.n,
        r=score.r,
        sigma=score.sigma,
        log10_p_local=score.log10_p_local,
        log10_p_global=score.log10_p_global,
    )


def _survivors(judgement: Judgement, census: Census | None) -> tuple[SurvivorsModel, AlteredModel]:
    axis = judgement.case.axis
    if census is None:
        return SurvivorsModel(axis=axis, count=0, ids=[]), AlteredModel(count=0, ids=[], elements=0)
    ids, altered = census.ids.tolist(), census.altered.tolist()
    return (
        SurvivorsModel(axis=axis, count=len(ids), ids=ids if len(ids) <= MOST_IDS else None),
        AlteredModel(
            count=len(altered),
            ids=altered if len(altered) <= MOST_IDS else None,
            elements=census.altered_elements,
        ),
    )


def _devices(judgement: Judgement) -> tuple[Device, ...]:
    """Every device of the table that the layouts and arithmetics leave possible."""
    layouts = judgement.layouts
    if layouts is None:
        return ()
    left = judgement.arithmetic.not_excluded if judgement.arithmetic else ()
    arithmetics = left or (None,)
    return tuple(
        device
        for threads in layouts.not_excluded
        for device in sharing(threads)
        if None in arithmetics or device.arithmetic in arithmetics
    )


def _platform(arithmetics: tuple[str, ...], devices: tuple[Device, ...], *, imitated: bool) -> str | None:
    """The platform, where arithmetic or devices leave only one; a program's float64 is of none."""
    if imitated:
        return None
    vendors = {device.vendor for device in devices} or {
        "amd" if arithmetic == "amd" else "nvidia" for arithmetic in arithmetics
    }
    if len(vendors) != 1:
        return None
    return "cuda" if vendors == {"nvidia"} else "rocm"


def _layout(judgement: Judgement, devices: tuple[Device, ...]) -> LayoutModel | None:
    layouts = judgement.layouts
    if layouts is None:
        return None
    return LayoutModel(
        threads=judgement.fit.hypothesis.threads if layouts.separated else None,
        not_excluded=list(layouts.not_excluded),
        level=layouts.level,
        devices=[
            DeviceModel(name=device.name, sm_count=device.sm_count, threads_per_sm=device.threads_per_sm)
            for device in devices
        ],
    )


def _bit_exact(judgement: Judgement) -> BitExactModel:
    exact, held = judgement.exact, judgement.exact_holdout
    return BitExactModel(
        equal=exact.equal,
        of=exact.of,
        within_ulp={str(k): count for k, count in exact.within_ulp.items()},
        holdout={"equal": held.equal, "of": held.of},
    )


def _controls(judgement: Judgement) -> ControlsModel:
    following, decoys, moved = judgement.next_layout, judgement.decoys, judgement.rows_moved
    exact = judgement.outcome in ("match", "seed-only")
    return ControlsModel(
        seed_plus_one=SeedControlModel(score=score_model(judgement.seed_plus_one)),
        next_layout=LayoutControlModel(
            threads=following.threads,
            score=score_model(following.score),
            differing=score_model(following.differing),
        )
        if following
        else None,
        decoys=decoys_model(decoys),
        rows_moved=None if moved is None else SeedControlModel(score=score_model(moved)),
        scored=judgement.units.ids.size if exact else 0,
        unexplained=judgement.unexplained.size if exact else 0,
    )


def _as_drawn(parameters: tuple[float, ...], factor: float | None) -> list[float]:
    """The call's parameters before decay shrank the values by a common factor."""
    if factor is None or factor in (0.0, 1.0):
        return list(parameters)
    return [float(f"{value / factor:.9g}") for value in parameters]
