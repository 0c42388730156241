"""Two checkpoints, tensor by tensor: which values are copies, and what untouched and trained parts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from birthmark.lineage.copying import Copied, compare_values
from birthmark.lineage.fresh import Fresh, compare_fresh, some, take_columns, untouched
from birthmark.lineage.matching import Matching, match_rows
from birthmark.lineage.placing import Placed, look_up
from birthmark.lineage.telling import untelling
from birthmark.lineage.tensors import Common, Couple
from birthmark.lineage.trained import LEAST_ROWS, Trained, compare_trained
from birthmark.survivors.survivor import Survivors

#: Rows with equal values that are looked at, for whether those values tell anything; and the least number of
#: different ones that they must have.
LOOKED_AT, LEAST_DIFFERENT = 256, 8
#: Share of the rows that hold one draw or equal values in place, from which none is looked up elsewhere.
IN_PLACE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Pairing:
    """One tensor in two checkpoints.

    Attributes:
        common: which tensor.
        aside: why it says nothing about where it came from; None where it may.
        copied: how its values agree. What follows is empty for a tensor that is set aside.
        fresh: what its untouched rows or columns share; None where there are none.
        trained: what its other rows share; None where they are too few.
        trained_rows: how many there are.
        equal_rows: those of which every value agrees as in a copy, rows that tell nothing left out.
        matching: a published test on them; None where there are too few.
        placed: the second's rows in other places of the first; None where that was not looked at, because
            what is untouched or trained agrees in place.
    """

    common: Common
    aside: str | None
    copied: Copied
    fresh: Fresh | None = None
    trained: Trained | None = None
    trained_rows: int = 0
    equal_rows: int = 0
    matching: Matching | None = None
    placed: Placed | None = None

    @property
    def rearranged(self) -> bool:
        """Whether the second is the first's rows in another order."""
        return self.placed is not None and self.placed.rearranged

    @property
    def tensor(self) -> str:
        """Its name in the first."""
        return self.common.name

    def as_dict(self) -> dict[str, Any]:
        """JSON types only."""
        kept = {name: getattr(self.copied, name) for name in _COPIED}
        copied = {**kept, "same_rows": int(self.copied.same_rows.sum())}
        return {
            "tensor": self.tensor,
            "common": asdict(self.common),
            "aside": self.aside,
            "copied": copied,
            "fresh": None if self.fresh is None else asdict(self.fresh),
            "trained": None if self.trained is None else asdict(self.trained),
            "trained_rows": self.trained_rows,
            "equal_rows": self.equal_rows,
            "matching": None if self.matching is None else asdict(self.matching),
            "placed": None if self.placed is None else asdict(self.placed),
        }


_COPIED: Final = tuple(name for name in Copied.__slots__ if name != "same_rows")


def pair(couple: Couple, common: Common, survivors: Sequence[Survivors | None], trials: int) -> Pairing:
    """Compare one tensor of two checkpoints.

    Args:
        couple: both.
        common: the tensor.
        survivors: what each survey saw in it.
        trials: tensors and pairs that are compared in all, which every p counts.
    """
    aside = untelling(couple.first, common.name) or untelling(couple.second, common.other)
    copied = compare_values(couple, common)
    if aside is not None:
        return Pairing(common, aside, copied)
    where = untouched(common, survivors)
    rows = np.arange(common.rows, dtype=np.int64)
    columns = np.arange(common.columns, dtype=np.int64)
    if where.axis == "row":
        rows = np.setdiff1d(rows, where.either, assume_unique=True)
    else:
        columns = np.setdiff1d(columns, where.either, assume_unique=True)
    trained, matching = None, None
    if len(columns) > 1 and len(rows) >= min(LEAST_ROWS, common.rows):
        chosen = some(rows, common.columns)
        a, b = take_columns(couple, common, chosen, columns)
        trained = compare_trained(a, b, copied.grids, trials)
        matching = match_rows(a, b)
    fresh = compare_fresh(couple, common, survivors, where, dtype=copied.dtype, trials=trials)
    in_place = copied.same_rows.mean() >= IN_PLACE or (trained is not None and trained.stands_out)
    in_place = in_place or (fresh is not None and fresh.same >= IN_PLACE * fresh.units)
    placed = None if in_place else look_up(couple, common, copied.dtype)
    return Pairing(
        common=common,
        aside=None,
        copied=copied,
        fresh=fresh,
        trained=trained,
        trained_rows=len(rows),
        equal_rows=_telling_rows(couple, common, rows[copied.same_rows[rows]]),
        matching=matching,
        placed=placed,
    )


def _telling_rows(couple: Couple, common: Common, rows: NDArray[np.int64]) -> int:
    """How many rows with equal values hold something that is not equal by itself, from evenly chosen ones."""
    if not len(rows):
        return 0
    chosen = rows[np.arange(min(len(rows), LOOKED_AT)) * len(rows) // min(len(rows), LOOKED_AT)]
    step = max(1, (1 << 21) // common.columns)
    telling = 0
    for start in range(0, len(chosen), step):
        values = np.sort(couple.first.take(common.name, chosen[start : start + step]), axis=1)
        telling += int(((np.diff(values, axis=1) != 0.0).sum(axis=1) + 1 >= LEAST_DIFFERENT).sum())
    return len(rows) * telling // len(chosen)
