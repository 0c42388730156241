"""From comparisons to a relation: which of the named ones the evidence amounts to.

Rows that hold one draw, or one seed drawn alike in both readings, prove a shared birth. Trained rows with
equal values, which two trainings do not give, prove shared training. Matrices that correlate in place prove a
common start where there are several: hidden units have no order of their own. What looks untouched is only a
judgement, so a mere correlation of such rows proves a birth where the values lie on a generator's grid, and a
start where all of a checkpoint looks untouched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from birthmark.lineage import copy_wording, seed_wording, wording
from birthmark.lineage.background import background
from birthmark.lineage.fresh import Fresh
from birthmark.lineage.origins import Origin, Seeds, compare_seeds
from birthmark.lineage.pairing import Pairing
from birthmark.lineage.parallel import SIGNIFICANT

Kind = Literal[
    "identical", "copy", "descendant", "same-birth", "one-start", "one-seed", "related",
    "different-births", "unrelated", "not-compared",
]  # fmt: skip

#: A correlation of untouched rows must be so much above that of shifted ones.
LEAST_R: Final = 0.05
#: Share of a checkpoint's matrices that look untouched, from which all of it is untrained; how many at least.
UNTRAINED, LEAST_UNTRAINED = 0.9, 3
#: So many rows more must one have moved than the other, and so many times as many, to be the later one.
LEAST_MOVED, MORE_MOVED = 10, 3
#: Trained rows with equal values from which training was shared: a survey can miss some untouched ones, which
#: a shared birth makes equal, but not so many.
LEAST_EQUAL, EQUAL_SHARE = 32, 0.05
#: Matrices that correlate in place from which there was one start, and their share of those compared.
LEAST_ALIKE, ALIKE_SHARE = 3, 0.5

#: Relations in which something in common was seen.
COMMON_KINDS: Final = ("identical", "copy", "descendant", "same-birth", "one-start", "related")


@dataclass(frozen=True, slots=True)
class Relation:
    """How two checkpoints are related.

    Attributes:
        kind: "identical": all values are equal; "copy": all values follow from the other's (see `how`);
            "descendant": training in common; "same-birth": one birth; "one-start": one birth, or one trained
            from the other; "one-seed": one (base) seed in both readings, without equal values; "related":
            trained values have something in common; "different-births": what is untouched in both holds
            different draws; "unrelated": nothing in common was seen; "not-compared": nothing to compare.
        how: of a copy, in words; None otherwise.
        partial: whether a part holds different draws although the rest shares its birth.
        log10_p: of the evidence for the kind, after trials; None where there is none.
        trials: comparisons that its p counts.
        later: 1 or 2 where it can be told which one follows from the other; None otherwise.
        reasons: what it rests on, in sentences.
        background: what was measured to hold it against, and what would have been seen, in sentences.
        seeds: what the readings of both say of each other.
        pairings: the comparisons.
        shared: tensors of the first in which a shared birth is proved.
    """

    kind: Kind
    how: str | None
    partial: bool
    log10_p: float | None
    trials: int
    later: Literal[1, 2] | None
    reasons: tuple[str, ...]
    background: tuple[str, ...]
    seeds: Seeds
    pairings: tuple[Pairing, ...]
    shared: tuple[str, ...] = ()

    @property
    def is_common(self) -> bool:
        """Whether something in common was seen; a seed that strangers share by accident is none."""
        base = self.seeds.base
        by_seed = self.kind == "one-seed" and base is not None and base.significant
        return by_seed or self.kind in COMMON_KINDS

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        return {
            "kind": self.kind,
            "how": self.how,
            "partial": self.partial,
            "log10_p": self.log10_p,
            "trials": self.trials,
            "later": self.later,
            "reasons": list(self.reasons),
            "background": list(self.background),
            "shared": list(self.shared),
            "seeds": seed_wording.seeds_as_dict(self.seeds),
            "pairings": [each.as_dict() for each in self.pairings],
        }


def relate(
    pairings: Sequence[Pairing],
    origins: tuple[Sequence[Origin], Sequence[Origin]] = ((), ()),
    *,
    trials: int = 1,
) -> Relation:
    """The relation of two checkpoints.

    Args:
        pairings: their common tensors.
        origins: what readings of either found; empty where none were made.
        trials: tensors and pairs that were compared in all.
    """
    telling = [each for each in pairings if each.aside is None]
    seeds = compare_seeds(*origins)
    told = copy_wording.about_values(pairings)
    found = _Evidence.of(telling, seeds, trials)
    kind, log10_p = found.kind()
    how, later = None, found.later() if found.birth is not None else None
    if kind == "copy":
        how, later = copy_wording.copy_of(telling)
    if kind not in ("identical", "copy"):
        told += wording.about_birth(telling, found.proofs, found.supposed)
        told += wording.about_training(telling, found.equal, shared=found.shared_training)
        told += wording.about_matching(telling)
    told += seed_wording.about_seeds(seeds)
    if later is not None and kind not in ("identical", "copy"):
        told += wording.about_later(telling, later)
    partial = kind in ("same-birth", "descendant") and any(_differs(each) for each in telling)
    told += wording.closing(kind, partial=partial)
    held_against = background(telling, trials, with_power=kind in ("unrelated", "different-births"))
    return Relation(
        kind, how, partial, log10_p, trials, later, tuple(told), tuple(held_against), seeds, tuple(pairings),
        _shared(kind, telling, found),
    )  # fmt: skip


def _shared(kind: Kind, telling: Sequence[Pairing], found: _Evidence) -> tuple[str, ...]:
    """Tensors whose initial values the two have in common, by whatever proof."""
    if kind not in ("identical", "copy", "descendant", "same-birth"):
        return ()
    by_seed = found.seeds.proves
    names = {each.tensor for _, each in found.proofs} | set(by_seed.same_values if by_seed else ())
    names |= {each.tensor for each in telling if each.copied.is_copy}
    if kind == "descendant":
        names |= {each.tensor for each in telling if each.equal_rows}
    return tuple(each.tensor for each in telling if each.tensor in names)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the telling tensors of a pair amount to."""

    telling: Sequence[Pairing]
    seeds: Seeds
    trials: int
    proofs: tuple[tuple[float, Pairing], ...]
    supposed: tuple[tuple[float, Pairing], ...]
    equal: int

    @classmethod
    def of(cls, telling: Sequence[Pairing], seeds: Seeds, trials: int) -> _Evidence:
        proofs: list[tuple[float, Pairing]] = []
        supposed: list[tuple[float, Pairing]] = []
        for each in telling:
            if each.fresh is None:
                continue
            rarity, is_proof = _birth(each.fresh)
            if rarity is not None:
                (proofs if is_proof else supposed).append((rarity, each))
        for some in (proofs, supposed):
            some.sort(key=lambda one: one[0])
        equal = sum(each.equal_rows for each in telling)
        return cls(telling, seeds, trials, tuple(proofs), tuple(supposed), equal)

    @property
    def birth(self) -> float | None:
        """log10 p of the strongest proof by untouched rows."""
        return self.proofs[0][0] if self.proofs else None

    @property
    def shared_training(self) -> bool:
        """Whether training was shared: equal trained rows, or a difference of low rank."""
        rows = sum(each.trained_rows for each in self.telling)
        adapted = any(each.trained is not None and each.trained.rank is not None for each in self.telling)
        return self.equal >= max(LEAST_EQUAL, EQUAL_SHARE * rows) or (adapted and self._alike >= 1)

    @property
    def _out(self) -> list[Pairing]:
        return [each for each in self.telling if each.trained is not None and each.trained.stands_out]

    @property
    def _alike(self) -> int:
        return len(self._out)

    def kind(self) -> tuple[Kind, float | None]:
        """The relation, and the log10 p of what proves it."""
        trained = [each.trained for each in self.telling if each.trained is not None]
        by_training = min((each.log10_p for each in trained if each.stands_out), default=None)
        copies = [each for each in self.telling if each.copied.is_copy]
        if copies and all(each.copied.is_copy or each.rearranged for each in self.telling):
            same = all(each.copied.identical and each.common.beyond == (0, 0) for each in self.telling)
            return ("identical" if same else "copy"), self._by_values()
        if self.shared_training:
            return "descendant", min(self._by_values(), by_training or 0.0, self.birth or 0.0)
        if self.birth is not None:
            return "same-birth", self.birth
        if (by_seed := self.seeds.proves) is not None:
            return "same-birth", by_seed.log10_p
        if self._alike >= max(LEAST_ALIKE, ALIKE_SHARE * len(trained)):
            return "one-start", by_training
        if len(self.supposed) >= LEAST_UNTRAINED and _untrained(self.telling):
            return "one-start", self.supposed[0][0]
        if self.supposed or self._alike:
            return "related", min([by_training or 0.0, *(p for p, _ in self.supposed)])
        if any(each.rearranged or (each.fresh and each.fresh.is_reordered) for each in self.telling):
            return "related", None
        base = self.seeds.base
        if base is not None and (self.seeds.shared or base.significant):
            return "one-seed", base.log10_p
        if any(_differs(each) for each in self.telling):
            return "different-births", None
        return ("unrelated" if self.telling else "not-compared"), None

    def _by_values(self) -> float:
        """log10 p of the values that agree, in the tensor that says most."""
        best = min((each.copied.log10_p for each in self.telling), default=0.0)
        return min(0.0, best + math.log10(max(1, self.trials)))

    def later(self) -> Literal[1, 2] | None:
        """Which one moved rows that the other left alone, and hardly the other way round."""
        by_second, by_first = wording.moved(self.telling)
        if max(by_first, by_second) < max(LEAST_MOVED, MORE_MOVED * min(by_first, by_second)):
            return None
        return 2 if by_second > by_first else 1


