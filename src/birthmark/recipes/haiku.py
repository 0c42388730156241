"""Haiku's keys: the key given to `init` is split once for every random parameter.

Source: google-deepmind/dm-haiku `haiku/_src/base.py` 0.0.17 (`PRNGSequence`). Each request splits the key in
two (in `reserve` + 1 where `rng_reserve_size` was raised): the first takes the key's place, the others are
handed out in order. Constant parameters ask for none.
"""

from __future__ import annotations

from birthmark.errors import UsageError
from birthmark.generators.threefry import Counters, Key


def haiku_key(root: Key, number: int, counters: Counters = "partitionable", *, reserve: int = 1) -> Key:
    """The key of random parameter `number`, from 0, of a transformed function.

    Args:
        root: the key given to `init`.
        number: how many random parameters came before.
        counters: the order of the generator's counters.
        reserve: `rng_reserve_size`.

    Raises:
        UsageError: a negative number, or a reserve below 1.
    """
    if number < 0 or reserve < 1:
        raise UsageError(
            f"parameter {number} with a reserve of {reserve}; expected 0 or more, and 1 or more."
        )
    key = root
    for _ in range(number // reserve):
        key = key.split(reserve + 1, counters)[0]
    return key.split(reserve + 1, counters)[1 + number % reserve]
