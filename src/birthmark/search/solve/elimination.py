"""Linear equations over GF(2) in packed bits that come in portions, kept in echelon form.

How rows are eliminated is in `four_russians`; here are the system that they make, what it says of further
equations, and its solution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel
from birthmark.search.solve.four_russians import BLOCK, STRIP, eliminate

#: The right-hand side of an equation is the highest bit of its last word.
RIGHT_SIDE = np.uint64(1 << 63)

_ONE = np.uint64(1)


class System:
    """Equations that come in portions, kept in echelon form.

    Attributes:
        unknowns: how many unknowns there are.
        rank: independent equations so far.
        satisfied: dependent equations that agreed with those before them.
        violated: dependent equations that contradicted them.
    """

    def __init__(self, unknowns: int, capacity: int) -> None:
        """Make room for `capacity` rows at a time, dependent ones included.

        Args:
            unknowns: the number of unknowns.
            capacity: rows in memory, at least `unknowns`; each takes unknowns / 8 bytes.
        """
        self.unknowns = unknowns
        self.rank = 0
        self.satisfied = 0
        self.violated = 0
        width = -(-(unknowns + 1) // BLOCK)
        self._last = divmod(width - 1, STRIP)
        self._rows = np.empty((-(-width // STRIP), capacity, STRIP), np.uint64)
        #: The row whose first set bit is a column; -1 where there is none yet.
        self._pivot = np.full(width * BLOCK, -1, np.int64)
        self._free = np.arange(capacity, dtype=np.int64)
        self._waiting = 0

    @property
    def room(self) -> int:
        """How many rows can still be loaded before the next elimination."""
        return len(self._free) - self._waiting

    @property
    def solved(self) -> bool:
        """Whether every unknown is determined."""
        return self.rank == self.unknowns

    def load(self, rows: NDArray[np.uint64]) -> None:
        """Take equations in, at most `room` of them; they count from the next `eliminate` on.

        Args:
            rows: uint64[n, (unknowns + 1) / 64 rounded up]: packed coefficients, the right-hand side in the
                highest bit of the last word, the bits between zero.
        """
        places = self._free[self._waiting : self._waiting + len(rows)]
        for number, strip in enumerate(self._rows):
            part = rows[:, number * STRIP : (number + 1) * STRIP]
            strip[places, : part.shape[1]] = part
            strip[places, part.shape[1] :] = 0
        self._waiting += len(rows)

    def eliminate(self) -> None:
        """Bring the loaded equations into the echelon form; the dependent ones are counted and dropped."""
        places, rest = self._free[: self._waiting].copy(), self._free[self._waiting :]
        found = eliminate(self._rows, places, self._pivot, self.unknowns, grow=True)
        dependent = places[found:]
        contradictions = int(np.count_nonzero(self._right_sides(dependent)))
        self.rank += found
        self.violated += contradictions
        self.satisfied += len(dependent) - contradictions
        self._free, self._waiting = np.concatenate([dependent, rest]), 0

    def examine(self) -> NDArray[np.int8]:
        """What the system says of each loaded equation: 1 it holds, -1 it does not, 0 nothing."""
        places = self._free[: self._waiting].copy()
        eliminate(self._rows, places, self._pivot, self.unknowns, grow=False)
        strip, word = self._last
        undecided = np.zeros(len(places), np.bool_)
        for number, rows in enumerate(self._rows):
            part = rows[places]
            if number == strip:
                part[:, word] &= ~RIGHT_SIDE
            undecided |= part.any(axis=1)
        return np.where(undecided, 0, np.where(self._right_sides(places), -1, 1)).astype(np.int8)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Forget the loaded equations that are not chosen."""
        places, rest = self._free[: self._waiting], self._free[self._waiting :]
        self._free = np.concatenate([places[chosen], places[~chosen], rest])
        self._waiting = int(np.count_nonzero(chosen))

    def residues(self) -> NDArray[np.uint64]:
        """The loaded equations in terms of the unknowns that are still open; they are forgotten here.

        Returns:
            uint64[n, (open + 1) / 64 rounded up], in the form that a system of the open unknowns loads.
        """
        places = self._free[: self._waiting].copy()
        eliminate(self._rows, places, self._pivot, self.unknowns, grow=False)
        residues = np.zeros((len(places), (self.unknowns - self.rank) // BLOCK + 1), np.uint64)
        _gather(self._rows, places, self._open(), residues)
        residues[self._right_sides(places), -1] |= RIGHT_SIDE
        self._waiting = 0
        return residues

    def solution(self, rest: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
        """The unknowns, packed.

        Args:
            rest: the open unknowns in their order, packed; needed unless `solved`.
        """
        solution = np.zeros(len(self._pivot) // BLOCK, np.uint64)
        if rest is not None:
            _scatter(rest, self._open(), solution)
        _substitute(self._rows, self._pivot, self.unknowns, solution)
        return solution

    def _open(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._pivot[: self.unknowns] < 0)

    def _right_sides(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        strip, word = self._last
        set_bits: NDArray[np.bool_] = self._rows[strip, places, word] >= RIGHT_SIDE
        return set_bits


@kernel()
def _gather(
    rows: NDArray[np.uint64],
    places: NDArray[np.int64],
    columns: NDArray[np.int64],
    residues: NDArray[np.uint64],
) -> None:
    """Pack some columns of some rows side by side."""
    for k in range(len(columns)):
        word, shift = columns[k] // BLOCK, np.uint64(columns[k] % BLOCK)
        strip = rows[word // STRIP]
        for i in range(len(places)):
            bit = (strip[places[i], word % STRIP] >> shift) & _ONE
            residues[i, k // BLOCK] |= bit << np.uint64(k % BLOCK)


@kernel()
def _scatter(rest: NDArray[np.uint64], columns: NDArray[np.int64], solution: NDArray[np.uint64]) -> None:
    """The opposite for a solution: put packed unknowns at their columns."""
    for k in range(len(columns)):
        bit = (rest[k // BLOCK] >> np.uint64(k % BLOCK)) & _ONE
        solution[columns[k] // BLOCK] |= bit << np.uint64(columns[k] % BLOCK)


@kernel()
def _substitute(
    rows: NDArray[np.uint64], pivot: NDArray[np.int64], unknowns: int, solution: NDArray[np.uint64]
) -> None:
    """Solve the echelon form from the last unknown to the first; columns without a pivot stay as they are."""
    width = len(solution)
    for column in range(unknowns - 1, -1, -1):
        row = pivot[column]
        if row < 0:
            continue
        total = np.uint64(0)
        for t in range(column // BLOCK, width):
            total ^= rows[t // STRIP, row, t % STRIP] & solution[t]
        right = rows[(width - 1) // STRIP, row, (width - 1) % STRIP] >> np.uint64(63)
        solution[column // BLOCK] |= (_parity(total) ^ right) << np.uint64(column % BLOCK)


@kernel(inline=True)
def _parity(word: np.uint64) -> np.uint64:
    for shift in (32, 16, 8, 4, 2, 1):
        word ^= word >> np.uint64(shift)
    return word & _ONE
