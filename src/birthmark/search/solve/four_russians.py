"""Elimination over GF(2) by the method of the four Russians, in threads that share the strips of a matrix.

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
#: Columns that are eliminated together.
BLOCK = 64
#: Threads at most, and rows times strips from which several are worth it.
MOST_WORKERS = 8
WORTH_SHARING = 1 << 15

_ONE = np.uint64(1)
_BYTE = np.uint64(255)


def eliminate(
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
    slots = np.empty(BLOCK, np.int64)
    tables = [np.zeros((8, 256, STRIP), np.uint64) for _ in range(workers)]
    begin = 0
    with ThreadPoolExecutor(workers) as pool:
        for block in range(-(-unknowns // BLOCK)):
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
    slots = np.empty(BLOCK, np.int64)
    begin = 0
    for block in range(-(-unknowns // BLOCK)):
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
    columns = pivot[block * BLOCK : min((block + 1) * BLOCK, unknowns)]
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
