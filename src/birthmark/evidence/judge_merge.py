"""The draws of a merge, with the checkpoint they are to be held against, become judgements: one each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.evidence.case import Beside, Case
from birthmark.evidence.census import census
from birthmark.evidence.elements import Elements
from birthmark.evidence.holdout import read_holdout
from birthmark.evidence.judge import Judged, Judgements, Proposal
from birthmark.evidence.linear_mixture import weigh_merged
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors


def judge_merge(
    checkpoint: Checkpoint,
    survivors: Survivors,
    selection: Selection,
    holdout: Holdout,
    draws: Sequence[Proposal],
    *,
    trials: int,
    layouts: tuple[int, ...] | None = None,
    declared: float | None = None,
) -> Judgements:
    """Judge the draws of a merge, each beside the others.

    Args:
        checkpoint: where the hold-out and all other values lie.
        survivors: what the survey saw in the tensor.
        selection: what the search saw.
        holdout: where the held-out elements lie.
        draws: two or more.
        trials: predictions that the search tried.
        layouts: the G's that each draw's is compared with; None for the device table's.
        declared: the scale that the model's own files declare; None where unknown.
    """
    held = read_holdout(checkpoint, selection, holdout, draws[0].hypothesis)
    hidden, dropped = held.elements, held.dropped
    for one in draws[1:]:  # what shares a block with the selection in any of the draws is not news
        blocks = one.hypothesis.blocks(np.concatenate([hidden.indices, selection.indices]))
        apart = ~np.isin(blocks[: len(hidden)], blocks[len(hidden) :])
        hidden, dropped = hidden.keep(apart), dropped + int(np.count_nonzero(~apart))
    all_of_them = tuple(Beside(one.hypothesis, one.seed % 2**64) for one in draws)
    judged: list[Judged] = []
    for number, one in enumerate(all_of_them):
        case = Case(
            tensor=selection.tensor,
            shape=selection.shape,
            dtype=selection.dtype,
            axis=selection.axis,
            scale=selection.scale,
            hypothesis=one.hypothesis,
            seed=one.seed,
            selection=Elements(selection.indices, selection.values, selection.unit),
            holdout=hidden,
            trials=max(1, trials),
            holdout_trials=1,
            layouts=table_threads() if layouts is None else layouts,
            declared=declared,
            beside=(*all_of_them[:number], *all_of_them[number + 1 :]),
        )
        judgement = weigh_merged(case)
        counted = None
        if judgement.outcome in ("match", "seed-only"):
            counted = judged[0].census if judged else census(checkpoint, judgement, survivors.ids)
        judged.append(Judged(judgement, counted))
    notes = [
        f"Hold-out of the merge in {selection.tensor}: {len(hidden):,} elements; {dropped:,} more were left "
        "out because they share a generator block with an element of the selection in one of the draws."
    ]
    notes += [one.census.note for one in judged[:1] if one.census is not None and one.census.note]
    return Judgements(tuple(judged), tuple(notes))
