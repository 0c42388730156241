"""The likelihood ratio of a finding: how much more probable the held-out values are if it is true.

Two propositions, written out. True: the values are the named draw, changed afterwards as much as the
selection shows. False: they are of the same distribution but owe nothing to that draw. Standardised values
y with predictions x are then normal around r x with variance 1 - r^2, or around 0 with variance 1; r comes
from the selection, so that nothing is fitted to the values that the ratio is taken on:

    ln LR = -n/2 ln(1 - r^2) - n (1 - 2 r q + r^2) / (2 (1 - r^2)) + n/2

with q the correlation on the n held-out values. The ratio does not know how many seeds were tried; after
trials, each of them as probable beforehand as the others, it is divided by their number. What is probable
beforehand about a lab's hardware, and what follows for it, is the reader's to say.

A layout read without its seed is scored by phases. Under it they are gathered around one direction (von
Mises, with the concentration kappa that the selection shows), else uniform. Of n phases with a mean of length
q, whatever its direction, ln LR = ln I0(kappa n q) - n ln I0(kappa) (Mardia and Jupp, "Directional
statistics", 2000, section 4.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from scipy.special import i0e, i1e

from birthmark.evidence.coherence import Coherence
from birthmark.evidence.score import Score

#: The selection's r is taken to be no nearer to 1 than this: rounding leaves a little, in float32 as well.
NEAREST: Final = 1e-12
#: The same for the length of a mean phase.
LONGEST: Final = 0.9999
#: Words for a ratio of at least ten to these powers, those of ENFSI's guideline for evaluative reporting in
#: forensic science (2015), table 1.
SCALE: Final = (
    (6.0, "extremely strong support"),
    (4.0, "very strong support"),
    (3.0, "strong support"),
    (2.0, "moderately strong support"),
    (1.0, "moderate support"),
    (math.log10(2.0), "weak support"),
    (-math.log10(2.0), "no support"),
)
AGAINST: Final = "support for the opposite"


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A likelihood ratio with its propositions.

    Attributes:
        log10: of the ratio on the hold-out.
        log10_after_trials: of the ratio divided by the number of predictions tried.
        words: what the latter is called.
        for_it, against_it: the two propositions.
    """

    log10: float
    log10_after_trials: float
    words: str
    for_it: str
    against_it: str


def likelihood(selection: Score, holdout: Score, *, origin: str, tensor: str) -> Likelihood | None:
    """The ratio of a candidate, from its two scores.

    Args:
        selection: its score on what the search saw, with the search's trials.
        holdout: its score on what it did not see.
        origin: what is claimed, such as "philox seed 42 with G = 270,336".
        tensor: which values it is about.

    Returns:
        None where either score does not exist, or the selection does not correlate.
    """
    if selection.r is None or holdout.r is None or selection.r <= 0.0:
        return None
    ratio = log10_ratio(selection.r, holdout.r, holdout.n)
    after = ratio - math.log10(max(1, selection.trials))
    return Likelihood(
        log10=ratio,
        log10_after_trials=after,
        words=in_words(after),
        for_it=f"The held-out values of {tensor} are what {origin} draws, as far as they were left alone.",
        against_it=f"They are random numbers of the same distribution that owe nothing to {origin}.",
    )


def coherence_likelihood(
    selection: Coherence, holdout: Coherence, *, origin: str, tensor: str
) -> Likelihood | None:
    """The ratio of a layout that was read without its seed, from the coherence of pairs.

    Args:
        selection: of the pairs that chose the layout, with all trials.
        holdout: of those that did not.
        origin: what is claimed, such as "a launch of 270,336 threads".
        tensor: which values it is about.

    Returns:
        None where a side has no pairs.
    """
    if not selection.numbers or not holdout.numbers:
        return None
    lengths = [one.r / math.sqrt(one.numbers) for one in (selection, holdout)]
    ratio = log10_ratio_of_phases(concentration(lengths[0]), lengths[1], holdout.numbers)
    after = ratio - math.log10(max(1, selection.trials))
    return Likelihood(
        log10=ratio,
        log10_after_trials=after,
        words=in_words(after),
        for_it=f"The held-out pairs of {tensor} are partners in {origin}, as far as they were left alone.",
        against_it=f"They are random numbers that owe nothing to {origin}.",
    )


def concentration(length: float) -> float:
    """The kappa of von Mises' distribution under which phases have a mean of this length, by bisection."""
    length = min(length, LONGEST)
    low, high = 0.0, 1.0 / (1.0 - length) + 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if i1e(middle) < length * i0e(middle) else (low, middle)
    return 0.5 * (low + high)


def log10_ratio_of_phases(kappa: float, length: float, n: int) -> float:
    """log10 of the ratio of n phases whose mean has this length."""
    ln = _ln_i0(kappa * n * length) - n * _ln_i0(kappa)
    return ln / math.log(10.0)


def _ln_i0(x: float) -> float:
    return math.log(float(i0e(x))) + x


def log10_ratio(r: float, q: float, n: int) -> float:
    """log10 of the ratio.

    Args:
        r: correlation that the proposition expects, above 0.
        q: correlation on the values.
        n: values.
    """
    r = min(r, 1.0 - NEAREST)
    left = 1.0 - r * r
    ln = -0.5 * n * math.log(left) - n * (1.0 - 2.0 * r * q + r * r) / (2.0 * left) + 0.5 * n
    return ln / math.log(10.0)


def in_words(log10: float) -> str:
    """The verbal scale's words for a ratio."""
    return next((words for least, words in SCALE if log10 >= least), AGAINST)
