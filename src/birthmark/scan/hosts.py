"""Generators that run on hosts, beside the solved ones: what a scan asks of them, quickly and in full.

Quickly: the seeds that people use for orthogonal tensors, PaddlePaddle's engine, JAX's keys; each only where
something says that it may fit. In full: every 32-bit seed of PyTorch's CPU generator at the usual positions,
where values lie on its lattice but are too few to be solved, or where they look orthogonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from birthmark.errors import NothingToSearch
from birthmark.evidence.solved import HostLook, held_against
from birthmark.scan import orthogonal
from birthmark.scan.host import Sight
from birthmark.scan.neighbours import by_neighbours
from birthmark.scan.state import State
from birthmark.search.cpu_positions.conditions import conditions_of_selection
from birthmark.search.cpu_positions.positions import usual_positions
from birthmark.search.cpu_positions.search import search_positions
from birthmark.search.known_seed import candidate_at
from birthmark.survivors.survivor import Survivors

#: Stream positions at which every seed is tried: a pass takes some minutes.
MOST_POSITIONS: Final = 2


def quickly(state: State, targets: Sequence[Survivors]) -> None:
    """What takes some seconds."""
    orthogonal.by_usual_seeds(state, targets)
    if not state.settled and not state.stopped:
        by_neighbours(state, targets)


def in_full_on_hosts(
    state: State, targets: Sequence[Survivors], seen: Sequence[Sight], seeds: tuple[int, int]
) -> None:
    """Every 32-bit seed, where values say that a CPU drew them."""
    low, high = max(0, seeds[0]), min(1 << 32, seeds[1])
    if low < high:
        for sight in [each for each in seen if each.lattice is not None][:1]:
            _every_seed(state, sight, (low, high))
        if not state.settled and not state.stopped:
            orthogonal.by_every_seed(state, targets, (low, high))


def _every_seed(state: State, sight: Sight, seeds: tuple[int, int]) -> None:
    """Try every seed on a tensor whose values lie on the lattice and are too few for a solution."""
    assert sight.lattice is not None
    listed = [(info.name, info.shape) for info in state.checkpoint.tensors.values()]
    positions = usual_positions(listed, sight.tensor)[:MOST_POSITIONS]
    scale = sight.lattice.scale.value
    try:
        conditions = conditions_of_selection(sight.selection, (scale, scale))
        outcome = search_positions(conditions, positions, seeds=seeds, progress=state.progress)
    except NothingToSearch as error:
        state.looks.append(HostLook((sight.tensor,), "CPU draw, every seed", 0, str(error), complete=False))
        return
    state.stopped = outcome.stopped
    tried = outcome.searched
    places = ", ".join(f"{each:,}" for each in tried.positions)
    what = f"CPU draw, all seeds from {seeds[0]:,} to {seeds[1] - 1:,} at the indices {places}"
    reason = None if outcome.candidates else "no seed satisfies what the values say of the words"
    complete = tried.complete or reason is None
    state.looks.append(HostLook((sight.tensor,), what, tried.trials, reason, complete=complete))
    for each in outcome.candidates[:1]:
        found = candidate_at(
            sight.selection,
            each.seed,
            each.index,
            (scale,),
            how=f"found among all 32-bit seeds at {len(tried.positions)} stream positions",
            trials=max(1, tried.trials),
        )
        reading = held_against(state.checkpoint, sight.survivors, sight.selection, sight.holdout, found)
        if reading.matches:
            state.solved.append(reading)
