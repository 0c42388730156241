"""What a search for a neighbouring generator comes back with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.dtypes import round_to, ulps
from birthmark.search.correlation import correlation, log10_p
from birthmark.search.neighbours.observed import Observed

#: After all trials a finding must be rarer than this, on what the search saw and again on what it did not.
SIGNIFICANT: Final = -4.0
#: Distances, in units in the last place of the stored dtype, up to which predicted values are counted.
DISTANCES: Final = (1, 2, 4, 8)

Predict = Callable[[NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class NeighbourFinding:
    """A draw of a neighbouring generator that explains a tensor.

    Attributes:
        tensor: its name.
        generator: "minstd", "threefry", "mt19937" or "pcg64".
        platform: "paddle", "jax" or "numpy".
        method: "solve" or "search".
        sampler: the draw in words.
        distribution: "normal", "uniform" or "truncated-normal".
        parameters: the draw's numbers: (low, high), (mean, std), or (factor, low, high) of a truncated one.
        dtype: the dtype at draw time.
        arithmetic: whose float arithmetic fits best.
        seed: the seed.
        rule: how the draw follows from the seed, in words.
        n: values on which the search never looked.
        r: correlation of the predicted with the stored values there.
        equal: how many of them are predicted bit for bit, in the stored dtype.
        within_ulp: how many lie within so many units in the last place.
        trials: predictions that were tried, or states for a solve.
        log10_p: chance of that r in any of the trials.
        predict: the predicted values of any flat indices, in the draw's dtype.
    """

    tensor: str
    generator: str
    platform: str
    method: str
    sampler: str
    distribution: str
    parameters: tuple[float, ...]
    dtype: str
    arithmetic: str
    seed: int
    rule: str
    n: int
    r: float
    equal: int
    within_ulp: dict[int, int]
    trials: int
    log10_p: float
    predict: Predict = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a search.

    Attributes:
        finding: None where nothing was found.
        trials: predictions that were tried, or states for a solve.
        searched: what was covered, in words.
        reason: why there is no finding; None where there is one.
    """

    finding: NeighbourFinding | None
    trials: int
    searched: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """How predicted values compare with stored ones."""

    n: int
    r: float
    equal: int
    within_ulp: dict[int, int]
    log10_p: float

    @property
    def significant(self) -> bool:
        """Whether chance does not explain it, after trials."""
        return self.log10_p <= SIGNIFICANT


def fit(observed: Observed, predicted: NDArray[Any], trials: int) -> Fit:
    """Compare predicted values, in the draw's dtype, with those that are stored."""
    rounded = round_to(np.asarray(predicted), observed.dtype)
    apart = ulps(round_to(observed.values, observed.dtype), rounded, observed.dtype)
    r = correlation(observed.values, np.asarray(predicted, np.float64))
    counts = {distance: int(np.sum(apart <= distance)) for distance in DISTANCES}
    n = len(observed.values)
    return Fit(n, r, int(np.sum(apart == 0)), counts, log10_p(n, r, trials))
