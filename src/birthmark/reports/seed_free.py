"""From a seed-free reading of a tensor to a finding, and to what is said where there is none.

A coherence has its own statistic: R of the pairs' phases, with R^2 exponential under chance. In the schema's
keys n is the number of pairs, r = R / sqrt(n) is the length of their mean phase (0 to 1), sigma = r sqrt(n)
is R, and log10_p comes from exp(-R^2), not from a Gaussian tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from birthmark.devices.catalogue import Device, sharing
from birthmark.evidence.coherence import Background, Coherence
from birthmark.evidence.likelihood import coherence_likelihood
from birthmark.evidence.measured import log10_p_least, log10_p_measured, statement
from birthmark.evidence.pair_arithmetic import PairArithmetic
from birthmark.evidence.seed_free import SeedFree
from birthmark.evidence.significance import SIGNIFICANT
from birthmark.evidence.vendor import against_amd
from birthmark.evidence.verdict import Claim
from birthmark.reports.findings import likelihood_model
from birthmark.reports.reading import (
    AlteredModel,
    BitExactModel,
    ControlsModel,
    DecoysModel,
    DeviceModel,
    FamilyModel,
    Finding,
    LayoutControlModel,
    LayoutModel,
    SamplerModel,
    ScoreModel,
    SearchedModel,
    SeedControlModel,
    SurvivorsModel,
    VendorModel,
)
from birthmark.reports.seed_free_notes import seed_free_notes as seed_free_notes
from birthmark.survivors.survivor import Survivors

#: More ids than this are not listed.
MOST_IDS = 1 << 17
#: Bins of the other layouts' R.
EDGES = tuple(float(edge) for edge in np.arange(0.0, 5.01, 0.5))
_NO_SCORE = ScoreModel(n=0, r=None, sigma=None, log10_p_local=None, log10_p_global=None)


def layout_finding(found: SeedFree, survivors: Survivors) -> Finding:
    """A layout without its seed as a finding.

    Args:
        found: with the result "layout".
        survivors: what it was read from.
    """
    if (
        found.result != "layout"
        or found.threads is None
        or found.scale is None
        or found.selection is None
        or found.holdout is None
        or found.together is None
    ):
        raise ValueError(f"a seed-free reading with the result {found.result!r} is no finding")
    arithmetic = found.arithmetic.arithmetic if found.arithmetic else None
    devices = sharing(found.threads, arithmetic)
    ids = survivors.likely()
    return Finding(
        tensor=survivors.tensor,
        outcome="layout-only",
        survivors=SurvivorsModel(
            axis=survivors.axis, count=int(ids.size), ids=ids.tolist() if ids.size <= MOST_IDS else None
        ),
        altered=AlteredModel(count=0, ids=[], elements=0),
        scale=found.scale,
        factor=None,
        generator="philox",
        platform=_platform(arithmetic, devices),
        arithmetic=arithmetic,
        arithmetics_not_excluded=[arithmetic] if arithmetic else [],
        method="seed-free",
        seed=None,
        seed_hex=None,
        seed_rule=None,
        declared=None,
        offset=None,
        index=None,
        solve=None,
        sampler=SamplerModel(
            distribution="normal", parameters=[0.0, found.scale], dtype="float32", version=None
        ),
        layout=LayoutModel(
            threads=found.threads,
            not_excluded=[found.threads],
            level=(
                f"The set of G that cannot be excluded, of {len(found.layouts):,} compared: another G is "
                f"excluded where its R is no rarer than 10^{SIGNIFICANT:g} after all of these."
            ),
            devices=[
                DeviceModel(name=one.name, sm_count=one.sm_count, threads_per_sm=one.threads_per_sm)
                for one in devices
            ],
        ),
        selection=coherence_model(found.selection),
        holdout=coherence_model(found.holdout),
        trials=found.trials,
        holdout_trials=1,
        bit_exact=BitExactModel(equal=0, of=0, within_ulp={}),
        share=None,
        controls=_controls(found.background, found.together),
        vendor=_vendor(found.arithmetic),
        likelihood=likelihood_model(
            coherence_likelihood(
                found.selection,
                found.holdout,
                origin=f"a launch of G = {found.threads:,} threads",
                tensor=survivors.tensor,
            )
        ),
    )


def family_model(found: SeedFree, tensor: str) -> FamilyModel:
    """A generator's family that was read without a seed, in the schema's keys.

    Args:
        found: with the result "family".
        tensor: what it was read from.
    """
    if found.family is None or found.scale is None or found.selection is None or found.holdout is None:
        raise ValueError(f"a seed-free reading with the result {found.result!r} names no family")
    return FamilyModel(
        tensor=tensor,
        family=found.family.name,
        generator=found.family.generator or None,
        platform=found.family.platform,
        scale=found.scale,
        selection=coherence_model(found.selection),
        holdout=coherence_model(found.holdout),
        trials=found.trials,
    )


def layout_claim(found: SeedFree, survivors: Survivors) -> Claim:
    """The same as the overall verdict sees it."""
    return Claim("layout-only", survivors.tensor, ("philox", None, found.threads, None))


def coherence_model(one: Coherence) -> ScoreModel:
    """A coherence in the schema's keys; see the head of this module."""
    if one.numbers == 0:
        return _NO_SCORE
    return ScoreModel(
        n=one.numbers,
        r=one.r / math.sqrt(one.numbers),
        sigma=one.r,
        log10_p_local=one.log10_p_local,
        log10_p_global=one.log10_p_global,
    )


