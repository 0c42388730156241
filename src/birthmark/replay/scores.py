"""How a replay scores on a trained model, tensor by tensor, on a sample of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.errors import UsageError
from birthmark.evidence.score import Score, score
from birthmark.numerics.dtypes import is_float
from birthmark.recipes.trace import Trace, TracedTensor
from birthmark.recipes.trace_values import draws_of
from birthmark.replay.matching import Match
from birthmark.replay.replaying import Replay

#: Elements of each tensor that are looked at.
SAMPLE: Final = 8192


def drawn_tensors(checkpoint: Checkpoint, trace: Trace, match: Match) -> list[TracedTensor]:
    """The tensors that a draw decides and the checkpoint holds as floats, without the tied ones."""
    return [
        tensor
        for tensor in trace.tensors
        if tensor.name in match.names
        and tensor.tied is None
        and draws_of(tensor.value)
        and is_float(tensor.dtype)
        and is_float(checkpoint.tensors[match.names[tensor.name]].dtype)
    ]


def scores(
    checkpoint: Checkpoint, replay: Replay, tensors: Iterable[TracedTensor], match: Match
) -> dict[str, Score]:
    """The score of each tensor; those that cannot be predicted are left out.

    Args:
        checkpoint: the trained model, open.
        replay: the trace with a seed and a device.
        tensors: of the trace, all in the checkpoint.
        match: which tensor is which.
    """
    tensors = list(tensors)
    found = {}
    for tensor in tensors:
        chosen = np.unique(np.linspace(0, tensor.size - 1, min(tensor.size, SAMPLE)).astype(np.int64))
        try:
            predicted = replay.values(tensor.name, chosen)
        except UsageError:
            continue
        stored = checkpoint.elements(match.names[tensor.name], chosen)
        found[tensor.name] = score(stored, predicted, trials=len(tensors))
    return found
