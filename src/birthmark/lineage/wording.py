"""The sentences of a relation: what it rests on, what it was held against, and what would have been seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, Literal

import numpy as np

from birthmark.lineage.copying import Copied
from birthmark.lineage.fresh import Fresh
from birthmark.lineage.origins import Seeds, SharedSeed
from birthmark.lineage.pairing import Pairing
from birthmark.numerics.dtypes import FORMATS

#: Tensors that are named one by one.
NAMED: Final = 4
#: With fewer values than the smallest layouts' first wave, equal first rows say nothing about layouts.
FIRST_WAVE: Final = 28_672


def tensors(count: int) -> str:
    """A number of tensors."""
    return f"{count:,} tensor{'s' if count != 1 else ''}"


def named(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def about_values(pairings: Sequence[Pairing]) -> list[str]:
    """How the values of all tensors agree, which were set aside, and which rows only one has."""
    telling = [each for each in pairings if each.aside is None]
    if not pairings:
        return ["They have no floating-point tensor of one name and shape."]
    told = []
    total = sum(each.copied.n for each in telling)
    equal = sum(each.copied.equal for each in telling)
    explained = sum(each.copied.explained for each in telling)
    zeroed = [sum(each.copied.zeroed[side] for each in telling) for side in (0, 1)]
    # Zeros and the like coincide by themselves.
    if telling and equal + explained >= 0.01 * total:
        parts = [f"{equal:,} are equal"]
        if explained:
            parts.append(f"{explained:,} more {_ways(telling)}")
        parts += [
            f"{count:,} are 0 in the {place} only"
            for count, place in zip(zeroed, ("first", "second"), strict=True)
            if count
        ]
        rest = total - equal - explained - sum(zeroed)
        told.append(f"Of {total:,} values in {tensors(len(telling))} {', '.join(parts)}; {rest:,} differ.")
    beyond = [each for each in pairings if each.common.beyond != (0, 0)]
    for each in beyond[:NAMED]:
        place, count = (
            ("first", each.common.beyond[0]) if each.common.beyond[0] else ("second", each.common.beyond[1])
        )
        told.append(
            f"{each.tensor}: the {place} has {count:,} rows more; the first {each.common.rows:,} of both "
            "are compared."
        )
    aside = Counter(each.aside for each in pairings if each.aside is not None)
    if aside:
        kinds = ", ".join(f"{count:,} x {reason}" for reason, count in aside.most_common(NAMED))
        told.append(f"Set aside, since strangers have them alike: {tensors(sum(aside.values()))} ({kinds}).")
    return told


def _ways(telling: Sequence[Pairing]) -> str:
    words = {
        "rounded": "once both are rounded to {dtype}",
        "scaled": "to within rounding up to a factor",
        "row-scaled": "to within rounding up to a factor for each row",
        "coarser": "lie on a coarser grid in their order",
    }
    found = [
        words[each.copied.way].format(dtype=each.copied.dtype)
        for each in telling
        if each.copied.explained and each.copied.way in words
    ]
    return " or ".join(dict.fromkeys(found)) or "agree"


def copy_of(telling: Sequence[Pairing]) -> tuple[str, Literal[1, 2] | None]:
    """What kind of copy it is, in words, and which of the two follows from the other (1 or 2)."""
    copied = [each.copied for each in telling]
    later: set[Literal[1, 2]] = set()
    words = []
    casts = [each for each in copied if each.way == "rounded"]
    if casts:
        words.append(f"up to rounding to {' and '.join(dict.fromkeys(each.dtype for each in casts))}")
        for each in casts:
            first, second = (FORMATS[grid].precision for grid in each.grids)
            if first != second:
                later.add(1 if first < second else 2)
    factors = [each.factor for each in copied if each.way == "scaled"]
    if factors:
        low, high = min(factors), max(factors)
        words.append(f"scaled by {low:.6g}" + (f" to {high:.6g}" if high - low > 1e-6 * abs(high) else ""))
    if any(each.way == "row-scaled" for each in copied):
        words.append("with each row scaled by its own factor")
    coarse = {each.coarse for each in copied if each.way == "coarser" and each.coarse is not None}
    if coarse:
        words.append("quantised")
        later |= coarse
    zeroed = [sum(each.zeroed[side] for each in copied) for side in (0, 1)]
    total = sum(each.n for each in copied)
    for side, count in enumerate(zeroed):
        if count:
            words.append(f"with {count / total:.1%} of the values pruned to 0")
            later.add(1 if side == 0 else 2)
    rest = sum(_rest(each) for each in copied)
    if rest:
        words.append(f"but for {rest:,} values")
    return ", ".join(words) or "as stored", later.pop() if len(later) == 1 else None


def _rest(copied: Copied) -> int:
    return copied.n - copied.equal - copied.explained - sum(copied.zeroed)


def about_birth(
    telling: Sequence[Pairing],
    proofs: Sequence[tuple[float, Pairing]],
    supposed: Sequence[tuple[float, Pairing]],
) -> list[str]:
    """What untouched rows and columns say."""
    told = []
    for p, each in proofs[:NAMED]:
        fresh = each.fresh
        assert fresh is not None
        factor = "" if fresh.factor is None else f", scaled by {fresh.factor:.6g}"
        told.append(
            f"{each.tensor}: {fresh.axis}s that are untouched in either have r = {fresh.score.r or 0.0:.4f} "
            f"over {fresh.score.n:,} values (log10 p {p:.0f}); {fresh.same:,} of {fresh.units:,} "
            f"{fresh.axis}s hold one draw{factor}."
        )
    for _, each in proofs:
        fresh = each.fresh
        if fresh is not None and fresh.prefix and fresh.score.n > FIRST_WAVE:
            told.append(
                f"{each.tensor}: its first {fresh.same:,} untouched {fresh.axis}s agree and no later one "
                "does, as when one seed is drawn on two launch layouts."
            )
            break
    if len(proofs) > NAMED:
        told.append(f"So do untouched parts of {tensors(len(proofs) - NAMED)} more.")
    for p, each in supposed[:NAMED]:
        fresh = each.fresh
        assert fresh is not None
        told.append(
            f"{each.tensor}: {fresh.axis}s that look untouched in one correlate with the other's, "
            f"r = {fresh.score.r or 0.0:.4f} (log10 p {p:.0f} if they are untouched); none holds one draw to "
            "within rounding, so that training that only left them looking fresh is not excluded."
        )
    apart = [each for each in telling if each.fresh is not None and each.fresh.differs]
    if apart:
        n = sum(each.fresh.apart.n for each in apart if each.fresh is not None and each.fresh.apart)
        told.append(
            f"What is untouched in both holds different draws in {tensors(len(apart))} ({n:,} values): "
            f"{named([each.tensor for each in apart])}."
        )
    elif not proofs and not supposed and any(each.fresh is not None for each in telling):
        told.append("Rows that are untouched in one do not correlate with the other's.")
    return told


def about_training(telling: Sequence[Pairing], equal: int, *, shared: bool) -> list[str]:
    """What trained rows say."""
    told = []
    trained = [each.trained for each in telling if each.trained is not None]
    out = sorted((each for each in trained if each.stands_out), key=lambda each: -each.r)
    if out:
        median = float(np.median([each.r for each in out]))
        told.append(
            f"Trained rows correlate beyond structure in {len(out)} of {tensors(len(trained))}: r up to "
            f"{out[0].r:.3f}, median {median:.3f}, {out[0].sigma:.0f} sigma over shifted rows."
        )
    elif trained:
        told.append(f"Trained rows of {tensors(len(trained))} correlate no more than shifted ones do.")
    rows = sum(each.trained_rows for each in telling)
    if equal and shared:
        told.append(f"{equal:,} of {rows:,} trained rows have equal values.")
    ranks = [each for each in trained if each.rank is not None]
    if ranks:
        low, high = min(each.rank or 0 for each in ranks), max(each.rank or 0 for each in ranks)
        span = f"{low}" if low == high else f"{low} to {high}"
        told.append(
            f"Their difference has rank {span} of {max(each.full for each in ranks)} (of the rows and "
            f"columns looked at) in {tensors(len(ranks))}, and the rest is rounding: a merged adapter."
        )
    return told


def about_matching(telling: Sequence[Pairing]) -> list[str]:
    """The strongest matching of units, after as many trials as there are layers."""
    tests = [each.matching for each in telling if each.matching is not None]
    if not tests:
        return []
    best = min(tests, key=lambda each: each.log10_p)
    p = min(0.0, best.log10_p + float(np.log10(len(tests))))
    return [
        f"Units matched by cosine (Zhu et al. 2025): rank correlation with their own order up to "
        f"{best.rho:.3f} (log10 p {p:.1f} after {len(tests)} layers)."
    ]


def about_seeds(seeds: Seeds) -> list[str]:
    """What the two readings say of each other, once for each seed."""
    told = [_shared_seed(each) for each in seeds.shared]
    base = seeds.base
    if base is not None and not (base.same_rule and seeds.shared):
        rules = " and ".join(dict.fromkeys(rule.name for rule in base.rules.values()))
        told.append(
            f"Their seeds come from one base seed, {base.base}, under {rules} (log10 p {base.log10_p:.1f} of "
            f"that by accident, {base.trials:,} combination{'s' if base.trials != 1 else ''} of rules tried)."
        )
    elif base is not None:
        told.append(
            f"That two who have nothing to do with each other use one seed: log10 p {base.log10_p:.1f}"
            + (", which excludes nothing." if not base.significant else ".")
        )
    if seeds.different is not None:
        one, other = (", ".join(str(seed) for seed in side[:NAMED]) for side in seeds.different)
        told.append(f"The readings find different seeds: {one} in the first, {other} in the second.")
    return told


def _shared_seed(shared: SharedSeed) -> str:
    layouts = ""
    if any(shared.threads):
        one, other = (
            ", ".join(f"{count:,}" for count in side) if side else "not determined" for side in shared.threads
        )
        layouts = f", G = {one}" if one == other else f", G = {one} in the first and {other} in the second"
    rule = f", {shared.rule}" if shared.rule else ""
    known = f" This seed is known: {shared.known}." if shared.known else ""
    where = f" in {named(shared.tensors)}" if shared.tensors else ", in different tensors"
    p = "" if shared.log10_p is None else f" (log10 p of the weaker {shared.log10_p:.0f})"
    return f"Both readings find {shared.generator} seed {shared.seed}{layouts}{rule}{where}{p}.{known}"


def moved(telling: Sequence[Pairing]) -> tuple[int, int]:
    """Untouched rows of the first that the second moved, and the other way round."""
    found = [each.fresh.moved for each in telling if each.fresh is not None]
    return sum(one for one, _ in found), sum(other for _, other in found)


def about_later(telling: Sequence[Pairing], later: Literal[1, 2]) -> list[str]:
    """Which one was trained further."""
    by_second, by_first = moved(telling)
    word, other = ("second", "first") if later == 2 else ("first", "second")
    return [
        f"The {word} moved {max(by_first, by_second):,} rows that the {other} left alone, which moved "
        f"{min(by_first, by_second):,} of the {word}'s: the {word} was trained further."
    ]


def closing(kind: str, *, partial: bool = False) -> list[str]:
    """What the relation leaves open."""
    told = []
    if partial:
        told.append("So only a part is shared: the rest was drawn anew, or was never one.")
    left_open = {
        "same-birth": "They have the same initial values. Whether one descends from the other is left open, "
        "and strangers who draw one seed alike have them too.",
        "one-start": "They had one start: the same initial values, or one was trained from the other. Only "
        "models without hidden units, whose weights the data alone fix, are so alike without one.",
        "related": "What they share is not told: a start, training, or only data that fix the weights.",
        "one-seed": "A shared seed alone is no lineage: no value is shown to be shared.",
        "different-births": "They were not drawn as one, whatever their training had in common.",
        "unrelated": "Nothing in common was seen, which is less than unrelated.",
    }
    return told + ([left_open[kind]] if kind in left_open else [])


def background(telling: Sequence[Pairing], trials: int, *, with_power: bool) -> list[str]:
    """What was measured to hold the findings against; what would have been seen, if that is wanted."""
    told: list[str] = []
    trained = [each.trained for each in telling if each.trained is not None]
    fresh = [each.fresh for each in telling if each.fresh is not None]
    if not telling:
        return told
    told.append(f"Trials counted: {trials:,} (tensors that tell, over all pairs).")
    if trained:
        shifts = sum(each.shifts for each in trained)
        told.append(
            f"Background of trained rows: {shifts:,} shifted pairings, largest r "
            f"{max(each.background for each in trained):.4f}; p is Student's tail over each tensor's "
            f"{trained[0].shifts}, by counting alone it would be at most 1 in {trained[0].shifts + 1}."
        )
    shifted = [each.shifted for each in fresh if each.shifted is not None]
    if shifted:
        told.append(
            f"Background of untouched rows: {sum(each.shifts for each in fresh):,} shifted pairings, largest "
            f"r {max(shifted):.4f}; p is the Gaussian tail of r sqrt(n), or the share of a sphere for rows "
            "that hold one draw."
        )
    rate = max(each.copied.rate for each in telling)
    told.append(f"Values of shifted rows coincide in {rate:.1e} of cases at the most; p is Chernoff's bound.")
    if with_power:
        told += _power([each.detectable for each in trained], fresh)
    return told


def _power(detectable: Sequence[float], untouched: Sequence[Fresh]) -> list[str]:
    """What would have been seen."""
    told = []
    if untouched:
        least = [each.least_same for each in untouched if each.least_same is not None]
        units = sum(each.units for each in untouched)
        told.append(
            f"Seen would have been: one draw in {min(least, default=units):,} of the {units:,} rows and "
            "columns that are untouched in either, scaled or not."
        )
    else:
        told.append("Neither has rows that look untouched, so only trained values could have shown anything.")
    if detectable:
        told.append(
            f"Seen would have been: a correlation of trained rows of r = {min(detectable):.3f} in the best, "
            f"{float(np.median(detectable)):.3f} in the median tensor; equal values of 5% of the rows."
        )
    return told


def seeds_as_dict(seeds: Seeds) -> dict[str, Any]:
    """JSON types only."""
    base = seeds.base
    return {
        "shared": [asdict(each) for each in seeds.shared],
        "base": None
        if base is None
        else {
            "base": base.base,
            "rules": {name: rule.name for name, rule in base.rules.items()},
            "trials": base.trials,
            "log10_p": base.log10_p,
            "significant": base.significant,
        },
        "different": seeds.different,
    }
