"""From words to the generator's state: which equations to use, what to do about wrong ones, when to believe.

A hold-out of words is set aside first. The other words enter in a random order, those that vouch for each
other first, until there are somewhat more equations than unknowns. A contradiction means that a wrong word
was among them, or that no such generator made the words; then another random subset is tried. A state is
believed when words that it was not made of agree with it. Unknowns that no equation fixes are left unknown,
never set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937 import following
from birthmark.generators.mt19937_field import DEGREE, raw_words
from birthmark.generators.mt19937_words import SIZE
from birthmark.search.solve.certify import HARDLY_ANY, SOUND, certify
from birthmark.search.solve.doubt import settle
from birthmark.search.solve.elimination import System
from birthmark.search.solve.enter import CAPACITY, SPARE, Order, enter
from birthmark.search.solve.equations import BITS, Words, bits_of

Reason = Literal["too-few", "under-determined", "inconsistent", "coarser"]

#: Words that are set aside, at least and at most.
LEAST_HOLDOUT: Final = 64
MOST_HOLDOUT: Final = 512
#: Random subsets that are tried before the words count as inconsistent. One is right with a chance of 8 %
#: if 0.3 %
#: of the words are wrong.
ATTEMPTS: Final = 32
#: Share of the words that passed once which stay out after a contradiction.
LEFT_OUT: Final = 0.25
#: A state is believed if its agreement with the hold-out has at most this chance (log10).
BELIEVED: Final = -15.0
#: So many triples do not pass by luck: with three exact words the chance is 2^-15 each.
LEAST_PASSED: Final = 16
#: Of so many exact words no bit is the same in all, but for one chance in 2^40.
VARIED: Final = 48


@dataclass(frozen=True, slots=True)
class Tally:
    """The equations of an elimination.

    Attributes:
        rank: independent ones, at most 19,937.
        satisfied: dependent ones that agreed with the others; each had a chance of one half.
        violated: dependent ones that contradicted them.
        selected: whether words were used because they agreed with others; then their agreement proves
            nothing, and only the hold-out counts.
    """

    rank: int = 0
    satisfied: int = 0
    violated: int = 0
    selected: bool = False

    @property
    def equations(self) -> int:
        """All of them."""
        return self.rank + self.satisfied + self.violated

    @property
    def log10_p(self) -> float:
        """The chance that the dependent equations agree by luck, 2^-satisfied, as a power of ten."""
        return 0.0 if self.violated or self.selected else -self.satisfied * math.log10(2.0)


#: Before any elimination.
NO_EQUATIONS: Final = Tally()


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far words that an elimination did not use agree with its state.

    Attributes:
        of: words set aside.
        agreeing: those that the state predicts.
        log10_p: an upper bound of the chance of that, as a power of ten.
    """

    of: int = 0
    agreeing: int = 0
    log10_p: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """What eliminations found.

    Attributes:
        position: where the window starts, counted from the draw's first word.
        window: uint32[624], the raw words of the outputs from there on; None where `reason` says why not.
        reason: "too-few": fewer equations than unknowns; "under-determined": enough, but dependent on each
            other; "inconsistent": no subset that was tried agrees with itself and with the hold-out;
            "coarser": some bit is the same in all words; None if solved.
        known: equations that the words offer in all.
        tally: the equations of the last attempt.
        holdout: the agreement with the words set aside.
        attempts: subsets that were tried.
        triples: triples of words that could check each other.
        passed: triples that did.
    """

    position: int
    window: NDArray[np.uint32] | None = None
    reason: Reason | None = None
    known: int = 0
    tally: Tally = NO_EQUATIONS
    holdout: Agreement = Agreement()
    attempts: int = 0
    triples: int = 0
    passed: int = 0

    @property
    def recurring(self) -> bool:
        """Whether triples pass so often that the recurrence holds between the words, solved or not."""
        return self.passed >= LEAST_PASSED and self.passed >= HARDLY_ANY * self.triples


