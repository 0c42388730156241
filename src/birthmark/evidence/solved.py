"""A candidate without a launch layout held against the checkpoint: on values that it was not made from.

The hold-out's values are read here and nowhere earlier. After a match every surveyed row or column is judged
again by its own values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.checkpoints.interface import Checkpoint
from birthmark.evidence.elements import Elements, matrix_shape, units_of
from birthmark.evidence.exactness import Units, tally
from birthmark.evidence.origin_case import OriginCase, OriginJudgement, weigh_origin
from birthmark.evidence.origin_prediction import predict
from birthmark.search.origin import Found
from birthmark.survivors.split import Holdout, Selection
from birthmark.survivors.survivor import Survivors

#: Elements of all survivors that are judged again at the end.
MOST_JUDGED: Final = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class SolvedReading:
    """What a candidate came to.

    Attributes:
        survivors: what was surveyed.
        judgement: how it fares on its case.
        units: how each surveyed row or column fares; None without a match.
        dropped: held-out elements left out because they share random words with the selection.
    """

    survivors: Survivors
    judgement: OriginJudgement
    units: Units | None
    dropped: int

    @property
    def matches(self) -> bool:
        """Whether it is a finding."""
        return self.judgement.outcome == "match"

    @property
    def tensor(self) -> str:
        """The tensor's name."""
        return self.survivors.tensor


@dataclass(frozen=True, slots=True)
class HostLook:
    """One look for an origin, whatever came of it.

    Attributes:
        tensors: the tensors that were looked at.
        what: what was tried, as a line of `searched.stages` without the tensors' names.
        trials: predictions or subsets that were tried.
        reason: why nothing was found, in a sentence; None where there is a candidate.
        complete: whether all that was planned was tried.
    """

    tensors: tuple[str, ...]
    what: str
    trials: int
    reason: str | None = None
    complete: bool = True


def held_against(
    checkpoint: Checkpoint, survivors: Survivors, selection: Selection, holdout: Holdout, found: Found
) -> SolvedReading:
    """Judge a candidate.

    Args:
        checkpoint: open; the values of the hold-out are read from it.
        survivors: all of the survivors, judged again after a match.
        selection: what the search saw.
        holdout: what it did not see.
        found: the candidate.
    """
    origin = found.origin
    finite = np.isfinite(selection.values)
    seen = Elements(selection.indices, selection.values, selection.unit).keep(finite)
    apart = ~np.isin(origin.words(holdout.indices), origin.words(seen.indices))
    hidden = _read(checkpoint, holdout.tensor, holdout.indices[apart], holdout.unit[apart])
    case = OriginCase(found, survivors.shape, survivors.dtype, survivors.axis, seen, hidden)
    judgement = weigh_origin(case)
    matches = judgement.outcome == "match"
    units = _judged_again(checkpoint, survivors, judgement) if matches else None
    return SolvedReading(survivors, judgement, units, int(np.count_nonzero(~apart)))


def _read(
    checkpoint: Checkpoint, tensor: str, indices: NDArray[np.int64], unit: NDArray[np.int64]
) -> Elements:
    values = np.asarray(checkpoint.elements(tensor, indices), np.float64) if indices.size else np.zeros(0)
    return Elements(indices, values, unit).keep(np.isfinite(values))


def _judged_again(checkpoint: Checkpoint, survivors: Survivors, judgement: OriginJudgement) -> Units:
    """Every surveyed row or column by its own values, all of them or an even choice where they are many."""
    rows, columns = matrix_shape(survivors.shape)
    across = survivors.axis == "column"
    width = rows if across else columns
    taken = min(width, max(64, MOST_JUDGED // max(1, len(survivors.ids))))
    places = np.arange(taken, dtype=np.int64) * width // taken
    base = survivors.ids if across else survivors.ids * columns
    flat = base[:, None] + places * (columns if across else 1)
    indices = np.sort(flat, axis=None)
    elements = _read(
        checkpoint, survivors.tensor, indices, units_of(indices, survivors.shape, survivors.axis)
    )
    return tally(elements.unit, predict(judgement.origin, elements).near, judgement.chance)
