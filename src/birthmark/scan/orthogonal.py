"""Orthogonal initialisation in a scan: the line that shows the draw, searched, and confirmed through QR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from birthmark.errors import NothingToSearch
from birthmark.evidence.solved import HostLook, held_against
from birthmark.scan.state import State
from birthmark.search.cpu_positions.conditions import conditions_of_selection
from birthmark.search.cpu_positions.positions import usual_positions
from birthmark.search.cpu_positions.search import search_positions
from birthmark.search.known_seed import among_usual_seeds, words_of_selection
from birthmark.search.origin import Found
from birthmark.search.orthogonal_origin import OrthogonalOrigin, replayable
from birthmark.search.stream import locate
from birthmark.survivors.leading import orthogonal_gain, split_leading
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors

#: Tensors that are tried, and stream positions of each: a pass through all seeds takes minutes.
MOST_TARGETS: Final = 1
MOST_POSITIONS: Final = 3
#: Words of the stream of a known seed that are looked at for further tensors.
REACH: Final = 1 << 24
#: How much longer or shorter than expected the drawn line can be: its values are the draw's over its length.
LENGTH: Final = 0.3


def by_usual_seeds(state: State, targets: Sequence[Survivors]) -> None:
    """Try the seeds that people use on tensors that may be orthogonal."""
    for target, gain, selection, holdout in _candidates(state, targets):
        tried, found = among_usual_seeds(selection, _positions(state, target)[:1])
        for one in tried.tried:
            what = f"CPU draw made orthogonal, dictionary of seeds, index {one.index:,}: {one.seeds:,} seeds"
            reason = tried.reason if found is None else None
            complete = one.seeds == one.of
            state.looks.append(HostLook((target.tensor,), what, one.seeds, reason, complete=complete))
        if found is not None and found.origin.index is not None:
            _judge(
                state, target, selection, holdout, gain, found.origin.seed, found.origin.index, found.trials
            )
        if state.settled:
            _further(state, targets)
            return


def by_every_seed(state: State, targets: Sequence[Survivors], seeds: tuple[int, int]) -> None:
    """Try every 32-bit seed at the usual positions of a tensor that may be orthogonal."""
    low, high = max(0, seeds[0]), min(1 << 32, seeds[1])
    if low >= high:
        return
    for target, gain, selection, holdout in _candidates(state, targets):
        scale = selection.scale
        try:
            conditions = conditions_of_selection(selection, (scale * (1 - LENGTH), scale * (1 + LENGTH)))
            # Positions behind a whole constructor come last in the list and first in an agent's program.
            positions = _positions(state, target)
            outcome = search_positions(conditions, positions, seeds=(low, high), progress=state.progress)
        except NothingToSearch:
            continue
        state.stopped = outcome.stopped
        tried = outcome.searched
        what = (
            f"CPU draw made orthogonal, all seeds from {low:,} to {high - 1:,} at the indices "
            f"{', '.join(f'{each:,}' for each in tried.positions)}"
        )
        reason = None if outcome.candidates else "no seed satisfies what the leading line says"
        look = HostLook((target.tensor,), what, tried.trials, reason, complete=tried.complete or not reason)
        state.looks.append(look)
        for each in outcome.candidates[:1]:
            _judge(state, target, selection, holdout, gain, each.seed, each.index, tried.trials)
        if state.settled:
            _further(state, targets)
        if state.settled or state.stopped:
            return


def _candidates(
    state: State, targets: Sequence[Survivors], most: int = MOST_TARGETS
) -> list[tuple[Survivors, float, Selection, Holdout]]:
    """The tensors that may be orthogonal, each with its gain and what a search may see of it."""
    found = []
    for target in targets:
        gain = orthogonal_gain(target)
        if gain is None or not replayable(target.shape):
            continue
        try:
            found.append((target, gain, *split_leading(state.checkpoint, target)))
        except NothingToSearch:
            continue
    return found[:most]


def _positions(state: State, target: Survivors) -> tuple[int, ...]:
    """Where the draw usually starts; behind a whole constructor first, as where weights are drawn again."""
    listed = [(info.name, info.shape) for info in state.checkpoint.tensors.values()]
    return tuple(sorted(usual_positions(listed, target.tensor), reverse=True))[:MOST_POSITIONS]


def _judge(
    state: State,
    target: Survivors,
    selection: Selection,
    holdout: Holdout,
    gain: float,
    seed: int,
    index: int,
    trials: int,
) -> None:
    """Replay the decomposition and hold it against the survivors that no search has seen."""
    origin = OrthogonalOrigin(target.shape, gain, seed, index, selection.dtype)
    how = "found by the ratios of its leading line, and confirmed by replaying the decomposition"
    found = Found(target.tensor, origin, "search", how, True, False, max(1, trials))
    reading = held_against(state.checkpoint, target, selection, holdout, found)
    if reading.matches:
        state.solved.append(reading)
    else:
        reason = f"the candidate does not hold: {reading.judgement.reason}"
        state.looks.append(HostLook((target.tensor,), f"CPU draw made orthogonal, seed {seed}", 1, reason))


def _further(state: State, targets: Sequence[Survivors]) -> None:
    """Look for the leading lines of the other tensors in the stream of the seed that is known."""
    seed = state.solved[0].judgement.origin.seed
    known = {one.tensor for one in state.solved}
    rest = [each for each in _candidates(state, targets, len(targets)) if each[0].tensor not in known]
    words = [words_of_selection(selection) for _, _, selection, _ in rest]
    for (target, gain, selection, holdout), index in zip(rest, locate(words, seed, REACH), strict=True):
        if index is not None:
            _judge(state, target, selection, holdout, gain, seed, index, REACH)
