"""Which seeds a trial searches, and so which ones its checkpoint may be drawn with."""

from __future__ import annotations

from typing import Final

import numpy as np

from birthmark.recipes.seeds import dictionary

#: The seeds that every trial searches: 2^16 from an arbitrary start.
SEEDS: Final = (3_000_000_000, 3_000_065_536)
#: Every so many trials the scan also tries the seeds that people use, with all that hangs on them.
EVERY: Final = 20


def with_dictionary(number: int) -> bool:
    """Whether the trial of this number also tries the seeds that people use."""
    return number % EVERY == 0


def searched_seed(random: np.random.Generator, number: int) -> int:
    """One of the seeds that the trial of this number searches."""
    return int(random.choice(dictionary()) if with_dictionary(number) else random.integers(*SEEDS))
