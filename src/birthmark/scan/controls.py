"""Controls that need a finding first, and know nothing of its seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from birthmark.devices.catalogue import table_threads
from birthmark.evidence.seed_free import seed_free
from birthmark.evidence.verdict import PREDICTED
from birthmark.scan.state import State
from birthmark.survivors.survivor import Survivors

#: Tensors whose layout is read once more without the seed.
MOST: Final = 2


def confirm_layouts(state: State, targets: Sequence[Survivors]) -> None:
    """Ask the survivors of predicted tensors for their layout without the seed, among those of the table."""
    known = {survivors.tensor: found for survivors, found in state.layouts}
    for found in state.findings:
        case, layouts = found.judgement.case, found.judgement.layouts
        if found.judgement.outcome not in PREDICTED or layouts is None:
            continue
        target = next((each for each in targets if each.tensor == case.tensor), None)
        if target is None or case.tensor in state.confirmed:
            continue
        if len(state.confirmed) == MOST:
            return
        compared = sorted({*table_threads(), *layouts.not_excluded})
        state.confirmed[case.tensor] = known.get(case.tensor) or seed_free(
            state.checkpoint, target, layouts=compared
        )
