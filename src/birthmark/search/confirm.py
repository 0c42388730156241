"""The second test: a seed that passed a probe must predict other elements too, one after another.

Hits go through the sieve first, which asks by words alone; what it keeps is asked exactly, in double
precision with the sines of the C library (intervals allow for the difference). Witnesses on which all
predictions of a block agree come first, so that the predictions are hardly ever gone through one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.generators.philox import block
from birthmark.numerics.compiled import kernel
from birthmark.search.elements import Elements
from birthmark.search.places import call_of, lane_of, rank_of, thread_of
from birthmark.search.sequential import ACCEPT, HELD, LEAST_CHANCE, LEAST_LEAD, REJECT, UNDECIDED
from birthmark.search.sieve import Sieve, sift
from birthmark.search.windows import radius_limit
from birthmark.survivors.survivor import Distribution

NORMAL, UNIFORM, NORMAL_DOUBLE, UNIFORM_DOUBLE = range(4)

_HALF = np.uint64(32)
_TURN = 2.0 * math.pi


@dataclass(frozen=True, slots=True, eq=False)
class Witnesses:
    """Elements with what a kernel needs to test them.

    Attributes:
        kind: which sampler: NORMAL, UNIFORM, NORMAL_DOUBLE or UNIFORM_DOUBLE.
        low, high: float64[n], the interval of the standard value.
        most: uint64[n], the largest radius word that a normal of that size can have.
        gain, loss: float64[n], what a hit adds to the log-likelihood ratio and a miss takes away.
        held: the least share of them that a true seed predicts.
    """

    kind: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    most: NDArray[np.uint64]
    gain: NDArray[np.float64]
    loss: NDArray[np.float64]
    held: float = HELD


def kind_of(distribution: Distribution, *, double: bool) -> int:
    """The kernel's number for a sampler."""
    if distribution == "normal":
        return NORMAL_DOUBLE if double else NORMAL
    return UNIFORM_DOUBLE if double else UNIFORM


def prepare(elements: Elements, kind: int) -> Witnesses:
    """Turn elements into witnesses."""
    size = np.maximum(np.maximum(elements.low, -elements.high), 0.0)
    most = np.array([radius_limit(each) if each > 0 else 2**32 - 1 for each in size.tolist()], np.uint64)
    chance, held = np.clip(elements.chance, LEAST_CHANCE, elements.held - LEAST_LEAD), elements.held
    return Witnesses(
        kind,
        elements.low,
        elements.high,
        most,
        np.log(held / chance),
        np.log((1 - held) / (1 - chance)),
        held,
    )


def decisive(witnesses: Witnesses) -> bool:
    """Whether the witnesses can reject a false seed, and a true one can convince."""
    losses, gains, held = float(witnesses.loss.sum()), float(witnesses.gain.sum()), witnesses.held
    return losses <= 1.5 * REJECT and held * gains + (1 - held) * losses >= 1.5 * UNDECIDED


@kernel(inline=True)
def _holds(
    seed: np.uint64,
    base: np.uint64,
    place: np.uint64,
    kind: int,
    low: float,
    high: float,
    most: np.uint64,
) -> bool:
    """Whether the standard value of one element lies in its interval."""
    lane = lane_of(place)
    w0, w1, w2, w3 = block(seed + rank_of(place), base + call_of(place), thread_of(place))
    if kind == UNIFORM:
        word = w0
        if lane == np.uint64(1):
            word = w1
        elif lane == np.uint64(2):
            word = w2
        elif lane == np.uint64(3):
            word = w3
        unit = (float(word) + 0.5) * 2.0**-32
        return low <= unit <= high
    if kind == UNIFORM_DOUBLE:
        first, second = w0, w1
        if lane == np.uint64(1):
            first, second = w2, w3
        bits = np.uint64(first) ^ (np.uint64(second) << np.uint64(21))
        unit = float(bits) * 2.0**-53
        return low <= unit <= high
    if kind == NORMAL:
        x, y = w0, w1
        if lane >= np.uint64(2):
            x, y = w2, w3
        if np.uint64(x) > most:
            return False
        radius = (float(x) + 0.5) * 2.0**-32
        turn = (float(y) + 0.5) * 2.0**-32
    else:
        bits = np.uint64(w0) ^ (np.uint64(w1) << np.uint64(21))
        if (bits >> np.uint64(21)) > most:
            return False
        radius = (float(bits) + 0.5) * 2.0**-53
        bits = np.uint64(w2) ^ (np.uint64(w3) << np.uint64(21))
        turn = (float(bits) + 0.5) * 2.0**-53
    size = math.sqrt(-2.0 * math.log(radius))
    angle = turn * _TURN
    value = size * math.sin(angle)
    if lane & np.uint64(1):
        value = size * math.cos(angle)
    return low <= value <= high


