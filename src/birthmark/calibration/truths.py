"""True checkpoints at falling strength: tables that a GPU drew, with ever less of the draw left in them.

Three ways to lose it: fewer rows survive, more elements of the surviving rows are altered, or no row survives
and the trained values still correlate with their initial ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.calibration.made import DTYPES, SCALE, SHAPE, Made, some_rows, trained
from birthmark.calibration.nulls import drawn, informative_threads
from birthmark.calibration.seeds import searched_seed
from birthmark.errors import UnknownName
from birthmark.numerics.dtypes import round_to

#: Surviving rows of a table whose survivors have altered elements.
KEPT: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A checkpoint with a known birth.

    Attributes:
        made: the table.
        seed: what it was drawn with, one that the trial searches.
        threads: the G of its launch.
    """

    made: Made
    seed: int
    threads: int


@dataclass(frozen=True, slots=True)
class Axis:
    """One way of losing a draw.

    Attributes:
        steps: what is varied, from hard to easy or from easy to hard.
        unit: what the steps are, in words.
    """

    steps: tuple[float, ...]
    unit: str


AXES: Final = {
    "survivors": Axis((1, 2, 3, 4, 6, 8, 12, 16, 24, 32), "surviving rows of 64 values"),
    "altered": Axis((0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7), "altered share of 32 surviving rows"),
    "correlation": Axis((0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2), "correlation left in 8,192 trained rows"),
}


def truth(axis: str, step: float, random: np.random.Generator, number: int) -> Truth:
    """A true checkpoint at one step of an axis.

    Args:
        axis: one of `AXES`.
        step: one of its steps.
        random: where it comes from.
        number: decides the stored dtype, and which seeds are searched.

    Raises:
        UnknownName: no such axis.
    """
    if axis not in AXES:
        raise UnknownName("axis of true checkpoints", axis, AXES)
    seed, threads = searched_seed(random, number), int(random.choice(informative_threads()))
    dtype = DTYPES[number % len(DTYPES)]
    return Truth(_MAKERS[axis](random, drawn(seed, threads), step, dtype), seed, threads)


def _survivors(random: np.random.Generator, initial: NDArray[np.float32], step: float, dtype: str) -> Made:
    return trained(random, initial, some_rows(random, int(step)), dtype)


def _altered(random: np.random.Generator, initial: NDArray[np.float32], step: float, dtype: str) -> Made:
    kept = some_rows(random, KEPT)
    values = initial.copy()
    changed = random.random((KEPT, SHAPE[1])) < step
    changes = SCALE * random.standard_normal((KEPT, SHAPE[1]))
    values[kept] += np.where(changed, changes, 0.0).astype(np.float32)
    return trained(random, values, kept, dtype)


def _correlation(random: np.random.Generator, initial: NDArray[np.float32], step: float, dtype: str) -> Made:
    """No row survives; the values correlate by `step` with the initial ones, beside what they learnt."""
    rows, columns = SHAPE
    shared = random.standard_normal((rows, 6)) @ random.standard_normal((6, columns)) / 6.0**0.5
    own = random.gamma(2.0, 0.5, (rows, 1)) * random.standard_normal(SHAPE)
    learnt = shared + own
    learnt /= learnt.std()
    values = SCALE * (step * initial / SCALE + (1.0 - step * step) ** 0.5 * learnt)
    return Made(round_to(values, dtype).astype(np.float32), dtype, np.zeros(0, np.int64))


_MAKERS: Final[dict[str, Callable[[np.random.Generator, NDArray[np.float32], float, str], Made]]] = {
    "survivors": _survivors,
    "altered": _altered,
    "correlation": _correlation,
}
