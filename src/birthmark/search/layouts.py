"""Which layout a known seed fits: all of them scored, and those told apart that the selection can tell apart.

Most layouts agree on most of a small tensor. So two of them are compared on the elements that they place
differently, and one is excluded only where the other leads clearly there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.devices.catalogue import table_threads
from birthmark.hypothesis import Hypothesis
from birthmark.search.correlation import correlation
from birthmark.search.outcome import Rival
from birthmark.search.places import locate
from birthmark.search.space import Prediction
from birthmark.search.stage import ENDLESS
from birthmark.survivors.split import Selection

#: Elements of the first look, of the comparison of those that it leaves, and of the score: spaced ones and
#: the farthest.
FIRST_LOOK, SECOND_LOOK, LAST_LOOK = 1024, 1 << 16, 1 << 18
#: Rivals that are looked at twice at the most.
RIVALS = 256
#: By so many sigmas a layout must lead, where two differ, for the other to be excluded.
LEAD = 5.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the selection says about the layout of a seed.

    Attributes:
        hypothesis: the best one.
        n: elements that its score rests on.
        r: the score.
        not_excluded: the G's that predict as well, ascending; empty where no layout fits beyond the elements
            that all of them place alike.
        rival: the best layout that is excluded; None where none is.
        compared: how many distinct predictions were scored.
    """

    hypothesis: Hypothesis
    n: int
    r: float
    not_excluded: tuple[int, ...]
    rival: Rival | None
    compared: int


def resolve(selection: Selection, seed: int, predictions: Sequence[Prediction]) -> Resolution:
    """Score every prediction with this seed.

    Args:
        selection: what the search may see.
        seed: the seed of rank 0.
        predictions: the distinct predictions of all layouts and shardings that are to be compared.
    """
    look = _spread(selection, FIRST_LOOK)
    scores = np.array([_score(selection, each.hypothesis, seed, look) for each in predictions])
    order = np.argsort(-scores, kind="stable")[:RIVALS].tolist()
    look = _spread(selection, SECOND_LOOK)
    second = {row: _score(selection, predictions[row].hypothesis, seed, look) for row in order}
    best = max(order, key=lambda row: second[row])
    places = locate([predictions[row] for row in order], selection.indices[look])
    own = places[order.index(best)]
    not_excluded = set(predictions[best].threads)
    rival: int | None = None
    for place, row in zip(places, order, strict=True):
        if row == best:
            continue
        if _leads(selection, seed, predictions[best], predictions[row], look[place != own]):
            if rival is None or second[row] > second[rival]:
                rival = row
        else:
            not_excluded.update(predictions[row].threads)
    everything = _spread(selection, LAST_LOOK)
    free = _agreed(selection, predictions[best], everything)
    n, r = len(everything), _score(selection, predictions[best].hypothesis, seed, everything)
    if free is not None and not _explains(selection, seed, predictions[best].hypothesis, everything[~free]):
        n, r = int(free.sum()), _score(selection, predictions[best].hypothesis, seed, everything[free])
        not_excluded = set()
    return Resolution(
        _named(predictions[best]),
        n,
        r,
        tuple(sorted(not_excluded)),
        None if rival is None else Rival(predictions[rival].hypothesis, len(look), second[rival]),
        len(predictions),
    )


def _named(prediction: Prediction) -> Hypothesis:
    """The prediction under its smallest G that some known device has, or else its smallest."""
    known = [threads for threads in prediction.threads if threads in table_threads()]
    return replace(prediction.hypothesis, threads=min(known or prediction.threads))


def _score(selection: Selection, hypothesis: Hypothesis, seed: int, which: NDArray[np.int64]) -> float:
    return correlation(selection.values[which], hypothesis.standard(seed, selection.indices[which]))


def _spread(selection: Selection, count: int) -> NDArray[np.int64]:
    """Evenly spaced elements, and the last ones, which only the largest layouts agree on."""
    n = len(selection.indices)
    if n <= count:
        return np.arange(n)
    spaced = np.linspace(0, n - 1, count // 2).astype(np.int64)
    return np.unique(np.concatenate([spaced, np.arange(n - count // 2, n)]))


def _leads(
    selection: Selection, seed: int, best: Prediction, other: Prediction, telling: NDArray[np.int64]
) -> bool:
    """Whether the best prediction is clearly better where the two differ."""
    if len(telling) < LEAD:
        return False
    ours = _score(selection, best.hypothesis, seed, telling)
    theirs = _score(selection, other.hypothesis, seed, telling)
    return (ours - theirs) * math.sqrt(len(telling)) >= LEAD


def _agreed(selection: Selection, best: Prediction, which: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """The elements that even an endless layout places as this one does; None where all or none are."""
    endless = Prediction(replace(best.hypothesis, threads=ENDLESS), (ENDLESS,))
    places = locate([best, endless], selection.indices[which])
    same: NDArray[np.bool_] = places[0] == places[1]
    return same if same.any() and not same.all() else None


def _explains(selection: Selection, seed: int, hypothesis: Hypothesis, which: NDArray[np.int64]) -> bool:
    """Whether a hypothesis predicts these elements better than chance; too few of them cannot deny it."""
    n = len(which)
    return n < 4 * LEAD**2 or _score(selection, hypothesis, seed, which) * math.sqrt(n) >= LEAD
