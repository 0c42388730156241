"""NumPy's legacy normals: `RandomState.randn`, `normal` and `numpy.random.randn`, by the polar method.

G. Marsaglia and T. Bray (1964), as numpy `numpy/random/src/legacy/legacy-distributions.c`, 1.17 to 2.4, and
`mtrand/randomkit.c` before. Pairs of doubles, two words each, are drawn until they lie in the unit disk; the
second gives the value that leaves at once, the first the one that is kept for the next call. So where an
element's words lie depends on all words before it: there is no jump, only marks on the way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_words import SIZE, advance, tempered
from birthmark.numerics.compiled import kernel

_HIGH = np.uint32(5)
_LOW = np.uint32(6)
_UP = np.float64(67108864.0)
_UNIT = np.float64(9007199254740992.0)


@kernel(inline=True)
def double_of(first: np.uint32, second: np.uint32) -> np.float64:
    """A double in [0, 1) of two words, 53 bits."""
    a, b = np.float64(np.uint32(first >> _HIGH)), np.float64(np.uint32(second >> _LOW))
    return np.float64((a * _UP + b) / _UNIT)


@kernel(inline=True)
def _next(window: NDArray[np.uint32], at: int) -> tuple[np.uint32, int]:
    """The word at a place of a window, which moves on where it is used up, and the next place."""
    if at == SIZE:
        advance(window)
        at = 0
    return tempered(window[at]), at + 1


@kernel()
def skip_polar(
    window: NDArray[np.uint32],
    place: NDArray[np.int64],
    kept: NDArray[np.float64],
    first: int,
    wanted: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Run over a stream of legacy normals and keep the wanted ones.

    Args:
        window: uint32[624], raw words; left behind the last value, as are the next two.
        place: int64[1], which of them is next.
        kept: float64[2], the value that is kept, and 1 where there is one.
        first: number of the value that comes next.
        wanted: int64, ascending numbers, none below `first`.
        out: float64, the values kept.
    """
    at = place[0]
    number = first - 1
    value = np.float64(0.0)
    for i in range(len(wanted)):
        while number < wanted[i]:
            number += 1
            if kept[1] != 0.0:
                value, kept[1] = kept[0], 0.0
                continue
            while True:
                a, at = _next(window, at)
                b, at = _next(window, at)
                x = np.float64(2.0) * double_of(a, b) - np.float64(1.0)
                a, at = _next(window, at)
                b, at = _next(window, at)
                y = np.float64(2.0) * double_of(a, b) - np.float64(1.0)
                square = x * x + y * y
                if square < np.float64(1.0) and square != np.float64(0.0):
                    break
            factor = np.sqrt(np.float64(-2.0) * np.log(square) / square)
            value, kept[0], kept[1] = factor * y, factor * x, 1.0
        out[i] = value
    place[0] = at
