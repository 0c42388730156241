"""The hold-out: read only after a search has ended, and without what the search could have seen indirectly.

The four values of one Philox block come from the same words, so a held-out element that shares its block
with an element of the selection is not news. Those elements are dropped; where too few would remain, only
those are that share a block with a probe, because the probes alone decided which seeds passed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements
from birthmark.hypothesis import Hypothesis
from birthmark.survivors.split import Holdout, Selection

#: As many elements must remain when all blocks of the selection are avoided.
ENOUGH = 256


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The held-out elements that count.

    Attributes:
        elements: with the values that the checkpoint stores.
        dropped: elements left out because they share a block.
        apart_from: "selection" or "probes": whose blocks were avoided.
        not_finite: elements left out because they are NaN or infinite.
    """

    elements: Elements
    dropped: int
    apart_from: str
    not_finite: int

    @property
    def note(self) -> str:
        """What was left out, in words."""
        text = f"Hold-out: {len(self.elements):,} elements"
        if self.dropped:
            whom = "an element of the selection" if self.apart_from == "selection" else "a probe"
            text += f"; {self.dropped:,} more were left out because they share a generator block with {whom}"
        if self.apart_from == "probes":
            text += " (too few would remain if every block of the selection were avoided)"
        if self.not_finite:
            text += f"; {self.not_finite:,} were left out because they are not finite"
        return f"{text}."


def read_holdout(
    checkpoint: Checkpoint,
    selection: Selection,
    holdout: Holdout,
    hypothesis: Hypothesis,
    probes: NDArray[np.int64] | None = None,
) -> HeldOut:
    """Read the held-out values and drop what shares a block with what the search saw.

    Args:
        checkpoint: where the values lie.
        selection: what the search saw.
        holdout: where the held-out elements lie.
        hypothesis: the candidate's, which says which elements share a block.
        probes: C-order flat indices of the elements that seeds were rejected by; None where that is not known
            (then every element of the selection counts as one).
    """
    seen = selection.indices
    apart, name = _apart(hypothesis, holdout.indices, seen), "selection"
    if np.count_nonzero(apart) < ENOUGH and probes is not None:
        apart, name = _apart(hypothesis, holdout.indices, np.asarray(probes, np.int64)), "probes"
    indices, unit = holdout.indices[apart], holdout.unit[apart]
    values = (
        np.asarray(checkpoint.elements(holdout.tensor, indices), np.float64) if indices.size else np.zeros(0)
    )
    finite = np.isfinite(values)
    return HeldOut(
        elements=Elements(indices[finite], values[finite], unit[finite]),
        dropped=int(np.count_nonzero(~apart)),
        apart_from=name,
        not_finite=int(np.count_nonzero(~finite)),
    )


def _apart(hypothesis: Hypothesis, indices: NDArray[np.int64], seen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which elements share no block with any element of `seen`."""
    if seen.size == 0 or indices.size == 0:
        return np.ones(indices.size, dtype=np.bool_)
    blocks = hypothesis.blocks(np.concatenate([indices, seen]))
    result: NDArray[np.bool_] = ~np.isin(blocks[: indices.size], blocks[indices.size :])
    return result
