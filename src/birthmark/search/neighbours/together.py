"""All neighbouring generators asked one after the other, the quickest first, as one search with one count."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from birthmark.errors import UnknownName
from birthmark.search.neighbours.finding import SIGNIFICANT, Outcome
from birthmark.search.neighbours.jax_keys import search_jax
from birthmark.search.neighbours.minstd import solve_minstd
from birthmark.search.neighbours.numpy_seeds import search_numpy
from birthmark.search.neighbours.observed import Observed

SEARCHES: Final[dict[str, Callable[[Observed], Outcome]]] = {
    "paddle": solve_minstd,
    "jax": search_jax,
    "numpy": search_numpy,
}


def search_neighbours(observed: Observed, platforms: tuple[str, ...] = tuple(SEARCHES)) -> Outcome:
    """The draw of a neighbouring generator that explains a tensor, if one of those known here does.

    Trials of all searches count for whichever finds something.

    Args:
        observed: the tensor's survivors.
        platforms: whom to ask, in this order: "paddle", "jax", "numpy".

    Raises:
        UnknownName: an unknown platform.
    """
    trials = 0
    searched: list[str] = []
    reasons: list[str] = []
    for platform in platforms:
        if platform not in SEARCHES:
            raise UnknownName("platform", platform, SEARCHES)
        outcome = SEARCHES[platform](observed)
        trials += outcome.trials
        searched += outcome.searched
        finding = outcome.finding
        if finding is None:
            reasons.append(outcome.reason or f"nothing found for {platform}")
            continue
        log10_p = min(0.0, finding.log10_p + math.log10(trials / finding.trials))
        if log10_p > SIGNIFICANT:
            reasons.append(f"what was found for {platform} is no rarer than chance after all trials")
            continue
        counted = replace(finding, trials=trials, log10_p=log10_p)
        return Outcome(counted, trials, tuple(searched))
    return Outcome(None, trials, tuple(searched), "; ".join(reasons))
