"""Draws of NumPy and Python held against values: their words, and the values themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937 import following, moved
from birthmark.generators.mt19937_words import start
from birthmark.generators.numpy_seeding import python_window
from birthmark.numerics.dtypes import round_to
from birthmark.samplers.numpy_draw import NumpyDraw
from birthmark.search.correlation import correlation
from birthmark.search.cpu_positions.conditions import Conditions, Library

#: How far a usual scale may lie from the fitted one.
_NEAR = 1e-3


def window_of(library: Library, seed: int, index: int) -> NDArray[np.uint32]:
    """The window at a position of the stream that a seed starts."""
    return moved(python_window(seed) if library == "python" else start(seed), index)


def words_of(library: Library, seed: int, positions: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The words at ascending positions, repeats allowed, of the stream that a seed starts."""
    places, back = np.unique(positions, return_inverse=True)
    first = int(places[0]) if len(places) else 0
    return following(window_of(library, seed, first), places - first)[back]


def fit(
    conditions: Conditions, seed: int, index: int, nominals: Sequence[float]
) -> tuple[NDArray[np.bool_], float, bool, float]:
    """(which values are equal, scale, whether somebody would write it down, correlation r).

    The scale is what was given, or a nominal one near the best fit, or the best fit itself.
    """
    seen = conditions.seen
    window = window_of(conditions.library, seed, index)

    def drawn(scale: float) -> NDArray[np.float64]:
        ends = (-scale, scale) if seen.distribution == "uniform" else (0.0, scale)
        made = NumpyDraw("RandomState", seen.distribution, seen.size, ends).values(window, seen.indices)
        return np.asarray(made, np.float64)

    standard = drawn(1.0)
    r = correlation(seen.values, standard)
    known = seen.scale[0] == seen.scale[1]
    best = float(np.einsum("i,i->", standard, seen.values) / np.einsum("i,i->", standard, standard))
    near = [each for each in nominals if math.isclose(each, best, rel_tol=_NEAR)]
    scale = seen.scale[0] if known else next(iter(near), best)
    equal = round_to(drawn(scale), seen.dtype) == seen.values
    return equal, scale, known or bool(near), r
