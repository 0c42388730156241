"""Shards whose seeds lie otherwise apart than by 1: all alike, descending, or with another rule's step.

The plain search cuts a vocabulary among ranks whose seeds ascend by 1. Where it finds the seed of one run of
rows and no more, that run may be a shard under another rule. So the known seed is tried on the first rows of
the other shards with every step that a framework's rule has, with those that people use, and with the one
that two known shards lie apart. Those rows are the same under all layouts; what fits there is then held
against the whole selection under every layout. A vocabulary that was padded until it divided, and published
without the padding, has a last shard cut short: so the shards' height is tried in rounded numbers, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.hypothesis import Hypothesis
from birthmark.recipes.seed_rules import RULES
from birthmark.recipes.sharding import SEED_SPACE, Rule, Sharding
from birthmark.search.correlation import correlation, log10_p
from birthmark.search.layouts import resolve
from birthmark.search.outcome import Candidate, Outcome, Searched, one_stage
from birthmark.search.plan import VERIFIED
from birthmark.search.space import predictions
from birthmark.survivors.split import Selection

#: How many shards there may be.
SHARDS: Final = (*range(2, 17), 24, 32, 64)
#: The name of the stage.
STAGE: Final = "steps"
#: Steps that people use beside those of rules; each is tried downwards as well.
USUAL: Final = (0, 1, 2, 10, 100, 1000, 1024, 10_000)
#: Axes of rules along which shards of a table count.
AXES: Final = ("tp", "rank", "position")
#: Rows of each shard, and values of each row, that are looked at first; the score that they must reach.
ROWS, VALUES, LEAST_SIGMA = 2, 64, 8.0
#: What the rows of a padded shard are a multiple of.
ROUND: Final = tuple(1 << bits for bits in range(3, 12))
#: Larger steps are no rule's.
LARGEST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Known:
    """A run of rows whose seed is known.

    Attributes:
        hypothesis: what predicts it.
        seed: the seed of the process that drew it.
        row: the first row that this process drew.
    """

    hypothesis: Hypothesis
    seed: int
    row: int


def search_stepped(selection: Selection, known: Sequence[Known], layouts: Sequence[int]) -> Outcome:
    """Take known runs of rows for shards, and look for the others.

    Args:
        selection: what may be seen of the tensor: rows of a matrix.
        known: one run or more.
        layouts: the G's that are possible.

    Returns:
        The candidates that stand out after all trials, best first.
    """
    began = time.monotonic()
    tried, compared = 0, 0
    found: list[tuple[Hypothesis, int]] = []
    for one in known:
        for ways, rows in _cuts(selection, one):
            look = _look(selection, one.row // rows, rows)
            if not len(look):
                continue
            padded = rows if ways * rows > selection.shape[0] else 0
            for step in _steps(known, rows):
                tried += 1
                rule: Rule = "megatron" if step == 1 else "stepped"
                hypothesis = replace(one.hypothesis, sharding=Sharding(ways, rule, step, padded))
                seed = (one.seed - step * (one.row // rows)) % SEED_SPACE
                drawn = hypothesis.standard(seed, selection.indices[look])
                r = correlation(selection.values[look], drawn)
                if r * math.sqrt(len(look)) >= LEAST_SIGMA and (hypothesis, seed) not in found:
                    found.append((hypothesis, seed))
    candidates = []
    for hypothesis, seed in found:
        classes = predictions(selection, layouts, [hypothesis.sharding], hypothesis.offset)
        best = resolve(selection, seed, classes)
        compared += best.compared
        score = log10_p(best.n, best.r, max(1, tried + compared))
        if score < VERIFIED:
            candidates.append(
                Candidate(best.hypothesis, seed, best.n, best.r, score, best.not_excluded, best.rival)
            )
    candidates.sort(key=lambda one: -one.r)
    return Outcome(
        tuple(candidates), _searched(layouts, tried + compared, len(found), time.monotonic() - began), False
    )


def _cuts(selection: Selection, one: Known) -> Iterator[tuple[int, int]]:
    """How many shards there may be, and the rows of each, where a known run begins with one of them."""
    if len(selection.shape) != 2 or selection.axis == "column":
        return
    total = selection.shape[0]
    for ways in SHARDS:
        heights = [total // ways] if total % ways == 0 else []
        heights += [-(-total // (ways * size)) * size for size in ROUND]
        for rows in dict.fromkeys(heights):
            if (ways - 1) * rows < total and one.row % rows == 0:
                yield ways, rows


def _look(selection: Selection, own: int, rows: int) -> NDArray[np.int64]:
    """Places in the selection of some values in the lowest rows of each other shard than the known one."""
    row = selection.indices // selection.shape[1]
    shard = row // rows
    chosen = []
    for number in np.unique(shard).tolist():
        if number != own:
            lowest = np.unique(row[shard == number])[:ROWS]
            chosen += [np.flatnonzero(row == each)[:VALUES] for each in lowest.tolist()]
    return np.concatenate([np.zeros(0, np.int64), *chosen])


def _steps(known: Sequence[Known], rows: int) -> tuple[int, ...]:
    """The steps to try, each once; `rows` a shard."""
    return tuple(dict.fromkeys([*_apart(known, rows), *_usual()]))


def _apart(known: Sequence[Known], rows: int) -> Iterator[int]:
    """What the known runs lie apart, a shard."""
    for one in known:
        for other in known:
            shards = (other.row - one.row) // rows
            if other.row > one.row and (other.row - one.row) % rows == 0:
                apart = (other.seed - one.seed) % SEED_SPACE
                apart -= SEED_SPACE if apart >= SEED_SPACE // 2 else 0
                if apart % shards == 0 and abs(apart) < LARGEST:
                    yield apart // shards


def _usual() -> Iterable[int]:
    sizes = {step.size for rule in RULES for step in rule.steps if step.axis in AXES}
    for size in sorted({*USUAL, *sizes}):
        yield size
        yield -size


def _searched(layouts: Sequence[int], trials: int, kept: int, seconds: float) -> Searched:
    return one_stage(
        STAGE,
        "equal runs of rows under seeds that lie as far apart as a rule of ranks puts them",
        layouts,
        seeds=1,
        predictions=max(1, trials),
        trials=max(1, trials),
        kept=kept,
        seconds=seconds,
    )