def _birth(fresh: Fresh) -> tuple[float | None, bool]:
    """log10 p of a birth in common, and whether that is proved; None where nothing speaks for one."""
    r, above = fresh.score.r, LEAST_R + max(0.0, fresh.shifted or 0.0)
    correlate = r is not None and r >= above and fresh.score.rarer_than(SIGNIFICANT)
    if fresh.log10_p_same <= SIGNIFICANT:
        # Of two true probabilities the larger is given: it supposes less.
        return fresh.score.log10_p_global if correlate else fresh.log10_p_same, True
    if not correlate:
        return None, False
    return fresh.score.log10_p_global, fresh.on_grid or _all_of_it(fresh)


def _all_of_it(fresh: Fresh) -> bool:
    """Whether narrow or quantised rows agree as a whole, which are too few values to do so one by one."""
    return fresh.same == fresh.units and not fresh.same_shifted and (fresh.score.r or 0.0) > 0.98


def _untrained(telling: Sequence[Pairing]) -> bool:
    """Whether nearly all matrices of one of the two look untouched as a whole, and hardly any of the other.

    Where both look so and hold no one draw, neither can be believed.
    """
    matrices = [each for each in telling if each.common.rows > 1]
    total = sum(each.common.size for each in matrices)
    for side in (0, 1):
        whole = [each for each in matrices if each.fresh is not None and each.fresh.whole[side]]
        both = [each for each in whole if each.fresh is not None and each.fresh.whole[1 - side]]
        if len(whole) >= LEAST_UNTRAINED and sum(each.common.size for each in whole) >= UNTRAINED * total:
            return 2 * len(both) <= len(whole)
    return False


def _differs(pairing: Pairing) -> bool:
    return pairing.fresh is not None and pairing.fresh.differs and not pairing.rearranged
