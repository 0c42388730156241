"""Known answers for the search itself: planted seeds must be found, and nothing else."""

from __future__ import annotations

import numpy as np

from birthmark.errors import SelfTestFailed
from birthmark.generators.philox import words
from birthmark.samplers import selftest
from birthmark.search.kernel import CHUNK, RUN, Scanned, constants, scan, scan_listed
from birthmark.search.seeds import Run, consecutive
from birthmark.search.windows import around

#: Planted seeds: both ends of the range, both ends of 31 bits, two everyday ones, and one of 64 bits.
PLANTED = (0, 42, 3407, 2**31 - 1, 2**31, RUN - 1, 67280421310721)
#: Places in the stream: (calls, thread) and the pair of words.
PLACES = ((0, 0, 0), (0, 270335, 1), (3, 40959, 0), (485, 1234567, 1), (2**33 + 5, 2**32 + 7, 0))
#: Seeds around each planted one that must not pass; more than a chunk, and no multiple of one.
_AROUND = 3 * CHUNK // 2


def check() -> None:
    """Compute the known answers of the generator and the samplers, then let the scan find planted seeds.

    Raises:
        SelfTestFailed: a value differs, or the scan finds too little or too much.
    """
    selftest.check()
    for seed in PLANTED:
        for counter, thread, pair in PLACES:
            _check(seed, counter, thread, pair)


def _check(seed: int, counter: int, thread: int, pair: int) -> None:
    """The windows hold the planted seed's words and, with a chance of 2^-40, no neighbour's."""
    planted = words(seed, np.array([counter], np.uint64), np.array([thread], np.uint64))[0].astype(np.uint64)
    even, odd = planted[2 * pair : 2 * pair + 2].tolist()
    test = around(pair, even, odd, 100)
    first, stop = max(seed - _AROUND, 0), seed + _AROUND
    hits = np.empty(2 * CHUNK, np.uint64)
    for piece in consecutive(first, stop).pieces(0, stop - first):
        if isinstance(piece, Run):
            scanned = scan(piece.first, piece.count, constants(counter, thread), test, hits)
            inside = piece.first <= seed < piece.first + piece.count
            expected = Scanned(inside, inside, piece.count)
        else:
            scanned = scan_listed(piece, counter, thread, test, hits)
            inside = bool((piece == np.uint64(seed)).any())
            expected = Scanned(inside, inside, len(piece))
        if scanned == expected and (not inside or int(hits[0]) == seed):
            continue
        raise SelfTestFailed(
            f"the scan around seed {seed} (call {counter}, thread {thread}) does not find it, or finds more.",
            advice="Results of this machine cannot be trusted; report it with its processor and versions.",
        )
