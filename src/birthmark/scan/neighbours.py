"""Generators beside PyTorch's in a scan: PaddlePaddle's minimal standard engine and JAX's keys.

They come last before the full search, and each only where something says that it may fit: uniform values for
the one, names or a lattice of JAX's for the other. Every state and key that was tried counts as a trial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from birthmark.errors import NothingToSearch
from birthmark.evidence.lattices import JAX
from birthmark.evidence.solved import HostLook, held_against
from birthmark.scan.state import State
from birthmark.search.neighbour_origins import jax_found, minstd_found
from birthmark.search.neighbours.finding import NeighbourFinding, Outcome
from birthmark.search.neighbours.jax_keys import search_jax
from birthmark.search.neighbours.minstd import solve_minstd
from birthmark.search.neighbours.observed import Observed, observed_of
from birthmark.search.origin import Found
from birthmark.survivors.survivor import Survivors

#: Tensors that are tried with each.
MOST_TARGETS: Final = 3
#: How flax and haiku call their matrices.
FLAX_NAMES: Final = ("kernel", "embedding")

Search = Callable[[Observed], Outcome]
Adapt = Callable[[Observed, NeighbourFinding], Found | None]


def by_neighbours(state: State, targets: Sequence[Survivors]) -> None:
    """Try the neighbouring generators on the tensors that may be theirs."""
    for likely, name, search, adapt in (
        (_perhaps_minstd, "PaddlePaddle", solve_minstd, minstd_found),
        (_perhaps_jax, "JAX", search_jax, jax_found),
    ):
        for target in [each for each in targets if likely(state, each)][:MOST_TARGETS]:
            if state.settled and not any(one.judgement.origin.generator != "mt19937" for one in state.solved):
                return
            _try(state, target, name, search, adapt)


def _perhaps_minstd(state: State, target: Survivors) -> bool:
    """The engine's uniforms are the only ones with a witness; its normals hardly ever occur."""
    del state
    return target.distribution == "uniform"


def _perhaps_jax(state: State, target: Survivors) -> bool:
    """A name that flax gives, or values that lie on JAX's lattice."""
    named = target.tensor.rpartition(".")[2] in FLAX_NAMES
    on_lattice = any(
        survivors.tensor == target.tensor and found.family is JAX for survivors, found in state.layouts
    )
    return named or on_lattice


def _try(state: State, target: Survivors, name: str, search: Search, adapt: Adapt) -> None:
    try:
        selection, holdout = state.split(target)
    except NothingToSearch:
        return
    observed = observed_of(selection)
    outcome = search(observed)
    for number, what in enumerate(outcome.searched):
        trials = 0 if number else outcome.trials
        state.looks.append(HostLook((target.tensor,), what, trials, None if number else outcome.reason))
    found = None if outcome.finding is None else adapt(observed, outcome.finding)
    if found is None:
        return
    reading = held_against(state.checkpoint, target, selection, holdout, found)
    if reading.matches:
        state.solved.append(reading)
    else:
        reason = f"the candidate does not hold: {reading.judgement.reason}"
        state.looks.append(HostLook((target.tensor,), f"{name}, seed {found.origin.seed}", 1, reason))
