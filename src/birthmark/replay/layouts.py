"""Whether another GPU's layout explains a trained model better than the one that is claimed.

Below one wave all layouts agree, so a wrong device still predicts the first elements of the first tensor. The
layouts of the device table are therefore tried on a sample of the largest drawn tensors, each with the
offsets that it gives, and scored by the sum of squared sigmas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from birthmark.checkpoints.interface import Checkpoint
from birthmark.devices.catalogue import table_threads
from birthmark.recipes.trace import Trace
from birthmark.replay.matching import Match
from birthmark.replay.replaying import Birth, Replay
from birthmark.replay.scores import drawn_tensors, scores

#: Tensors that are looked at.
MOST_TENSORS: Final = 12
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


def layout_scores(checkpoint: Checkpoint, trace: Trace, birth: Birth, match: Match) -> dict[int, float]:
    """The sum of squared sigmas of every layout of the table, and of the claimed one.

    Empty where the birth has no layout, or the trace truncated normals that draw again: each layout would
    have to be gone through to learn its positions.
    """
    if birth.threads is None or any(trace.redraws(number) for number in range(len(trace.draws))):
        return {}
    tensors = sorted(drawn_tensors(checkpoint, trace, match), key=lambda each: -each.size)[:MOST_TENSORS]
    found = {}
    for threads in sorted({birth.threads, *table_threads()}):
        replay = Replay(trace, replace(birth, threads=threads))
        each = scores(checkpoint, replay, tensors, match).values()
        found[threads] = sum(max(0.0, one.sigma or 0.0) ** 2 for one in each)
    return found


def better_layout(checkpoint: Checkpoint, trace: Trace, birth: Birth, match: Match) -> Rival | None:
    """The best layout of the table, if it explains the model better than the claimed one."""
    found = layout_scores(checkpoint, trace, birth, match)
    if not found or birth.threads is None:
        return None
    best = max(found, key=lambda threads: found[threads])
    claimed = found[birth.threads]
    return Rival(best, found[best], claimed) if found[best] > claimed + MARGIN else None
