"""`jax.random.randint` and `permutation`: what programs draw before their weights.

Source: jax-ml/jax `jax/_src/random.py`, 0.2 to 0.10.2. An integer comes from two draws of 32 bits, under the
two keys of a split, reduced modulo the span. A permutation sorts by random 32-bit numbers, one or two times;
ties keep their order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import UsageError
from birthmark.generators.threefry import Counters, Key, bits_at

_LARGEST = (1 << 32) - 1
#: Elements above which a permutation is not made, for the memory it takes.
MOST = 1 << 28


def randint(
    key: Key,
    size: int,
    indices: NDArray[np.int64],
    low: int,
    high: int,
    *,
    counters: Counters = "partitionable",
) -> NDArray[np.int64]:
    """Any elements of `jax.random.randint(key, shape, low, high)` in int32.

    Args:
        key: what the call was given.
        size: elements of the draw.
        indices: int64, flat, any shape and order.
        low: least value.
        high: one above the greatest; where it is not above `low`, every value is `low`, as in JAX.
        counters: the order of the generator's counters.

    Raises:
        UsageError: bounds outside int32, an index outside the draw.
    """
    if not (-(1 << 31) <= low < 1 << 31 and -(1 << 31) <= high < 1 << 31):
        raise UsageError(f"integers from {low} to {high}; expected bounds that int32 holds.")
    span = np.uint64(max(high - low, 1))
    upper, lower = (bits_at(one, size, indices, counters=counters) % span for one in key.split(2, counters))
    # 2^32 modulo the span as JAX computes it: in 32 bits.
    multiplier = (1 << 16) % int(span)
    multiplier = (multiplier * multiplier & _LARGEST) % int(span)
    total = (((upper * np.uint64(multiplier)) & np.uint64(_LARGEST)) + lower) & np.uint64(_LARGEST)
    return (total % span).astype(np.int64) + low


def permutation(key: Key, size: int, *, counters: Counters = "partitionable") -> NDArray[np.int64]:
    """`jax.random.permutation(key, size)`, whole; a sort has no random access.

    Raises:
        UsageError: a negative or very large size.
    """
    if not 0 <= size <= MOST:
        raise UsageError(f"a permutation of {size} elements; predicted are 0 to {MOST}.")
    order = np.arange(size)
    for _ in range(math.ceil(3 * math.log(max(1, size)) / math.log(_LARGEST))):
        key, sorting = key.split(2, counters)
        order = order[np.argsort(bits_at(sorting, size, np.arange(size), counters=counters), kind="stable")]
    return order