def recover(
    words: Words,
    units: NDArray[np.int64] | None = None,
    trust: NDArray[np.float64] | None = None,
    *,
    vouching: bool = True,
    attempts: int = ATTEMPTS,
    entropy: int = 0,
) -> Recovery:
    """The state behind words of one stream.

    Args:
        words: what is known of the words; some of it may be wrong.
        units: int64[n], what each word belongs to (a row, a column) that is right or wrong as a whole.
        trust: float64[n], the probability that a word's unit is right.
        vouching: whether words are checked against each other first; sensible where most are known exactly.
        attempts: how many random subsets are tried at most.
        entropy: seed of the random choices.
    """
    rng = np.random.default_rng(entropy)
    aside = _set_aside(words)
    holdout, usable = words.take(aside), words.take(~aside)
    certificate = certify(usable if vouching else usable.take(np.zeros(len(usable), np.bool_)))
    if vouching:
        usable = certificate.words
    bits = bits_of(usable)
    if vouching and is_coarser(usable):
        return Recovery(int(words.position[0]), reason="coarser", known=int(bits.sum()))
    found = Recovery(
        position=int(words.position[0]) if len(words) else 0,
        known=int(bits.sum()),
        triples=certificate.triples,
        passed=certificate.passed,
        holdout=Agreement(of=len(holdout)),
    )
    if found.known < DEGREE:
        return replace(found, reason="too-few")
    if certificate.refuted:
        return replace(found, reason="inconsistent")

    # Words that vouch for each other enter first, unless nearly all do: then there is nothing to choose.
    doubtful = found.passed < SOUND * found.triples
    unit = np.arange(len(words)) if units is None else units
    order = Order(rng, unit[~aside], np.ones(len(usable)) if trust is None else trust[~aside])
    # With hardly more equations than are needed, other subsets would be nearly the same.
    for attempt in range(attempts if found.known > DEGREE + 4 * SPARE else 1):
        system = System(DEGREE, CAPACITY)
        sequence = order.draw(attempt)
        sure = (
            _sure(certificate.passes, attempt, rng)[sequence]
            if doubtful
            else np.ones(len(sequence), np.bool_)
        )
        entering, waiting = sequence[sure], sequence[~sure]
        used = enter(system, usable, bits, entering, found.position)
        rest = None
        if doubtful and not (system.violated or system.solved):
            rest = settle(system, usable, np.concatenate([entering[used:], waiting]), rng, found.position)
        found = replace(
            found, attempts=attempt + 1, tally=_tally(system, rest, doubtful), reason="inconsistent"
        )
        if system.violated:
            continue
        if not (system.solved or rest):
            return replace(found, reason="under-determined")
        window = raw_words(system.solution(rest.solution() if rest else None), SIZE)
        found = replace(found, holdout=agreement_of(window, found.position, holdout))
        if found.holdout.log10_p <= BELIEVED:
            return replace(found, window=window, reason=None)
    return found


def is_coarser(words: Words) -> bool:
    """Whether some bit is the same in all exactly known words: a generator of fewer bits drew them.

    JAX and TensorFlow make uniforms of 23 bits, which lie on the lattice of 24.
    """
    exact = words.low[words.exact]
    if len(exact) < VARIED:
        return False
    ever, always = np.bitwise_or.reduce(exact), np.bitwise_and.reduce(exact)
    return bool(ever != (1 << BITS) - 1 or always != 0)


def _sure(passes: NDArray[np.int64], attempt: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The words that others vouch for; after a contradiction without some of those that passed only once."""
    sure: NDArray[np.bool_] = passes > 0
    if attempt:
        sure &= (passes > 1) | (rng.random(len(passes)) >= LEFT_OUT)
    return sure


def _tally(system: System, rest: System | None, selected: bool) -> Tally:
    """The equations of a system and of the one that settled what it left open."""
    parts = [system] if rest is None else [system, rest]
    return Tally(
        sum(part.rank for part in parts),
        sum(part.satisfied for part in parts),
        sum(part.violated for part in parts),
        selected,
    )


def agreement_of(window: NDArray[np.uint32], position: int, words: Words) -> Agreement:
    """How far words, none of them before a window's position, agree with the outputs that follow."""
    outputs = following(window, words.position - position) & np.uint32((1 << BITS) - 1)
    agree = (words.low <= outputs) & (outputs <= words.high)
    chance = np.log10((words.high[agree].astype(np.float64) - words.low[agree] + 1.0) / (1 << BITS))
    n, k = len(words), int(np.count_nonzero(agree))
    # The chance that these k agree, times the number of ways to choose k of n.
    choices = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(10.0)
    return Agreement(n, k, min(0.0, float(chance.sum()) + choices))


def _set_aside(words: Words) -> NDArray[np.bool_]:
    """Which words form the hold-out: the first and the last ones.

    A gap within a stretch would leave open what only the words around it determine; at the ends nothing is
    lost.
    """
    bits = bits_of(words)
    average = max(float(bits.mean()), 1.0) if len(words) else 1.0
    spare = int((float(bits.sum()) - 2.0 * DEGREE) / average / 4.0)
    count = min(max(spare, LEAST_HOLDOUT), MOST_HOLDOUT, len(words))
    aside = np.ones(len(words), np.bool_)
    aside[count // 2 : len(words) - (count - count // 2)] = False
    return aside
