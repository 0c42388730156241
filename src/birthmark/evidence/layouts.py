"""Which layouts the survivors can tell apart, and the next-best one.

Below one wave of either layout two layouts predict the same value, so only elements beyond it speak. The seed
can be certain while the layout is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import BLOCK
from birthmark.evidence.elements import Elements
from birthmark.evidence.fit import Fit
from birthmark.evidence.prediction import Prediction, predict
from birthmark.evidence.score import Score, correlation, score
from birthmark.evidence.significance import log10_tail
from birthmark.hypothesis import Hypothesis

#: Elements that layouts are compared on: evenly spaced ones and the last ones.
SPREAD = 1 << 14
LAST = 1 << 12
#: So many more telling elements must a layout explain before another is excluded by them.
ENOUGH = 3
#: Where elements are traced and not given exactly: sigmas by which a layout's score must lead on telling
#: elements.
LEAD = 6.0


@dataclass(frozen=True, slots=True)
class LayoutTest:
    """What the survivors say about the layout.

    Attributes:
        separated: whether they single out the candidate's layout.
        not_excluded: the compared G's that they leave possible, ascending; the candidate's among them.
        compared: how many other layouts were compared.
        at_least: where any larger G would do as well, the least one that would; otherwise None.
        exact: whether elements are given exactly; otherwise correlations were compared.
    """

    separated: bool
    not_excluded: tuple[int, ...]
    compared: int
    at_least: int | None
    exact: bool = True

    @property
    def level(self) -> str:
        """What `not_excluded` is and what excludes a layout, in words."""
        what = f"The set of G that cannot be excluded, of {self.compared + 1:,} compared"
        if self.exact:
            return (
                f"{what}: another G is excluded where this one explains at least {ENOUGH} more of the "
                "elements that the two place differently."
            )
        chance = log10_tail(LEAD / math.sqrt(2.0))
        return (
            f"{what}: another G is excluded where this one leads by at least {LEAD:g} sigma on the elements "
            f"that the two place differently (by chance 10^{chance:.1f} for each)."
        )


def compare_layouts(
    fit: Fit, seed: int, elements: Elements, dtype: str, layouts: tuple[int, ...], *, exact: bool
) -> LayoutTest:
    """Hold the candidate's layout against others.

    Args:
        fit: the candidate's.
        seed: its seed.
        elements: elements that the candidate predicts (or traces).
        dtype: the stored dtype.
        layouts: the G's to compare; neighbours of the candidate's are compared as well.
        exact: whether elements are predicted; otherwise the layouts' correlations are compared.
    """
    own = fit.hypothesis.threads
    some = _telling_sample(elements)
    mine = predict(fit, seed, some, dtype)
    others = sorted(set(layouts) - {own})

    def excluded(threads: int) -> bool:
        return _excluded(fit, seed, some, dtype, mine, threads, exact=exact)

    not_excluded = (own, *(threads for threads in others if not excluded(threads)))
    beyond = excluded(own + BLOCK)
    separated = beyond and len(not_excluded) == 1 and (own == BLOCK or excluded(own - BLOCK))
    at_least = None if beyond else _least(fit.hypothesis, some)
    return LayoutTest(separated, tuple(sorted(not_excluded)), len(others), at_least, exact)


def _least(hypothesis: Hypothesis, elements: Elements) -> int:
    """The least G, in whole blocks, under which all elements lie in the first wave."""
    place = hypothesis.locate(elements.indices)
    first = int(np.max(place.thread)) + 1
    return -(-first // BLOCK) * BLOCK


def _telling_sample(elements: Elements) -> Elements:
    if len(elements) <= SPREAD + LAST:
        return elements
    chosen = np.zeros(len(elements), dtype=np.bool_)
    chosen[np.linspace(0, len(elements) - 1, SPREAD).astype(np.int64)] = True
    chosen[-LAST:] = True
    return elements.keep(chosen)


def differing(one: Hypothesis, other: Hypothesis, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which elements two hypotheses of the same seed take from different places of the stream."""
    a, b = one.locate(indices), other.locate(indices)
    result: NDArray[np.bool_] = (
        (a.rank != b.rank) | (a.counter != b.counter) | (a.thread != b.thread) | (a.lane != b.lane)
    )
    return result


def _excluded(
    fit: Fit, seed: int, elements: Elements, dtype: str, mine: Prediction, threads: int, *, exact: bool
) -> bool:
    other = replace(fit, hypothesis=replace(fit.hypothesis, threads=threads))
    telling = differing(fit.hypothesis, other.hypothesis, elements.indices)
    if np.count_nonzero(telling) < ENOUGH:
        return False
    some = elements.keep(telling)
    if exact:
        theirs = predict(other, seed, some, dtype)
        return int(np.count_nonzero(mine.near[telling])) - int(np.count_nonzero(theirs.near)) >= ENOUGH
    lead = _sigma(some.values, mine.standard[telling])
    return lead - _sigma(some.values, other.hypothesis.standard(seed, some.indices)) >= LEAD


def _sigma(stored: NDArray[np.float64], standard: NDArray[np.floating]) -> float:
    r = correlation(stored, np.asarray(standard, np.float64)) if stored.size >= ENOUGH else None
    return 0.0 if r is None else r * float(np.sqrt(stored.size))


@dataclass(frozen=True, slots=True)
class NextLayout:
    """The other layout that scores best on the hold-out.

    Attributes:
        threads: its G.
        score: on all held-out elements, among them those that both layouts predict alike.
        differing: on those alone that the two layouts predict differently.
    """

    threads: int
    score: Score
    differing: Score


def next_best(fit: Fit, seed: int, elements: Elements, layouts: tuple[int, ...]) -> NextLayout | None:
    """The other layout that scores best on held-out elements; trials are the distinct layouts compared.

    None where every compared layout predicts the same values.
    """
    if len(elements) == 0:
        return None
    some = _telling_sample(elements)
    best: tuple[float, int] | None = None
    compared = 0
    for threads in layouts:
        other = replace(fit.hypothesis, threads=threads)
        if threads == fit.hypothesis.threads or not differing(fit.hypothesis, other, some.indices).any():
            continue
        compared += 1
        sigma = _sigma(some.values, other.standard(seed, some.indices))
        if best is None or sigma > best[0]:
            best = (sigma, threads)
    if best is None:
        return None
    other = replace(fit.hypothesis, threads=best[1])
    standard = np.asarray(other.standard(seed, elements.indices), np.float64)
    telling = differing(fit.hypothesis, other, elements.indices)
    return NextLayout(
        best[1],
        score(elements.values, standard, trials=compared),
        score(elements.values[telling], standard[telling], trials=compared),
    )
