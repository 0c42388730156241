"""Which elements decide a search: candidates for probes, and the witnesses of the second test.

Both come from the surest units. Values that are too large for their number are left out: a draw hardly makes
them, and somebody who altered elements made them large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.search.families import Family, own_family
from birthmark.search.miss import element_fails
from birthmark.search.sequential import HELD
from birthmark.search.windows import chance
from birthmark.survivors.split import Selection

#: Units whose elements may become probes: the surest, and those that start the tensor.
SUREST_UNITS, FIRST_UNITS = 48, 16
#: Elements of each that may.
PROBES_PER_UNIT = 6
#: Witnesses in all, and units that they come from.
WITNESSES, WITNESS_UNITS = 288, 48
#: The first units contribute so many times more, for they may be all that layouts agree on.
FIRST_MORE = 3
#: Normal witnesses are no larger than this: values beyond it are rare, and rarely untouched.
LARGEST_WITNESS = 3.0
#: An extreme value is suspicious where a draw of as many elements has one with less than this chance.
SUSPICIOUS = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Elements of a selection, with what their standard values can be.

    Attributes:
        indices: int64[n], flat indices in the tensor.
        unit: int64[n], row or column of each.
        probability: float64[n], that its unit still holds its initial values.
        low, high: float64[n], where its standard value lies if it does.
        chance: float64[n], how often a wrong seed's value lies there.
        fails: float64[n], the chance that the element was altered although its unit was not.
        held: the least share of them that a true seed predicts.
    """

    indices: NDArray[np.int64]
    unit: NDArray[np.int64]
    probability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    chance: NDArray[np.float64]
    fails: NDArray[np.float64]
    held: float = HELD

    def __len__(self) -> int:
        return len(self.indices)

    @staticmethod
    def joined(first: Elements, second: Elements) -> Elements:
        """The elements of both, one after the other."""
        return Elements(
            np.concatenate([first.indices, second.indices]),
            np.concatenate([first.unit, second.unit]),
            np.concatenate([first.probability, second.probability]),
            np.concatenate([first.low, second.low]),
            np.concatenate([first.high, second.high]),
            np.concatenate([first.chance, second.chance]),
            np.concatenate([first.fails, second.fails]),
            min(first.held, second.held),
        )

    def take(self, which: NDArray[np.int64]) -> Elements:
        """Some of the elements, in the given order."""
        return Elements(
            self.indices[which],
            self.unit[which],
            self.probability[which],
            self.low[which],
            self.high[which],
            self.chance[which],
            self.fails[which],
            self.held,
        )


def usable(selection: Selection, dtype: str, family: Family | None = None) -> Elements:
    """Every element that is neither missing nor suspicious, in the selection's order.

    Args:
        selection: what the search may see.
        dtype: the dtype whose rounding the values went through.
        family: what may have drawn them; None for what they were taken for.
    """
    values, scale = selection.values, selection.scale
    family = family or own_family(selection)
    low, high = family.raw_interval(selection, dtype)
    with np.errstate(invalid="ignore"):
        size = np.abs(values) / scale
    if family.source == "normal":
        tails = 2 * chance("normal", size, np.full_like(size, np.inf)) * len(values)
        fine = tails > SUSPICIOUS
    else:
        # The ends of the range behave in their own ways, and a value of exactly 0 is rarely a drawn one.
        fine = (size < family.largest) & (size * len(values) > SUSPICIOUS)
    kept = np.flatnonzero(fine & np.isfinite(values))
    everything = Elements(
        selection.indices,
        selection.unit,
        selection.probability,
        low,
        high,
        chance(family.source, low, high),
        element_fails(family.source, np.abs(values) / family.std(scale), family.altered),
        family.held,
    )
    return everything.take(kept)


def probe_candidates(elements: Elements, *, normal: bool) -> Elements:
    """The sharpest elements of the surest and the first units: the largest normals, the surest uniforms."""
    units, first, probability = _units(elements)
    surest = np.argsort(-probability, kind="stable")[:SUREST_UNITS]
    earliest = np.argsort(elements.indices[first], kind="stable")[:FIRST_UNITS]
    chosen = units[np.unique(np.concatenate([surest, earliest]))]
    order = _best_of_each(elements, _bluntness(elements, normal=normal), chosen, PROBES_PER_UNIT)
    return elements.take(np.sort(order))


def witnesses(elements: Elements, *, normal: bool, largest: float = LARGEST_WITNESS) -> Elements:
    """Elements of the surest units that the second test asks one by one: a round of units, then the next.

    Beside the surest units those of the first rows are there, and with more elements each, because layouts
    agree on them.

    Args:
        elements: the usable ones.
        normal: whether they are normals.
        largest: the largest standard normal that may be one.
    """
    tame = np.arange(len(elements))
    if normal:
        tame = np.flatnonzero(np.maximum(elements.high, -elements.low) <= largest)
    some = elements.take(tame)
    units, first, probability = _units(some)
    surest = np.argsort(-probability, kind="stable")[:WITNESS_UNITS]
    sure = probability >= np.min(probability[surest], initial=1.0)
    earliest = np.argsort(some.indices[first] + ~sure * np.int64(2**62), kind="stable")[: WITNESS_UNITS // 4]
    chosen = units[np.unique(np.concatenate([surest, earliest]))]
    each = -(-WITNESSES // max(len(chosen), 1))
    bluntness = _bluntness(some, normal=normal)
    order = np.unique(
        np.concatenate(
            [
                _best_of_each(some, bluntness, chosen, each),
                _best_of_each(some, bluntness, units[earliest], FIRST_MORE * each),
            ]
        )
    )
    order = order[np.argsort(bluntness[order], kind="stable")]
    # The n-th best of every unit before the (n + 1)-th of any; within a round the surest units first.
    turn = np.empty(len(order), np.int64)
    unit = some.unit[order]
    for each_unit in chosen:
        here = unit == each_unit
        turn[here] = np.arange(int(here.sum()))
    return some.take(order[np.lexsort((-some.probability[order], turn))])


def _units(elements: Elements) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The units, where each has its first element, and its probability."""
    units, first = np.unique(elements.unit, return_index=True)
    return units, first, elements.probability[first]


def _bluntness(elements: Elements, *, normal: bool) -> NDArray[np.float64]:
    """The smaller, the fewer seeds pass the words: small for large normals and for narrow uniforms."""
    return -np.maximum(elements.low, -elements.high) if normal else elements.chance


def _best_of_each(
    elements: Elements, bluntness: NDArray[np.float64], units: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Positions of the `count` least blunt elements of each unit, unit by unit, sharpest first."""
    member = np.flatnonzero(np.isin(elements.unit, units))
    order = member[np.lexsort((bluntness[member], elements.unit[member]))]
    unit = elements.unit[order]
    starts = np.flatnonzero(np.concatenate([[True], unit[1:] != unit[:-1]])) if len(unit) else unit
    turn = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    chosen: NDArray[np.int64] = order[turn < count]
    return chosen
