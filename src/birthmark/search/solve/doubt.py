"""Doubtful words settle what sure ones leave open.

When the sure words have been eliminated, some unknowns stay open. The equations of the doubtful words are
reduced by the system, once, to equations in these few unknowns. There they are cheap to combine: words
enter one small group after the other, if the system already agrees with them in some equations and
contradicts them in none. A wrong word that slips in leads to a contradiction, and another order is tried.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.search.solve.elimination import System
from birthmark.search.solve.enter import load
from birthmark.search.solve.equations import BITS, Words

#: With more open unknowns than this nothing is tried.
MOST_OPEN: Final = 2048
#: Doubtful words that take part at most.
MOST_WORDS: Final = 768
#: In how many equations a word must agree to enter. The demand falls when no word meets it any more; by
#: then most
#: wrong words have been contradicted.
VOTES: Final = (16, 8, 4, 1, 0)
#: Words that are judged together, and orders that are tried.
GROUP: Final = 24
ORDERS: Final = 32


def settle(
    system: System, words: Words, order: NDArray[np.int64], rng: np.random.Generator, origin: int
) -> System | None:
    """Find the open unknowns of a system by doubtful words.

    Args:
        system: without contradiction, not solved.
        words: the words.
        order: the doubtful ones, those that are tried first at the front.
        rng: source of the orders.
        origin: the position at which the unknowns begin.

    Returns:
        A solved system of the open unknowns in their order, or None if there is none or the words do not
        suffice.
    """
    missing = system.unknowns - system.rank
    if missing > MOST_OPEN:
        return None
    residues, number = _reduced(system, words, order[:MOST_WORDS], origin)
    for _ in range(ORDERS):
        rest = _solved(missing, residues, number, rng)
        if rest is not None:
            return rest
    return None


def _reduced(
    system: System, words: Words, order: NDArray[np.int64], origin: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The equations of words in the open unknowns, and the number of the word of each."""
    parts, numbers = [], []
    step = system.room // BITS
    for begin in range(0, len(order), step):
        numbers.append(begin + load(system, words, np.sort(order[begin : begin + step]), origin))
        parts.append(system.residues())
    if not parts:
        return np.empty((0, (system.unknowns - system.rank) // 64 + 1), np.uint64), np.empty(0, np.int64)
    return np.concatenate(parts), np.concatenate(numbers)


def _solved(
    missing: int, residues: NDArray[np.uint64], number: NDArray[np.int64], rng: np.random.Generator
) -> System | None:
    """The open unknowns by one random order of the words; None if it leads to a contradiction or nowhere."""
    rest = System(missing, missing + GROUP * BITS)
    waiting = rng.permutation(int(number.max(initial=-1)) + 1)
    rows_of = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[rows_of], np.arange(len(waiting) + 1))
    for votes in VOTES:
        grown = True
        while grown and not rest.solved:
            before, left = rest.rank, []
            for begin in range(0, len(waiting), GROUP):
                group = waiting[begin : begin + GROUP]
                rows = np.concatenate([rows_of[bounds[word] : bounds[word + 1]] for word in group])
                position = np.repeat(np.arange(len(group)), bounds[group + 1] - bounds[group])
                rest.load(residues[rows])
                verdict = rest.examine()
                against = np.bincount(position[verdict < 0], minlength=len(group)) > 0
                enough = np.bincount(position[verdict > 0], minlength=len(group)) >= votes
                rest.keep((enough & ~against)[position])
                rest.eliminate()
                if rest.violated:
                    return None
                left.append(group[~enough & ~against])
            waiting, grown = np.concatenate([*left, waiting[:0]]), rest.rank > before
    return rest if rest.solved else None
