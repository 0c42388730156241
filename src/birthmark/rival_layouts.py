"""Whether another GPU's layout explains a trained model better than the one that is claimed.

Below one wave all layouts agree, so a wrong device still predicts the first elements of the first tensor. The
layouts of the device table are therefore tried on a sample of the largest drawn tensors, each with the
offsets that it gives, and scored by the sum of squared sigmas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.errors import UsageError
from birthmark.evidence.score import score
from birthmark.numerics.dtypes import is_float
from birthmark.recipes.trace import Trace, TracedTensor
from birthmark.recipes.trace_values import draws_of
from birthmark.replay import Birth, Replay
from birthmark.trace_match import Match

#: Tensors that are looked at, and elements of each.
MOST_TENSORS, SAMPLE = 12, 8192
#: How far the sum of squared sigmas of another layout must lie above, to count as better.
MARGIN: Final = 30.0


@dataclass(frozen=True, slots=True)
class Rival:
    """A layout that explains the model better.

    Attributes:
        threads: its G.
        score: its sum of squared sigmas.
        claimed: that of the claimed layout.
    """

    threads: int
    score: float
    claimed: float


def better_layout(checkpoint: Checkpoint, trace: Trace, birth: Birth, match: Match) -> Rival | None:
    """The best layout of the table, if it explains the model better than the claimed one.

    Traces with truncated normals that draw again are not looked at: each layout would have to be gone
    through to learn its positions.
    """
    if birth.threads is None or any(trace.redraws(number) for number in range(len(trace.draws))):
        return None
    tensors = _largest(checkpoint, trace, match)
    scores = {
        threads: _explained(checkpoint, Replay(trace, replace(birth, threads=threads)), tensors, match)
        for threads in sorted({birth.threads, *table_threads()})
    }
    claimed = scores[birth.threads]
    best = max(scores, key=lambda threads: scores[threads])
    return Rival(best, scores[best], claimed) if scores[best] > claimed + MARGIN else None


def _largest(checkpoint: Checkpoint, trace: Trace, match: Match) -> list[TracedTensor]:
    drawn = [
        tensor
        for tensor in trace.tensors
        if tensor.name in match.names
        and draws_of(tensor.value)
        and is_float(tensor.dtype)
        and is_float(checkpoint.tensors[match.names[tensor.name]].dtype)
    ]
    return sorted(drawn, key=lambda tensor: -tensor.size)[:MOST_TENSORS]


def _explained(checkpoint: Checkpoint, replay: Replay, tensors: list[TracedTensor], match: Match) -> float:
    total = 0.0
    for tensor in tensors:
        chosen = np.unique(np.linspace(0, tensor.size - 1, min(tensor.size, SAMPLE)).astype(np.int64))
        try:
            predicted = replay.values(tensor.name, chosen)
        except UsageError:
            continue
        sigma = score(checkpoint.elements(match.names[tensor.name], chosen), predicted).sigma
        total += max(0.0, sigma or 0.0) ** 2
    return total