def with_layouts(searched: SearchedModel, layouts: Sequence[tuple[Survivors, SeedFree]]) -> SearchedModel:
    """The account of what was searched, with what was read without seeds."""
    tried = [(survivors.tensor, one) for survivors, one in layouts if one.result != "refused"]
    if not tried:
        return searched
    texts = (searched_text(one, tensor) for tensor, one in tried)
    return searched.model_copy(
        update={
            "stages": [*searched.stages, *(text for text in texts if text)],
            "trials": searched.trials + sum(one.trials for _, one in tried),
        }
    )


def searched_text(found: SeedFree, tensor: str) -> str | None:
    """What a seed-free reading tried, as a line of `searched.stages`; None where it tried nothing."""
    if found.result == "refused":
        return None
    layouts = f"{len(found.layouts):,} layouts" if len(found.layouts) != 1 else "1 layout"
    return (
        f"{tensor}: seed-free, {layouts} and 6 families of generators, {found.trials:,} suppositions with "
        "their scales, complete"
    )


def _platform(arithmetic: str | None, devices: tuple[Device, ...]) -> str | None:
    """The platform, where arithmetic or devices leave only one."""
    if arithmetic is not None:
        return "rocm" if arithmetic == "amd" else "cuda"
    vendors = {device.vendor for device in devices}
    if len(vendors) != 1:
        return None
    return "cuda" if vendors == {"nvidia"} else "rocm"


def _controls(background: Background | None, together: Coherence) -> ControlsModel:
    if background is None or (rival := background.next_best) is None:
        return ControlsModel(
            seed_plus_one=SeedControlModel(score=_NO_SCORE),
            next_layout=None,
            decoys=DecoysModel(count=0, max_sigma=None),
        )
    r = np.asarray(background.r)
    counts, _ = np.histogram(np.minimum(r, np.nextafter(EDGES[-1], 0.0)), bins=EDGES)
    reached = int(np.count_nonzero(r >= together.r))
    return ControlsModel(
        seed_plus_one=SeedControlModel(score=_NO_SCORE),
        next_layout=LayoutControlModel(threads=rival[0], score=coherence_model(rival[1])),
        decoys=DecoysModel(
            count=len(background.layouts),
            max_sigma=float(r.max()),
            n=int(np.median(background.numbers)),
            mean=float(r.mean()),
            std=float(r.std()),
            candidate_sigma=together.r,
            edges=list(EDGES),
            histogram=counts.tolist(),
            log10_p_measured=log10_p_measured(reached, len(r)),
            log10_p_least=log10_p_least(len(r)),
            statement=statement(reached, len(r), decoys="other layouts", tail="exp(-R^2)"),
        ),
    )


def _vendor(test: PairArithmetic | None) -> VendorModel | None:
    if test is None:
        return None
    nvidia, amd = test.nvidia - test.both, test.amd - test.both
    telling = test.pairs - test.both
    return VendorModel(
        discriminating=telling,
        nvidia=nvidia,
        amd=amd,
        neither=telling - nvidia - amd,
        statement=test.statement,
        likelihood=likelihood_model(against_amd(nvidia, amd, telling)),
    )
