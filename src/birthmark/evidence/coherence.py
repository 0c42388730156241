"""How well numbers lie on a lattice, what that is worth, and what false layouts look like beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from birthmark.evidence.lattice import Lattice, power
from birthmark.evidence.significance import after_trials


@dataclass(frozen=True, slots=True)
class Coherence:
    """How well some numbers lie on a lattice.

    Attributes:
        numbers: pairs in the window (JAX: small values).
        r: R, the length of their mean phase times sqrt(numbers); R^2 is exponential where nothing is there.
        trials: suppositions tried on these numbers.
    """

    numbers: int
    r: float
    trials: int = 1

    @property
    def length(self) -> float:
        """Length of the mean phase, 0 to 1."""
        return self.r / math.sqrt(self.numbers) if self.numbers else 0.0

    @property
    def log10_p_local(self) -> float:
        """log10 of exp(-R^2)."""
        return -(self.r * self.r) / math.log(10.0) + 0.0

    @property
    def log10_p_global(self) -> float:
        """The same after all trials."""
        return after_trials(self.log10_p_local, self.trials)


def coherence(lattice: Lattice, t: float, trials: int = 1) -> Coherence:
    """The coherence of a lattice's numbers where all squares are larger by the factor 1 + t."""
    return Coherence(len(lattice), math.sqrt(power(lattice.at(t).turns)), trials)


@dataclass(frozen=True, slots=True)
class Background:
    """Layouts other than the chosen one, at its scale and window.

    Attributes:
        layouts: their G's.
        r: the R of each, in the same order.
        numbers: pairs in the window of each.
    """

    layouts: tuple[int, ...]
    r: tuple[float, ...]
    numbers: tuple[int, ...]

    @property
    def next_best(self) -> tuple[int, Coherence] | None:
        """The best of them with its coherence; all of them are its trials. None where there are none."""
        if not self.layouts:
            return None
        best = max(range(len(self.r)), key=self.r.__getitem__)
        return self.layouts[best], Coherence(self.numbers[best], self.r[best], len(self.layouts))