@kernel()
def _confirm(
    seeds: NDArray[np.uint64],
    probe: int,
    order: NDArray[np.int64],
    members: NDArray[np.int64],
    common: NDArray[np.bool_],
    base: np.uint64,
    places: NDArray[np.uint64],
    kind: int,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    most: NDArray[np.uint64],
    gain: NDArray[np.float64],
    loss: NDArray[np.float64],
    true: NDArray[np.uint64],
    which: NDArray[np.int64],
) -> int:
    found = 0
    # All members place the probe alike.
    place = places[members[0], probe]
    for seed in seeds:
        # The probe's own interval is narrower than its windows.
        if not _holds(seed, base, place, kind, low[probe], high[probe], most[probe]):
            continue
        ratio = 0.0
        # First the witnesses that all members place alike, then, for each member, the others.
        for member in range(-1, members.shape[0]):
            shared = member < 0
            if not shared and (ratio < REJECT or (ratio > ACCEPT and member > 0)):
                break
            row = members[max(member, 0)]
            own = ratio
            for e in order:
                if own < REJECT or own > ACCEPT:
                    break
                if common[e] != shared:
                    continue
                if _holds(seed, base, places[row, e], kind, low[e], high[e], most[e]):
                    own += gain[e]
                else:
                    own += loss[e]
            if shared:
                ratio = own
            elif own >= UNDECIDED:
                if found == true.shape[0]:
                    return -1
                true[found] = seed
                which[found] = row
                found += 1
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Predictions of one sharding that share a probe's block.

    Attributes:
        order: int64, the witnesses in the order in which they are asked.
        members: int64, the predictions.
        common: bool[elements], whether all members place a witness alike.
        sieve: int64, the witnesses that the sieve asks; none where too few are common.
    """

    order: NDArray[np.int64]
    members: NDArray[np.int64]
    common: NDArray[np.bool_]
    sieve: NDArray[np.int64]


def confirm(
    seeds: NDArray[np.uint64],
    probe: int,
    group: Group,
    base: int,
    places: NDArray[np.uint64],
    witnesses: Witnesses,
    sieve: Sieve,
) -> list[tuple[int, int]]:
    """Test seeds that passed a probe.

    Args:
        seeds: seeds of rank 0.
        probe: the probe's column in `places` and `witnesses`.
        group: predictions that place the probe in the scanned block.
        base: the generator's offset at the draw's start, in calls.
        places: packed places of all elements (columns) under all predictions (rows).
        witnesses: what the elements' standard values can be.
        sieve: what their words can be.

    Returns:
        (seed, prediction) of all that convinced, in the order of the seeds. Of predictions that the witnesses
        do not tell apart only the first is named.
    """
    if len(group.sieve):
        seeds = sift(seeds.copy(), group.sieve, base, places[group.members[0]], sieve)
    if len(seeds) == 0:
        return []
    room = 256 + len(group.members)
    true, which = np.empty(room, np.uint64), np.empty(room, np.int64)
    found = _confirm(
        seeds,
        probe,
        group.order,
        group.members,
        group.common,
        np.uint64(base),
        places,
        witnesses.kind,
        witnesses.low,
        witnesses.high,
        witnesses.most,
        witnesses.gain,
        witnesses.loss,
        true,
        which,
    )
    if found < 0:
        # More convinced than there is room for; one seed alone always fits.
        half = len(seeds) // 2
        rest = group.order, group.members, group.common, group.sieve[:0]
        return [
            pair
            for part in (seeds[:half], seeds[half:])
            for pair in confirm(part, probe, Group(*rest), base, places, witnesses, sieve)
        ]
    return list(zip(true[:found].tolist(), which[:found].tolist(), strict=True))
