"""NumPy's bounded integers, what programs draw before their weights: `randint` and `Generator.integers`.

Source: numpy `numpy/random/src/distributions/distributions.c` and `_bounded_integers.pyx`, 1.17 to 2.4.
RandomState masks 32-bit words (two for ranges of 2^32 and more) and throws away what is too large. Generator
multiplies (D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29, 2019) 32-bit halves of
its words, or whole words for the large ranges, and throws away almost nothing. Both go one after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.mt19937_words import SIZE, advance, tempered
from birthmark.generators.pcg64 import Pcg64, output, product_high, step
from birthmark.numerics.compiled import kernel
from birthmark.samplers.numpy_ziggurat import word32

_LOW = (1 << 32) - 1


def randint(window: NDArray[np.uint32], size: int, low: int, high: int) -> tuple[NDArray[np.int64], int]:
    """`RandomState.randint(low, high, size)` in int64, and the words it took.

    Args:
        window: MT19937's window where the call begins, uint32[624]; left as it is.
        size: how many.
        low: least value.
        high: one above the greatest.

    Raises:
        UsageError: no value between the bounds, or bounds that int64 does not hold.
    """
    span = _span(low, high)
    out = np.empty(size, np.int64)
    mask = (1 << span.bit_length()) - 1
    taken = _masked(window.copy(), np.uint64(span), np.uint64(mask), np.int64(low), out)
    return out, taken


def integers(stream: Pcg64, size: int, low: int, high: int) -> NDArray[np.int64]:
    """`Generator.integers(low, high, size)` in int64, of a stream that holds no half word.

    Args:
        stream: PCG64 where the call begins.
        size: how many.
        low: least value.
        high: one above the greatest.

    Raises:
        UsageError: no value between the bounds, or bounds that int64 does not hold.
    """
    span = _span(low, high)
    out = np.empty(size, np.int64)
    state = np.zeros(5, np.uint64)
    state[:4] = stream.halves()
    _multiplied(state, np.uint64(span), np.int64(low), out)
    return out


def _span(low: int, high: int) -> int:
    if not -(1 << 63) <= low < high <= 1 << 63:
        raise UsageError(f"integers from {low} to below {high}; expected some, that int64 holds.")
    return high - low - 1


@kernel()
def _masked(
    window: NDArray[np.uint32], span: np.uint64, mask: np.uint64, low: np.int64, out: NDArray[np.int64]
) -> int:
    at, taken = 0, 0
    wide = span > np.uint64(0xFFFFFFFF)
    for i in range(len(out)):
        value = np.uint64(0)
        while span:
            if at == SIZE:
                advance(window)
                at = 0
            value = np.uint64(tempered(window[at]))
            at += 1
            taken += 1
            if wide:
                if at == SIZE:
                    advance(window)
                    at = 0
                value = np.uint64((value << np.uint64(32)) | np.uint64(tempered(window[at])))
                at += 1
                taken += 1
            value &= mask
            if value <= span:
                break
        out[i] = low + np.int64(value)
    return taken


@kernel()
def _multiplied(state: NDArray[np.uint64], span: np.uint64, low: np.int64, out: NDArray[np.int64]) -> None:
    excluded = np.uint64(span + np.uint64(1))
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for i in range(len(out)):
        if span == np.uint64(0):
            out[i] = low
        elif span == mask:
            out[i] = low + np.int64(word32(state))
        elif span < mask:
            product = np.uint64(np.uint64(word32(state)) * excluded)
            if product & mask < excluded:
                least = np.uint64(mask - span) % excluded
                while product & mask < least:
                    product = np.uint64(np.uint64(word32(state)) * excluded)
            out[i] = low + np.int64(product >> half)
        else:
            word = _word(state)
            if excluded:
                rest = np.uint64(word * excluded)
                if rest < excluded:
                    least = np.uint64(np.uint64(0xFFFFFFFFFFFFFFFF) - span) % excluded
                    while rest < least:
                        word = _word(state)
                        rest = np.uint64(word * excluded)
                word = product_high(word, excluded)
            out[i] = low + np.int64(word)


@kernel(inline=True)
def _word(state: NDArray[np.uint64]) -> np.uint64:
    high, low = step(state[0], state[1], state[2], state[3])
    state[0], state[1] = high, low
    return output(high, low)
