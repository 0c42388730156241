"""The CPU generator's part of a scan."""

from __future__ import annotations

from collections.abc import Sequence

from birthmark.evidence.solved import solve_survivors
from birthmark.scan.state import State
from birthmark.survivors.survivor import Survivors

#: Tensors that are tried as a CPU draw, for up to half a minute.
MOST_SOLVED = 1


def as_a_cpu_draw(state: State, targets: Sequence[Survivors]) -> None:
    """Take the survivors for a draw of PyTorch's CPU generator, and solve for its seed and position."""
    nominals = () if state.declared.scale is None else (state.declared.scale,)
    large_enough = dict(state.searches)
    for target in [each for each in targets if each.tensor in large_enough][:MOST_SOLVED]:
        selection, holdout = state.split(target)
        found = solve_survivors(state.checkpoint, target, selection, holdout, nominals=nominals)
        state.solved.append((target, found))
        if found.result == "match":
            return
