"""Rows in other places: whether rows of one tensor are those of the other under other numbers.

A vocabulary that was sorted anew, or trimmed from within, has its rows where others were; compared in place
they would look like another draw. Rows are looked up by some of their values, rounded, and proved by all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from birthmark.lineage.tensors import Common, Couple
from birthmark.numerics.dtypes import encode, round_to

#: Rows of the second that are looked up, and values that make the key of one.
LOOKED_UP, KEY = 256, 8
#: Different values that a row must have to be known again.
LEAST_DIFFERENT: Final = 8
#: Rows, and share of those looked up, from which a tensor is the other one rearranged.
LEAST, SHARE = 8, 0.05
#: Values that are read at a time.
CHUNK: Final = 1 << 21
#: What keys are rounded to, so that casts meet.
ROUNDED: Final = "bfloat16"


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows of the second that lie elsewhere in the first.

    Attributes:
        looked_up: rows of the second that were looked up, evenly chosen.
        found: those that are in the first, in another place, with equal values once rounded.
    """

    looked_up: int
    found: int

    @property
    def rearranged(self) -> bool:
        """Whether the tensor is the other one's rows in another order."""
        return self.found >= max(LEAST, SHARE * self.looked_up)


def look_up(couple: Couple, common: Common, dtype: str) -> Placed | None:
    """Look rows of the second up in the first; None where they are too few or too narrow.

    Args:
        couple: both checkpoints.
        common: the tensor.
        dtype: to which both are rounded before they are compared.
    """
    rows, columns = common.rows + common.beyond[1], common.columns
    if columns < LEAST_DIFFERENT or rows < LEAST:
        return None
    chosen = np.arange(min(rows, LOOKED_UP), dtype=np.int64) * rows // min(rows, LOOKED_UP)
    wanted = couple.second.take(common.other, chosen)
    ordered = np.sort(wanted, axis=1)
    telling = (np.diff(ordered, axis=1) != 0.0).sum(axis=1) + 1 >= LEAST_DIFFERENT
    places = np.arange(KEY) * (columns - 1) // (KEY - 1)
    by_key: dict[bytes, list[int]] = {}
    for number in np.flatnonzero(telling):
        key = _keys(wanted[number : number + 1, places])[0]
        by_key.setdefault(key, []).append(int(number))
    found: set[int] = set()
    total = common.rows + common.beyond[0]
    step = max(1, CHUNK // columns)
    for start in range(0, total, step):
        block = couple.first.rows(common.name, start, min(total, start + step))
        for offset, name in enumerate(_keys(block[:, places])):
            for place in by_key.get(name, ()):
                same = np.array_equal(round_to(block[offset], dtype), round_to(wanted[place], dtype))
                if same and start + offset != chosen[place]:
                    found.add(place)
    return Placed(int(telling.sum()), len(found))


def _keys(values: NDArray[np.floating]) -> list[bytes]:
    rounded: NDArray[np.uint16] = np.ascontiguousarray(encode(values + 0.0, ROUNDED))
    return [row.tobytes() for row in rounded]
