"""One seed's stream against survivors at every position: exact matches of a few words.

The words are made in one go, a few thousand at a time, and at each position two of them are compared with
what the survivors there say; where both fit, more are. That takes about half a nanosecond a position, so a
billion positions of one seed are a matter of half a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.errors import NothingToSearch
from birthmark.generators.mt19937 import window_at
from birthmark.generators.mt19937_words import MIDDLE, SIZE, TWIST, tempered
from birthmark.numerics.compiled import kernel
from birthmark.samplers.cpu_uniform import BITS
from birthmark.search.cpu_positions.conditions import Conditions
from birthmark.search.cpu_positions.fields import NONE, Fields, fields_of
from birthmark.search.cpu_positions.passes import ENOUGH, WORTH
from birthmark.search.miss import chance_of_miss, element_fails
from birthmark.search.vectors import widest_vectors

#: Bits that a probe looks at, and the least it needs: few wrong positions may pass it.
ENOUGH_BITS: Final = 38.0
LEAST_BITS: Final = 34.0
#: Words between the first and the last that a probe looks at.
SPAN: Final = 1 << 15
#: Probes of one search.
MOST_PROBES: Final = 3
#: Positions that one call into the kernel goes through, and room for those that fit.
CALL: Final = 1 << 24
HITS: Final = 1 << 10

#: Words that are made at a time, and positions that are looked at in one go.
PIECE: Final = 1 << 13
_GROUP: Final = 256
_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_ZERO = np.uint32(0)
_SEEN = np.uint32((1 << BITS) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """Words near each other that a draw must have.

    Attributes:
        first: the place of the earliest, counted from the draw's first word.
        places: int64[k], their places, counted from the earliest; the most telling first, 2 or more.
        low: uint32[k], the least that their low 24 bits can be.
        width: uint32[k], how much more they can be.
    """

    first: int
    places: NDArray[np.int64]
    low: NDArray[np.uint32]
    width: NDArray[np.uint32]

    @property
    def bits(self) -> float:
        """How many bits they are worth: a wrong position passes with a chance of 2^-bits."""
        return float(np.sum(BITS - np.log2(self.width + 1.0)))


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of a search, and the chance that the true position fits none of the first, first two, ..."""

    probes: tuple[Probe, ...]
    misses: tuple[float, ...]


def plan_probes(conditions: Conditions, most: int = MOST_PROBES) -> Probes:
    """Choose words to look for.

    Raises:
        NothingToSearch: no words near each other say enough.
    """
    if conditions.library != "torch":
        raise NothingToSearch(f"streams are followed for draws of torch only, not of {conditions.library}.")
    fields = fields_of(conditions.seen)
    bits = BITS - np.log2(fields.high.astype(np.float64) - fields.low + 1.0)
    usable = np.flatnonzero((fields.width == BITS) & (bits >= 1.0))
    units = conditions.seen.unit[fields.first]
    options = []
    for unit in np.unique(units[usable]).tolist():
        options.extend(_clusters(fields, bits, usable[units[usable] == unit]))
    if not options:
        options = list(_clusters(fields, bits, usable))
    chosen: list[Probe] = []
    doubts: dict[int, tuple[float, float]] = {}
    misses: list[float] = []
    while options and len(chosen) < most and (not misses or misses[-1] > ENOUGH):
        scored = [(_after(doubts, conditions, fields, one), number) for number, one in enumerate(options)]
        (miss, after), number = min(scored, key=lambda one: (one[0][0], one[1]))
        if misses and miss > WORTH * misses[-1]:
            break
        doubts = after
        misses.append(miss)
        chosen.append(_probe(fields, options.pop(number)))
    if not chosen:
        raise NothingToSearch(
            f"no words within {SPAN} of each other are known to {LEAST_BITS:.0f} bits together: "
            "positions of a stream cannot be told apart."
        )
    return Probes(tuple(chosen), tuple(misses))


def matches(seed: int, start: int, stop: int, probe: Probe, halt: Event | None = None) -> list[int] | None:
    """The stream positions from `start` to `stop` - 1 at which a draw by this seed passes a probe.

    None if `halt` was set meanwhile.

    Raises:
        NothingToSearch: very many positions pass.
    """
    found: list[int] = []
    span = int(probe.places.max())
    piece = max(PIECE, span)
    raw, words = np.empty(SIZE + piece, np.uint32), np.empty(span + piece, np.uint32)
    raw[:SIZE] = window_at(seed, start + probe.first)
    _make(raw, words[:span])
    hits = np.empty(HITS, np.int64)
    for begin in range(start, stop, CALL):
        if halt is not None and halt.is_set():
            return None
        count = min(CALL, stop - begin)
        number = int(_match(raw, words, span, count, probe.places, probe.low, probe.width, hits))
        if number > HITS:
            raise NothingToSearch(f"{number} of {count} positions fit: the values do not tell them apart.")
        found.extend(begin + int(place) for place in hits[:number])
    return found


