"""The sentences of a relation: what untouched and trained parts say, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from birthmark.lineage.pairing import Pairing

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
    if supposed and proofs:
        r = max(each.fresh.score.r or 0.0 for _, each in supposed if each.fresh is not None)
        told.append(
            f"What looks untouched in either correlates in {tensors(len(supposed))} more, r up to {r:.4f}, "
            "though no row of it holds one draw to within rounding."
        )
    elif supposed:
        found = [
            f"{each.tensor} (r = {each.fresh.score.r or 0.0:.4f}, log10 p {p:.0f})"
            for p, each in supposed
            if each.fresh is not None
        ]
        told.append(
            f"What looks untouched in either correlates in {tensors(len(supposed))}: {named(found)}, if it "
            "is untouched. No row holds one draw to within rounding, so that training that only left rows "
            "looking fresh is not excluded."
        )
    told += [
        f"{each.tensor}: {each.fresh.reordered:,} of {each.fresh.units:,} untouched {each.fresh.axis}s hold "
        "the same values in both in another order, as when hidden units are permuted."
        for each in telling
        if each.fresh is not None and each.fresh.is_reordered
    ]
    apart = [
        each for each in telling if each.fresh is not None and each.fresh.differs and not each.rearranged
    ]
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
            f"{out[0].r:.3f}, median {median:.3f}, {out[0].sigma:.0f} sigma over shifted ones."
        )
    elif trained:
        told.append(f"Trained rows of {tensors(len(trained))} correlate no more than shifted ones do.")
    rows = sum(each.trained_rows for each in telling)
    if equal and shared:
        told.append(f"{equal:,} of {rows:,} trained rows agree in every value.")
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


def moved(telling: Sequence[Pairing]) -> tuple[int, int]:
    """Untouched rows of the first that the second moved, and the other way round."""
    found = [each.fresh.moved for each in telling if each.fresh is not None]
    return sum(one for one, _ in found), sum(other for _, other in found)


def about_later(telling: Sequence[Pairing], later: Literal[1, 2]) -> list[str]:
    """Which one was trained further."""
    by_second, by_first = moved(telling)
    word, other = ("second", "first") if later == 2 else ("first", "second")
    return [
        f"The {word} moved {max(by_first, by_second):,} rows or columns that the {other} left alone, which "
        f"moved {min(by_first, by_second):,} of the {word}'s: the {word} was changed further."
    ]


def closing(kind: str, *, partial: bool = False) -> list[str]:
    """What the relation leaves open."""
    told = []
    if partial:
        told.append(
            "So only a part is shared: the rest was drawn anew, or was never one. A table that a library "
            "draws from a fixed seed is such a part, and no lineage."
        )
    left_open = {
        "same-birth": "What they share had the same initial values. Whether one descends from the other is "
        "left open, and strangers who draw one seed alike have them too.",
        "one-start": "They had one start: the same initial values, or one was trained from the other. Only "
        "models without hidden units, whose weights the data alone fix, are so alike without one.",
        "related": "What they share is not told: a start, training, or only data that fix the weights.",
        "one-seed": "A shared seed alone is no lineage: no value is shown to be shared.",
        "different-births": "What was compared was not drawn as one, whatever their training had in common.",
        "unrelated": "Nothing in common was seen, which is less than unrelated.",
    }
    return told + ([left_open[kind]] if kind in left_open else [])
