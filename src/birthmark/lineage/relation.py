"""From comparisons to a relation: which of the named ones the evidence amounts to, and in which words.

A shared birth is proved by untouched rows alone, or by one seed in both readings. Shared training is proved
by trained rows with equal bits, which two trainings do not give. Correlated trained rows without a shared
birth prove that something is shared, but not what.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from birthmark.lineage.pairing import Pairing

Kind = Literal["identical", "descendant", "same-birth", "related", "unrelated", "not-compared"]

#: After all trials the untouched rows' score must be rarer than this.
SIGNIFICANT: Final = -6.0
#: Sigmas that a shared birth shows at least this correlation at; a weaker one is left to the trained rows.
LEAST_R: Final = 0.05
#: With fewer values than the smallest layouts' first wave, equal first rows say nothing about layouts.
FIRST_WAVE: Final = 28_672
#: So many rows more must one have moved than the other, and so many times as many, to be the later one.
LEAST_MOVED, MORE_MOVED = 10, 3
#: Trained rows with equal bits from which training was shared: a survey can miss some untouched ones, which a
#: shared birth makes equal, but not so many.
LEAST_EQUAL, EQUAL_SHARE = 32, 0.05


@dataclass(frozen=True, slots=True)
class Origin:
    """A seed that a reading found in a checkpoint.

    Attributes:
        tensor: where.
        generator, seed, threads: of the finding; threads None where the generator has no layout.
        log10_p: of the finding on its hold-out, after trials.
    """

    tensor: str
    generator: str
    seed: int
    threads: int | None
    log10_p: float | None


@dataclass(frozen=True, slots=True)
class Relation:
    """How two checkpoints are related.

    Attributes:
        kind: "identical": all that was compared has equal bits; "descendant": one birth, and training in
            common; "same-birth": one birth; "related": trained values have something in common;
            "unrelated": nothing in common was seen; "not-compared": no tensor could be compared.
        log10_p: of the evidence for the birth (or of the published matching test, for "related"), after
            trials; None where there is none.
        later: 1 or 2 where untouched rows tell which one was trained longer; None otherwise.
        reasons: what it rests on, in sentences.
        pairings: the comparisons.
    """

    kind: Kind
    log10_p: float | None
    later: Literal[1, 2] | None
    reasons: tuple[str, ...]
    pairings: tuple[Pairing, ...]


def relate(
    pairings: Sequence[Pairing], origins: tuple[Sequence[Origin], Sequence[Origin]] = ((), ())
) -> Relation:
    """The relation of two checkpoints.

    Args:
        pairings: their common tensors.
        origins: what readings of either found; empty where none were made.
    """
    if not pairings:
        reasons: tuple[str, ...] = ("They have no floating-point tensor of one name and shape.",)
        return Relation("not-compared", None, None, reasons, ())
    told: list[str] = []
    if all(each.identical for each in pairings):
        told.append(f"All that was compared in {_tensors(len(pairings))} has equal bits.")
        return Relation("identical", None, None, tuple(told), tuple(pairings))
    birth = _birth(pairings, told)
    seeds = _same_seed(origins, told)
    shared = _training(pairings, told, birth=birth is not None or seeds is not None)
    matching = _published(pairings, told)
    later = _later(pairings, told) if birth is not None else None
    kind: Kind
    if birth is not None or seeds is not None:
        kind = "descendant" if shared == "equal" else "same-birth"
    elif shared != "none":
        kind = "related"
    else:
        kind = "unrelated"
        told.append(
            "Nothing in common was seen; a birth of which both trainings left no trace would not show."
        )
    p = birth if birth is not None else (matching if kind == "related" else seeds)
    return Relation(kind, p, later, tuple(told), tuple(pairings))


def _birth(pairings: Sequence[Pairing], told: list[str]) -> float | None:
    """log10 p of the strongest untouched rows in common."""
    found = [
        (each.fresh.log10_p_global, each)
        for each in pairings
        if each.fresh is not None
        and each.fresh.rarer_than(SIGNIFICANT)
        and each.fresh.r is not None
        and each.fresh.r >= LEAST_R + max(0.0, each.shifted or 0.0)
    ]
    proofs = sorted(((p, each) for p, each in found if p is not None), key=lambda one: one[0])
    for p, each in proofs[:4]:
        assert each.fresh is not None
        factor = "" if each.factor is None else f", scaled by {each.factor:.6g}"
        told.append(
            f"{each.tensor}: rows that are untouched in either have r = {each.fresh.r:.4f} over "
            f"{each.fresh.n:,} values (log10 p {p:.0f}); {each.same_rows:,} of {each.fresh_rows:,} rows hold "
            f"one draw{factor}."
        )
    apart = [
        each for _, each in proofs if each.prefix and each.fresh is not None and each.fresh.n > FIRST_WAVE
    ]
    if apart:
        told.append(
            f"{apart[0].tensor}: its first {apart[0].same_rows:,} untouched rows agree and no later one "
            "does, as when one seed is drawn on two launch layouts."
        )
    if len(proofs) > 4:
        told.append(f"So do untouched rows of {_tensors(len(proofs) - 4)} more.")
    if not proofs and any(each.fresh is not None for each in pairings):
        told.append("Rows that are untouched in either hold different draws.")
    return proofs[0][0] if proofs else None


def _same_seed(origins: tuple[Sequence[Origin], Sequence[Origin]], told: list[str]) -> float | None:
    """log10 p of the weaker of two findings of one seed."""
    best: float | None = None
    for one in origins[0]:
        for other in origins[1]:
            if (one.generator, one.seed, one.threads) != (other.generator, other.seed, other.threads):
                continue
            layout = "" if one.threads is None else f", G = {one.threads:,}"
            told.append(f"Both readings find {one.generator} seed {one.seed}{layout} ({one.tensor}).")
            if one.log10_p is not None and other.log10_p is not None:
                p = max(one.log10_p, other.log10_p)
                best = p if best is None else min(best, p)
    return best


def _training(
    pairings: Sequence[Pairing], told: list[str], *, birth: bool
) -> Literal["equal", "alike", "none"]:
    trained = [each.trained for each in pairings if each.trained is not None]
    equal, rows = sum(each.equal_rows for each in trained), sum(each.rows for each in trained)
    out = sorted((each for each in trained if each.stands_out), key=lambda each: -each.r)
    if out:
        told.append(
            f"Trained rows correlate beyond structure in {len(out)} of {_tensors(len(trained))}: r up to "
            f"{out[0].r:.3f}, {out[0].sigma:.0f} sigma over shifted rows."
        )
    elif trained:
        told.append(f"Trained rows of {_tensors(len(trained))} correlate no more than shifted ones do.")
    if equal >= max(LEAST_EQUAL, EQUAL_SHARE * rows):
        told.append(f"{equal:,} of {rows:,} trained rows have equal bits: they share training.")
        return "equal"
    if out and birth:
        told.append("With one birth, that comes of shared training or of two that changed little.")
    return "alike" if out else "none"


def _published(pairings: Sequence[Pairing], told: list[str]) -> float | None:
    """The strongest matching of units, after as many trials as there are layers."""
    tests = [each.matching for each in pairings if each.matching is not None]
    if not tests:
        return None
    best = min(tests, key=lambda each: each.log10_p)
    p = min(0.0, best.log10_p + math.log10(len(tests)))
    told.append(
        f"Units matched by cosine (Zhu et al. 2025): rank correlation with their own order up to "
        f"{best.rho:.3f} (log10 p {p:.1f} after {len(tests)} layers)."
    )
    return p


def _later(pairings: Sequence[Pairing], told: list[str]) -> Literal[1, 2] | None:
    """Which one moved rows that the other left alone, and hardly the other way round."""
    by_second, by_first = (sum(each.moved[way] for each in pairings) for way in (0, 1))
    if max(by_first, by_second) < max(LEAST_MOVED, MORE_MOVED * min(by_first, by_second)):
        return None
    later: Literal[1, 2] = 2 if by_second > by_first else 1
    word, other = ("second", "first") if later == 2 else ("first", "second")
    told.append(
        f"The {word} moved {max(by_first, by_second):,} rows that the {other} left alone, which moved "
        f"{min(by_first, by_second):,} of the {word}'s: the {word} was trained further."
    )
    return later


def _tensors(count: int) -> str:
    return f"{count:,} tensor{'s' if count != 1 else ''}"