def _clusters(fields: Fields, bits: NDArray[np.float64], among: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Sets of words near each other that are worth enough, without a word in common; at most two."""
    found: list[NDArray[np.int64]] = []
    left = among[np.argsort(-bits[among], kind="stable")]
    while len(left) > 1 and len(found) < 2:
        near = left[np.abs(fields.position[left] - fields.position[left[0]]) < SPAN // 2]
        total = np.cumsum(bits[near])
        chosen = near[: int(np.searchsorted(total, ENOUGH_BITS)) + 1]
        if len(chosen) < 2 or bits[chosen].sum() < LEAST_BITS:
            break
        found.append(chosen)
        left = left[~np.isin(left, chosen)]
    return found


def _after(
    doubts: dict[int, tuple[float, float]], conditions: Conditions, fields: Fields, chosen: NDArray[np.int64]
) -> tuple[float, dict[int, tuple[float, float]]]:
    """(chance of a miss, what it comes of) if these words were probed as well."""
    seen = conditions.seen
    values = np.concatenate([fields.first[chosen], fields.second[chosen]])
    values = np.unique(values[values != NONE])
    size = np.abs(seen.values[values]) / (0.5 * (seen.scale[0] + seen.scale[1]))
    fails = 1.0 - float(np.prod(1.0 - element_fails(seen.distribution, size)))
    units, one = np.unique(seen.unit[values], return_index=True)
    trust = math.prod(float(each) for each in seen.trust[values[one]])
    key = int(units[0]) if len(units) == 1 else -1 - len(doubts)
    after = {**doubts, key: (trust, fails * doubts.get(key, (trust, 1.0))[1])}
    return chance_of_miss(after), after


def _probe(fields: Fields, chosen: NDArray[np.int64]) -> Probe:
    position = fields.position[chosen]
    first = int(position.min())
    return Probe(first, position - first, fields.low[chosen], fields.high[chosen] - fields.low[chosen])


@kernel()
def _match(
    raw: NDArray[np.uint32],
    words: NDArray[np.uint32],
    span: int,
    count: int,
    places: NDArray[np.int64],
    low: NDArray[np.uint32],
    width: NDArray[np.uint32],
    hits: NDArray[np.int64],
) -> int:
    """Note the positions among the next `count` at which all words fit, counted from the first of them.

    Args:
        raw: uint32[624 + piece], the window after the words that are made already; it moves on.
        words: uint32[span + piece], of which the first `span` are made; it moves on.
        span: the largest of the places.
        count: positions.
        places: as in `Probe`.
        low: as in `Probe`.
        width: as in `Probe`.
        hits: room for what fits.

    Returns:
        How many fit, of which no more are noted than there is room for.
    """
    piece = len(words) - span
    found, done = 0, 0
    while done < count:
        here = min(piece, count - done)
        _make(raw, words[span : span + here])
        for start in range(0, here, _GROUP):
            group = min(_GROUP, here - start)
            a, b = start + places[0], start + places[1]
            if fitting(words[a : a + group], words[b : b + group], low[0], width[0], low[1], width[1]) == 0:
                continue
            for i in range(start, start + group):
                k = 0
                while k < len(places) and fits(words[i + places[k]], low[k], width[k]):
                    k += 1
                if k == len(places):
                    if found < len(hits):
                        hits[found] = done + i
                    found += 1
        for i in range(span):
            words[i] = words[here + i]
        done += here
    return found


@kernel()
def _make(raw: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    """Put the low 24 bits of the window's next words into `out`, and move the window behind them."""
    widest_vectors()
    for i in range(len(out)):
        joined = np.uint32((raw[i] & _UPPER) | (raw[i + 1] & _LOWER))
        odd = np.uint32(_ZERO - np.uint32(joined & _ONE))
        raw[SIZE + i] = np.uint32(raw[i + MIDDLE] ^ np.uint32(joined >> _ONE) ^ np.uint32(odd & TWIST))
    for i in range(len(out)):
        out[i] = np.uint32(tempered(raw[i]) & _SEEN)
    for i in range(SIZE):
        raw[i] = raw[len(out) + i]


@kernel(inline=True)
def fits(word: np.uint32, low: np.uint32, width: np.uint32) -> bool:
    """Whether a word lies between low and low + width."""
    return bool(np.uint32(word - low) <= width)


@kernel()
def fitting(
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    low_a: np.uint32,
    width_a: np.uint32,
    low_b: np.uint32,
    width_b: np.uint32,
) -> np.uint32:
    """At how many places both words fit."""
    widest_vectors()
    both = _ZERO
    for i in range(len(a)):
        both += np.uint32(fits(a[i], low_a, width_a) & fits(b[i], low_b, width_b))
    return both
