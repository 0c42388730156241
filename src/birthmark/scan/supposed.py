"""Places that recipes suppose, in a scan: with the model's config.json where there is one, and without.

They come after the dictionary at the generator's start and before everything that takes longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from birthmark.checkpoints.declarations import declared_model
from birthmark.devices.catalogue import table_threads
from birthmark.errors import NothingToSearch
from birthmark.evidence.judge import Judged
from birthmark.recipes.hypotheses import Supposition, redrawn, sharded, suppositions
from birthmark.recipes.sharding import WHOLE
from birthmark.scan.state import State
from birthmark.search.layouts import resolve
from birthmark.search.options import Options
from birthmark.search.outcome import Candidate
from birthmark.search.space import predictions
from birthmark.search.supposed import Place, places_of, search_supposed
from birthmark.survivors.split import Selection
from birthmark.survivors.survivor import Survivors

#: Tensors that are tried there.
MOST_TARGETS: Final = 2
#: A correlation on the selection above which nearly all of it is predicted, and what another cut must gain.
EXPLAINED: Final = 0.9
GAIN: Final = 0.1
#: Words before a CPU draw up to which the seeds that people use are tried there.
FURTHEST_WORD: Final = 1 << 25


def at_supposed_places(state: State, targets: Sequence[Survivors], wanted: Options) -> None:
    """Try likely seeds where recipes suppose that the most promising tensors were drawn.

    If a seed is known and predicts a part of its tensor only, that part may be the first of many shards.
    """
    if state.predicted is not None:
        _as_shards(state, state.predicted, targets, wanted)
        return
    for target in targets[:MOST_TARGETS]:
        if state.settled or state.stopped:
            return
        try:
            selection, holdout = state.split(target)
        except NothingToSearch:
            continue
        shape = selection.shape
        supposed = [redrawn(shape, table_threads()), *_supposed(state, target.tensor, shape)]
        places = places_of(selection, supposed, wanted)
        if not places:
            continue
        try:
            outcome = search_supposed(selection, places, wanted, progress=state.progress)
        except NothingToSearch:
            continue  # the dictionary's own refusal says more
        state.stopped = outcome.stopped
        state.searches.append((target.tensor, outcome.searched))
        fitting = tuple(one for one in outcome.candidates if not _better_whole(selection, one, wanted))
        state.judge(target, selection, holdout, replace(outcome, candidates=fitting))
        _name(state, places)


def _better_whole(selection: Selection, found: Candidate, wanted: Options) -> bool:
    """Whether a seed correlates better with the plain draw: shards of a supposition begin as that one does.

    Of a trace, or of a sum of draws, the plain draw is no match, and its first rows alone would pass for
    those of a distributed tensor.
    """
    if found.hypothesis.sharding == WHOLE or found.r > EXPLAINED:
        return False
    plain = predictions(selection, wanted.layouts or table_threads(), (WHOLE,))
    return resolve(selection, found.seed, plain).r > found.r


def _as_shards(state: State, found: Judged, targets: Sequence[Survivors], wanted: Options) -> None:
    """Take a tensor of which a seed predicts only a part for a distributed one under the same seed."""
    known = found.judgement
    hypothesis, before = known.fit.hypothesis, known.selection.r
    target = next((each for each in targets if each.tensor == known.case.tensor), None)
    if target is None or before is None or before > EXPLAINED:
        return
    selection, holdout = state.split(target)
    layouts = wanted.layouts or table_threads()
    places = places_of(selection, sharded(selection.shape, layouts, hypothesis.offset), wanted)
    if not places:
        return
    try:
        outcome = search_supposed(selection, places, wanted, seeds=np.array([known.case.seed], np.uint64))
    except NothingToSearch:
        return
    state.stopped = outcome.stopped
    state.searches.append((target.tensor, outcome.searched))
    if outcome.candidates and outcome.candidates[0].r > before + GAIN:
        state.judgements.clear()  # it was a part of what is judged now
        state.judge(target, selection, holdout, outcome)


def _name(state: State, places: Sequence[Place]) -> None:
    """Note whose place it was at which a tensor was found, if it was."""
    found = state.predicted
    if found is None:
        return
    hypothesis = found.judgement.fit.hypothesis
    whose = [
        name
        for place in places
        if place.offset == hypothesis.offset
        and any(
            one.hypothesis.sharding == hypothesis.sharding and hypothesis.threads in one.threads
            for one in place.classes
        )
        for name in place.supposed.recipes
    ]
    if whose:
        state.notes.append(
            f"{found.judgement.case.tensor} was looked for at offset {hypothesis.offset} because "
            f"{' or '.join(dict.fromkeys(whose))} would draw it there; others may do so, too."
        )


def supposed_words(state: State, tensor: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where on the CPU recipes suppose that a tensor's draw begins, in words before it; near ones only."""
    found = [
        offset
        for one in _supposed(state, tensor, shape)
        if one.generator == "cpu" and one.draw.distribution == "normal"
        for offset in one.offsets.values()
        if 0 < offset <= FURTHEST_WORD
    ]
    return tuple(dict.fromkeys(found))


def _supposed(state: State, tensor: str, shape: tuple[int, ...]) -> tuple[Supposition, ...]:
    if len(shape) != 2:
        return ()
    return suppositions(declared_model(state.checkpoint), tensor, (shape[0], shape[1]), table_threads())
