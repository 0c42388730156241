"""Where a tensor's values came from, when one seed of a host's generator tells them all: the common face.

Each generator that has no launch layout (PyTorch's on the CPU, and its neighbours) has one small class that
predicts any element. Judging, packing and reporting know nothing but this face.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from birthmark.search.solve.recover import NO_EQUATIONS, Tally


class Origin(Protocol):
    """Seed, place and parameters of one draw."""

    @property
    def generator(self) -> str:
        """Its name in a reading, such as "mt19937"."""

    @property
    def platform(self) -> str:
        """Where it runs: "cpu", "jax", "paddle"."""

    @property
    def arithmetic(self) -> str | None:
        """How words become values; None where there is only one way."""

    @property
    def distribution(self) -> str:
        """The draw, as `sampler.distribution` names it."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters of the draw, as stored."""

    @property
    def scale(self) -> float:
        """Standard deviation or bound of the stored values."""

    def tolerance(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far stored values may lie from predicted ones beside the rounding that every draw has."""

    @property
    def dtype(self) -> str:
        """The narrowest dtype that holds the stored values."""

    @property
    def seed(self) -> int:
        """The seed, as far as the generator sees it."""

    @property
    def index(self) -> int | None:
        """Words that the generator gave before; None where it has no such count."""

    def next_seed(self) -> Origin:
        """The same with the next seed: known to be false."""

    def next_place(self) -> Origin | None:
        """The same one word later: known to be false; None where the generator has no places."""

    def others(self) -> tuple[Origin, ...]:
        """The same in each other arithmetic."""

    def words(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the random words behind each element are called; equal only for values of the same ones."""

    def standard(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predictions free of the scale; NaN where the draw does not reach."""

    def stored(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predictions as they would be stored; NaN where the draw does not reach."""

    def decoys(self, seeds: NDArray[np.uint64], indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """What other seeds predict, free of the scale: float64[seeds, n]."""

    def affordable(self, indices: NDArray[np.int64]) -> tuple[int, bool]:
        """How many decoys to score on the indices, and whether only the first of these are to be used."""


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate, and how it was come by.

    Attributes:
        tensor: the tensor's name.
        origin: what it claims.
        method: "solve" or "search".
        how: the way in a few words, for the reading's notes.
        written: whether the scale is a number that somebody would write down.
        exact: whether the scale was found exactly, by the lattice of float32.
        tally: the equations of a solution.
        attempts: subsets of words that a solution tried.
        trials: predictions that the score of the selection stands out from.
        holdout_trials: candidates that are scored on the hold-out.
    """

    tensor: str
    origin: Origin
    method: Literal["solve", "search"]
    how: str
    written: bool
    exact: bool
    trials: int
    tally: Tally = NO_EQUATIONS
    attempts: int = 0
    holdout_trials: int = 1


#: Decoys where predictions are cheap, and where every seed has to run far ahead in its stream.
DECOYS: Final = 1024
DECOYS_FAR: Final = 128
