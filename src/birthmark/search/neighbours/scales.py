"""The scale of a draw whose standard values are known: fitted first, then the number somebody wrote down."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Standard values nearer to 0 than this say little about the scale.
_LEAST: Final = 0.25
#: Rounds in which values far from the fit are left out.
_ROUNDS: Final = 4
#: How far from a fitted scale a written one may lie.
NEAR: Final = 2e-3


def fitted(stored: NDArray[np.float64], standard: NDArray[Any]) -> tuple[float, float]:
    """(factor, spread) such that most stored values are factor times standard ones.

    The factor is the middle of the densest half of the quotients; the spread, the median relative distance
    from it, is small where the values were left alone and near 1 where nothing fits.
    """
    far = np.abs(standard) > _LEAST
    if far.sum() < 3:
        return 0.0, math.inf
    quotients = np.sort(stored[far] / standard[far].astype(np.float64))
    half = (len(quotients) + 1) // 2
    start = int(np.argmin(quotients[half - 1 :] - quotients[: len(quotients) - half + 1]))
    dense = quotients[start : start + half]
    for _ in range(_ROUNDS):
        middle = float(np.median(dense))
        spread = float(np.median(np.abs(dense - middle)))
        inside = np.abs(quotients - middle) <= 4.0 * spread
        if inside.sum() < 3:
            break
        dense = quotients[inside]
    middle = float(np.median(dense))
    if middle == 0.0:
        return 0.0, math.inf
    return middle, float(np.median(np.abs(quotients - middle)) / abs(middle))


def written(
    near: float, shape: tuple[int, ...] = (), *, below: float = NEAR, above: float = NEAR
) -> Iterator[tuple[float, str]]:
    """Scales that people write down near a fitted one, by default within `NEAR`, and their formulas.

    Short decimals; 1/sqrt(k) and sqrt(c/k) of the fans of a shape, whichever of its axes they are.
    """
    if not 0.0 < near < math.inf:
        return
    seen: set[float] = set()
    for value, text in (*_decimals(near), *_of_shape(shape)):
        if value not in seen and -below <= value / near - 1.0 <= above:
            seen.add(value)
            yield value, text


def _decimals(near: float) -> Iterator[tuple[float, str]]:
    exponent = math.floor(math.log10(near))
    for digits in (1, 2, 3):
        step = exponent - digits + 1
        for mantissa in {math.floor(near / 10.0**step), math.ceil(near / 10.0**step)}:
            text = f"{mantissa}e{step}"
            yield float(text), f"{float(text):g}"


def _of_shape(shape: tuple[int, ...]) -> Iterator[tuple[float, str]]:
    if len(shape) < 2:
        return
    size = math.prod(shape)
    fans = dict.fromkeys((size // max(1, shape[-1]), size // max(1, shape[0]), shape[0], shape[-1]))
    for fan in fans:
        for over in (1, 2, 3, 6):
            yield math.sqrt(over / fan), f"sqrt({over}/{fan})"
    total = shape[0] + shape[-1]
    for over in (2, 6):
        yield math.sqrt(over / total), f"sqrt({over}/{total})"
