"""Python's `random.randint` and NumPy's `RandomState.randint`, as programs derive seeds with them.

Sources: CPython `Lib/random.py`, 3.2 to 3.13: a number below n is the top bits of a word, as many as n has,
drawn again while it is not below n. numpy `_bounded_integers.pyx`, 1.11 to 2.4: the low bits of a word that
the largest number has, drawn again while beyond it. Only bounds of up to 32 bits are predicted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937_words import SIZE, continued, start, temper
from birthmark.generators.numpy_seeding import python_window


def python_integers(seed: int, low: int, high: int, count: int) -> list[int]:
    """What `random.seed(seed)` lets `random.randint(low, high)` give, the first `count` times.

    Args:
        seed: any integer.
        low: least value.
        high: greatest value, `random.randint`'s way.
        count: how many.

    Raises:
        UsageError: bounds out of order, or more than 2^32 numbers.
    """
    bound = _bound(low, high + 1)
    shift = 32 - min(bound.bit_length(), 32)
    wide = bound.bit_length() > 32  # 2^32 itself: 33 bits, of which the second word gives the top one
    found: list[int] = []
    words = iter(_stream(python_window(seed), count, bound))
    while len(found) < count:
        value = next(words)
        if wide:
            value |= (next(words) >> 31) << 32
        value >>= shift
        if value < bound:
            found.append(low + value)
    return found


def numpy_integers(seed: int, low: int, high: int, count: int) -> list[int]:
    """What `RandomState(seed).randint(low, high)` gives, the first `count` times.

    Args:
        seed: 0 to 2^32 - 1.
        low: least value.
        high: one above the greatest, NumPy's way.
        count: how many.

    Raises:
        UsageError: bounds out of order, more than 2^32 numbers, a seed that NumPy refuses.
    """
    if not 0 <= seed < 1 << 32:
        raise UsageError(f"the seed {seed}; RandomState takes 0 to 2^32 - 1.")
    largest = _bound(low, high) - 1
    mask = (1 << largest.bit_length()) - 1
    if largest == 0:
        return [low] * count
    found: list[int] = []
    words = iter(_stream(start(seed), count, largest + 1))
    while len(found) < count:
        value = next(words) & mask
        if value <= largest:
            found.append(low + value)
    return found


def _bound(low: int, high: int) -> int:
    if not 0 < high - low <= 1 << 32:
        raise UsageError(f"integers from {low} to below {high}; expected 1 to 2^32 of them.")
    return high - low


def _stream(window: NDArray[np.uint32], count: int, bound: int) -> list[int]:
    """Words for `count` numbers, of which more than half are kept: enough but once in 10^40 times."""
    keep = bound / (1 << bound.bit_length())
    needed = int(count / keep + 20.0 * (count**0.5 + 10.0)) * (1 if bound < 1 << 32 else 2)
    found: list[int] = temper(continued(window, max(SIZE, needed))).tolist()
    return found
