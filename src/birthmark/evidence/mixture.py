"""Mixtures: rows of two initialisations in one tensor, as merging two checkpoints leaves them.

The rows that one layout does not predict are asked for another. The layout is chosen on the selection alone
and counted as trials there; the hold-out rows are those that the first layout leaves unexplained, not those
that the second one fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.evidence.case import Case
from birthmark.evidence.elements import Elements
from birthmark.evidence.exactness import tally
from birthmark.evidence.fit import Fit
from birthmark.evidence.prediction import predict
from birthmark.evidence.weigh import Judgement
from birthmark.survivors.split import Holdout, Selection

#: Units of the selection that another layout must predict before it is judged.
LEAST_UNITS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Which layout predicts each unit.

    Attributes:
        ids: int64, ascending: the units.
        layouts: the G's that were compared.
        share: float64[units, layouts], the share of each unit's elements that each layout explains.
        predicted: bool[units, layouts], whether that is all but a few.
    """

    ids: NDArray[np.int64]
    layouts: tuple[int, ...]
    share: NDArray[np.float64]
    predicted: NDArray[np.bool_]

    def only(self, threads: int) -> NDArray[np.int64]:
        """Units that this layout predicts and no other."""
        column = self.layouts.index(threads)
        result: NDArray[np.int64] = self.ids[self.predicted[:, column] & (self.predicted.sum(axis=1) == 1)]
        return result

    @property
    def either(self) -> NDArray[np.int64]:
        """Units that several of the layouts predict alike."""
        result: NDArray[np.int64] = self.ids[self.predicted.sum(axis=1) > 1]
        return result

    @property
    def neither(self) -> NDArray[np.int64]:
        """Units that none of the layouts predicts."""
        result: NDArray[np.int64] = self.ids[~self.predicted.any(axis=1)]
        return result


def assign(
    fit: Fit, seed: int, layouts: tuple[int, ...], elements: Elements, dtype: str, chance: float
) -> Assignment:
    """Ask every layout for every unit.

    Args:
        fit: arithmetic, draw and scale, the same for all layouts.
        seed: the seed, the same for all layouts.
        layouts: the G's to compare.
        elements: the units' elements.
        dtype: the stored dtype.
        chance: the share of a unit that a wrong seed explains.
    """
    shares, predicted = [], []
    ids = np.unique(elements.unit)
    for threads in layouts:
        other = replace(fit, hypothesis=replace(fit.hypothesis, threads=threads))
        units = tally(elements.unit, predict(other, seed, elements, dtype).near, chance)
        shares.append(units.explained / np.maximum(units.elements, 1))
        predicted.append(units.predicted)
    shape = (ids.size, len(layouts))
    return Assignment(
        ids.astype(np.int64),
        layouts,
        np.array(shares, np.float64).T.reshape(shape),
        np.array(predicted, np.bool_).T.reshape(shape),
    )


def second_case(judgement: Judgement) -> Case | None:
    """Another layout of the same seed for what the first leaves unexplained; None if there is none.

    Args:
        judgement: of the first layout, a match.
    """
    case = judgement.case
    selection = case.selection.within(judgement.unexplained)
    others = tuple(threads for threads in case.layouts if threads != judgement.fit.hypothesis.threads)
    if len(selection) == 0 or not others:
        return None
    found = assign(judgement.fit, case.seed, others, selection, case.dtype, judgement.units.chance)
    counts = found.predicted.sum(axis=0)
    best = int(np.argmax(counts))
    if counts[best] < LEAST_UNITS:
        return None
    return replace(
        case,
        hypothesis=replace(judgement.fit.hypothesis, threads=others[best]),
        selection=selection,
        holdout=case.holdout.within(judgement.unexplained),
        trials=len(others),
        holdout_trials=1,
    )


def left_over(
    explained: NDArray[np.int64], selection: Selection, holdout: Holdout
) -> tuple[Selection, Holdout] | None:
    """What no origin found so far predicts, for a search of its own; None where a side has nothing.

    Args:
        explained: units that are predicted by any of them.
        selection: as it was split before the first search; the split stays as it is.
        holdout: likewise.
    """
    seen, unseen = ~np.isin(selection.unit, explained), ~np.isin(holdout.unit, explained)
    return _parted(selection, holdout, seen, unseen)


def unexplained_part(
    judgement: Judgement, selection: Selection, holdout: Holdout
) -> tuple[Selection, Holdout] | None:
    """What a judgement leaves unexplained, for a search of its own (another seed); None where nothing is.

    Args:
        judgement: of the first origin.
        selection: as it was split before the first search; the split stays as it is.
        holdout: likewise.
    """
    seen = np.isin(selection.unit, judgement.unexplained)
    unseen = np.isin(holdout.unit, judgement.unexplained)
    return _parted(selection, holdout, seen, unseen)


def _parted(
    selection: Selection, holdout: Holdout, seen: NDArray[np.bool_], unseen: NDArray[np.bool_]
) -> tuple[Selection, Holdout] | None:
    if not seen.any() or not unseen.any():
        return None
    rest = replace(
        selection,
        indices=selection.indices[seen],
        values=selection.values[seen],
        unit=selection.unit[seen],
        probability=selection.probability[seen],
    )
    return rest, replace(holdout, indices=holdout.indices[unseen], unit=holdout.unit[unseen])
