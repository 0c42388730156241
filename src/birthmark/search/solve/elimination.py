"""Linear equations over GF(2) in packed bits: elimination by the method of the four Russians.

Rows are eliminated by blocks of 64 columns. Within a block only one word of each row matters for finding
the pivots and for deciding which pivot rows must be added to which row; these decisions are collected as
one 64-bit word a row. Then the rows are updated in a single pass: the 64 bits, eight at a time, choose from
eight tables that hold all 256 sums of eight pivot rows (Arlazarov, Dinic, Kronrod and Faradzev 1970;
Albrecht, Bard and Hart, "Algorithm 898", ACM TOMS 37, 2010). The matrix is stored by strips of columns, all
rows of a strip together, and the tables are built for one strip at a time: they stay in the cache while the
rows stream by. Strips do not depend on each other, so that several threads share them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from birthmark.numerics.compiled import kernel

#: Words of a strip, a compile-time constant of the inner loops: eight tables of 256 rows take 384 kB.
STRIP = 24
#: The right-hand side of an equation is the highest bit of its last word.
RIGHT_SIDE = np.uint64(1 << 63)

#: Threads at most, and rows times strips from which several are worth it.
MOST_WORKERS = 8
WORTH_SHARING = 1 << 15

_BLOCK = 64
_ONE = np.uint64(1)
_BYTE = np.uint64(255)


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
        width = -(-(unknowns + 1) // _BLOCK)
        self._last = divmod(width - 1, STRIP)
        self._rows = np.empty((-(-width // STRIP), capacity, STRIP), np.uint64)
        #: The row whose first set bit is a column; -1 where there is none yet.
        self._pivot = np.full(width * _BLOCK, -1, np.int64)
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
        found = _eliminate(self._rows, places, self._pivot, self.unknowns, grow=True)
        dependent = places[found:]
        contradictions = int(np.count_nonzero(self._right_sides(dependent)))
        self.rank += found
        self.violated += contradictions
        self.satisfied += len(dependent) - contradictions
        self._free, self._waiting = np.concatenate([dependent, rest]), 0

    def examine(self) -> NDArray[np.int8]:
        """What the system says of each loaded equation: 1 it holds, -1 it does not, 0 nothing."""
        places = self._free[: self._waiting].copy()
        _eliminate(self._rows, places, self._pivot, self.unknowns, grow=False)
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
        _eliminate(self._rows, places, self._pivot, self.unknowns, grow=False)
        residues = np.zeros((len(places), (self.unknowns - self.rank) // _BLOCK + 1), np.uint64)
        _gather(self._rows, places, self._open(), residues)
        residues[self._right_sides(places), -1] |= RIGHT_SIDE
        self._waiting = 0
        return residues

    def solution(self, rest: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
        """The unknowns, packed.

        Args:
            rest: the open unknowns in their order, packed; needed unless `solved`.
        """
        solution = np.zeros(len(self._pivot) // _BLOCK, np.uint64)
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


def _eliminate(
    rows: NDArray[np.uint64], fresh: NDArray[np.int64], pivot: NDArray[np.int64], unknowns: int, *, grow: bool
) -> int:
    """Reduce the fresh rows by the pivots and by each other.

    Args:
        rows: all rows, by strips.
        fresh: numbers of the new rows; reordered, those that became pivots first.
        pivot: the pivot row of each column, extended in place.
        unknowns: columns that may have a pivot.
        grow: whether fresh rows may become pivots.

    Returns:
        How many fresh rows became pivots.
    """
    workers = min(os.cpu_count() or 1, MOST_WORKERS, len(rows))
    if workers == 1 or len(fresh) * len(rows) < WORTH_SHARING:
        return int(_eliminate_alone(rows, fresh, pivot, unknowns, grow))
    word, chosen = np.empty(len(fresh), np.uint64), np.empty(len(fresh), np.uint64)
    slots = np.empty(_BLOCK, np.int64)
    tables = [np.zeros((8, 256, STRIP), np.uint64) for _ in range(workers)]
    begin = 0
    with ThreadPoolExecutor(workers) as pool:
        for block in range(-(-unknowns // _BLOCK)):
            end = _decide_block(rows, block, fresh, pivot, unknowns, begin, grow, word, chosen, slots)
            first = block // STRIP
            shares = [
                pool.submit(_update, rows, first + k, workers, fresh, begin, chosen, slots, tables[k])
                for k in range(workers)
            ]
            for share in shares:
                share.result()
            begin = end
            if begin == len(fresh):
                break
    return begin


@kernel()
def _eliminate_alone(
    rows: NDArray[np.uint64], fresh: NDArray[np.int64], pivot: NDArray[np.int64], unknowns: int, grow: bool
) -> int:
    """The same in one thread."""
    tables = np.zeros((8, 256, STRIP), np.uint64)
    word = np.empty(len(fresh), np.uint64)
    chosen = np.empty(len(fresh), np.uint64)
    slots = np.empty(_BLOCK, np.int64)
    begin = 0
    for block in range(-(-unknowns // _BLOCK)):
        end = _decide_block(rows, block, fresh, pivot, unknowns, begin, grow, word, chosen, slots)
        _update(rows, block // STRIP, 1, fresh, begin, chosen, slots, tables)
        begin = end
        if begin == len(fresh):
            break
    return begin


@kernel()
def _decide_block(
    rows: NDArray[np.uint64],
    block: int,
    fresh: NDArray[np.int64],
    pivot: NDArray[np.int64],
    unknowns: int,
    begin: int,
    grow: bool,
    word: NDArray[np.uint64],
    chosen: NDArray[np.uint64],
    slots: NDArray[np.int64],
) -> int:
    """Find the pivots of 64 columns, and which of them each row from `begin` on needs."""
    home, t = rows[block // STRIP], block % STRIP
    for i in range(begin, len(fresh)):
        word[i] = home[fresh[i], t]
        chosen[i] = np.uint64(0)
    columns = pivot[block * _BLOCK : min((block + 1) * _BLOCK, unknowns)]
    return _decide(home[:, t], fresh, columns, begin, grow, word, chosen, slots)


@kernel()
def _update(
    rows: NDArray[np.uint64],
    first: int,
    step: int,
    fresh: NDArray[np.int64],
    begin: int,
    chosen: NDArray[np.uint64],
    slots: NDArray[np.int64],
    tables: NDArray[np.uint64],
) -> None:
    """Add the chosen pivot rows, in every `step`-th strip from the first on."""
    for strip in range(first, len(rows), step):
        _tabulate(rows[strip], slots, tables)
        _apply(rows[strip], fresh, begin, chosen, tables)


@kernel()
def _decide(
    column: NDArray[np.uint64],
    fresh: NDArray[np.int64],
    pivot: NDArray[np.int64],
    begin: int,
    grow: bool,
    word: NDArray[np.uint64],
    chosen: NDArray[np.uint64],
    slots: NDArray[np.int64],
) -> int:
    """Eliminate one word of the rows from `begin` on, noting in `chosen` which pivots each needs."""
    end = begin
    slots[:] = -1
    for bit in range(len(pivot)):
        shift = np.uint64(bit)
        if pivot[bit] >= 0:
            leading, needed = column[pivot[bit]], np.uint64(0)
        else:
            at = end if grow else len(fresh)
            while at < len(fresh) and (word[at] >> shift) & _ONE == 0:
                at += 1
            if at == len(fresh):
                continue
            fresh[at], fresh[end] = fresh[end], fresh[at]
            word[at], word[end] = word[end], word[at]
            chosen[at], chosen[end] = chosen[end], chosen[at]
            pivot[bit] = fresh[end]
            leading, needed = word[end], chosen[end]
            end += 1
        slots[bit] = pivot[bit]
        needed ^= _ONE << shift
        for i in range(end, len(fresh)):
            mask = np.uint64(0) - ((word[i] >> shift) & _ONE)
            word[i] ^= leading & mask
            chosen[i] ^= needed & mask
    return end


@kernel()
def _tabulate(rows: NDArray[np.uint64], slots: NDArray[np.int64], tables: NDArray[np.uint64]) -> None:
    """All sums of the pivot rows, eight at a time, over a strip."""
    for group in range(8):
        for bit in range(8):
            slot = slots[8 * group + bit]
            half = 1 << bit
            for k in range(half):
                source, target = tables[group, k], tables[group, half + k]
                if slot < 0:
                    for t in range(STRIP):
                        target[t] = source[t]
                else:
                    added = rows[slot]
                    for t in range(STRIP):
                        target[t] = source[t] ^ added[t]


@kernel()
def _apply(
    rows: NDArray[np.uint64],
    fresh: NDArray[np.int64],
    begin: int,
    chosen: NDArray[np.uint64],
    tables: NDArray[np.uint64],
) -> None:
    """Add to each row from `begin` on the pivot rows that were chosen for it, over a strip."""
    for i in range(begin, len(fresh)):
        bits = chosen[i]
        if bits == 0:
            continue
        row = rows[fresh[i]]
        a = tables[0, np.int64(bits & _BYTE)]
        b = tables[1, np.int64((bits >> np.uint64(8)) & _BYTE)]
        c = tables[2, np.int64((bits >> np.uint64(16)) & _BYTE)]
        d = tables[3, np.int64((bits >> np.uint64(24)) & _BYTE)]
        e = tables[4, np.int64((bits >> np.uint64(32)) & _BYTE)]
        f = tables[5, np.int64((bits >> np.uint64(40)) & _BYTE)]
        g = tables[6, np.int64((bits >> np.uint64(48)) & _BYTE)]
        h = tables[7, np.int64(bits >> np.uint64(56))]
        for t in range(STRIP):
            row[t] = row[t] ^ a[t] ^ b[t] ^ c[t] ^ d[t] ^ e[t] ^ f[t] ^ g[t] ^ h[t]


@kernel()
def _gather(
    rows: NDArray[np.uint64],
    places: NDArray[np.int64],
    columns: NDArray[np.int64],
    residues: NDArray[np.uint64],
) -> None:
    """Pack some columns of some rows side by side."""
    for k in range(len(columns)):
        word, shift = columns[k] // _BLOCK, np.uint64(columns[k] % _BLOCK)
        strip = rows[word // STRIP]
        for i in range(len(places)):
            bit = (strip[places[i], word % STRIP] >> shift) & _ONE
            residues[i, k // _BLOCK] |= bit << np.uint64(k % _BLOCK)


@kernel()
def _scatter(rest: NDArray[np.uint64], columns: NDArray[np.int64], solution: NDArray[np.uint64]) -> None:
    """The opposite for a solution: put packed unknowns at their columns."""
    for k in range(len(columns)):
        bit = (rest[k // _BLOCK] >> np.uint64(k % _BLOCK)) & _ONE
        solution[columns[k] // _BLOCK] |= bit << np.uint64(columns[k] % _BLOCK)


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
        for t in range(column // _BLOCK, width):
            total ^= rows[t // STRIP, row, t % STRIP] & solution[t]
        right = rows[(width - 1) // STRIP, row, (width - 1) % STRIP] >> np.uint64(63)
        solution[column // _BLOCK] |= (_parity(total) ^ right) << np.uint64(column % _BLOCK)


@kernel(inline=True)
def _parity(word: np.uint64) -> np.uint64:
    for shift in (32, 16, 8, 4, 2, 1):
        word ^= word >> np.uint64(shift)
    return word & _ONE
