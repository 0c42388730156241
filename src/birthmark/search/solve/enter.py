"""How words enter a system of equations: in which order, and how many."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.mt19937_field import DEGREE
from birthmark.search.solve.elimination import System
from birthmark.search.solve.equations import Words, coefficients, equations_of

#: Equations beyond the unknowns that an elimination starts with: they become checks.
SPARE: Final = 256
#: Rows in memory: 55 MB.
CAPACITY: Final = 22_016
#: Portions without a new independent equation after which the rest is taken to be dependent too.
PATIENCE: Final = 4


#: How much trust a later attempt outweighs by chance.
LUCK: Final = 0.5


class Order:
    """Orders in which words enter: by trust, then by random units and by random words in turn."""

    def __init__(self, rng: np.random.Generator, unit: NDArray[np.int64], trust: NDArray[np.float64]) -> None:
        """Prepare the orders.

        Args:
            rng: source of the random choices.
            unit: int64[n], what each word belongs to that is right or wrong as a whole.
            trust: float64[n], how likely the unit is right.
        """
        self._rng = rng
        names, self._unit = np.unique(unit, return_inverse=True)
        self._count = len(names)
        self._trust = trust

    def draw(self, attempt: int) -> NDArray[np.int64]:
        """A permutation of the words: the trusted ones first, later with more chance in it."""
        words = len(self._unit)
        luck = self._rng.random(words) if attempt % 2 else self._rng.random(self._count)[self._unit]
        shuffled = self._rng.permutation(words)
        doubt = (LUCK if attempt else 0.0) * luck - self._trust
        return shuffled[np.lexsort((luck[shuffled], doubt[shuffled]))]


def enter(
    system: System, words: Words, bits: NDArray[np.int64], order: NDArray[np.int64], origin: int
) -> int:
    """Add the equations of words until all is solved, contradicted or hopeless.

    Args:
        system: the system, which is extended.
        words: the words.
        bits: int64[n], the number of equations of each.
        order: which words, in which order.
        origin: the position at which the unknowns begin.

    Returns:
        How many words of the order were used.
    """
    totals = np.cumsum(bits[order])
    used, wanted, idle = 0, DEGREE + SPARE, 0
    while used < len(order) and idle < PATIENCE and not system.violated and not system.solved:
        before = system.rank
        taken = int(totals[used - 1]) if used else 0
        reach = int(np.searchsorted(totals, taken + min(wanted, system.room), side="right"))
        load(system, words, np.sort(order[used:reach]), origin)
        system.eliminate()
        used, wanted = reach, system.room
        idle = idle + 1 if system.rank == before else 0
    return used


def load(system: System, words: Words, chosen: NDArray[np.int64], origin: int) -> NDArray[np.int64]:
    """Load the equations of the chosen words; for each equation the number of its word among them."""
    part = words.take(chosen)
    equations = equations_of(part)
    for rows in coefficients(part, equations, origin):
        system.load(rows)
    return equations.word
