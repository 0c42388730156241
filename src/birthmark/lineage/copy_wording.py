"""The sentences about values: how many agree and in which way, what was set aside, what kind of copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from birthmark.lineage.copying import Copied
from birthmark.lineage.pairing import Pairing
from birthmark.lineage.wording import NAMED, named, tensors
from birthmark.numerics.dtypes import FORMATS


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
            f"{each.tensor}: the {place} has {count:,} {_units(each, count)} more; the leading ones that "
            "both have are compared."
        )
    told += [
        f"{each.tensor}: {each.placed.found:,} of {each.placed.looked_up:,} rows of the second that were "
        "looked up lie in other places of the first, with equal values."
        for each in pairings
        if each.placed is not None and each.rearranged
    ]
    aside = [f"{each.tensor} ({each.aside})" for each in pairings if each.aside is not None]
    if aside:
        told.append(f"Set aside, since strangers have them alike: {named(aside)}.")
    return told


def _units(pairing: Pairing, count: int) -> str:
    unit = "element" if pairing.common.is_vector else "row"
    return unit if count == 1 else f"{unit}s"


def _ways(telling: Sequence[Pairing]) -> str:
    words = {
        "rounded": "once rounded to {dtype}",
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
        narrow = [grid for each in casts for grid in each.grids if FORMATS[grid].bits == 16]
        words.append(
            f"up to rounding to {' and '.join(dict.fromkeys(narrow or [each.dtype for each in casts]))}"
        )
        for each in casts:
            first, second = (FORMATS[grid] for grid in each.grids)
            # Of float16 and bfloat16 neither follows from the other.
            if first.bits != second.bits:
                later.add(1 if first.bits < second.bits else 2)
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
    for side, place in enumerate(("first", "second")):
        more = [each for each in telling if each.common.beyond[side]]
        if more:
            count = max(each.common.beyond[side] for each in more)
            words.append(f"but for {count:,} {_units(more[0], count)} more in the {place}")
    if any(each.rearranged for each in telling):
        words.append("with rows in another order")
    rest = sum(_rest(each.copied) for each in telling if not each.rearranged)
    if rest:
        words.append(f"but for {rest:,} values")
    return ", ".join(words) or "as stored", later.pop() if len(later) == 1 else None


def _rest(copied: Copied) -> int:
    return copied.n - copied.equal - copied.explained - sum(copied.zeroed)
