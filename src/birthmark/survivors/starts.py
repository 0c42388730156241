"""Where to look for the energy of untouched units: near enough to every place where they may lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Distance between starts, as a ratio of energies, and their largest number.
STEP, MOST_STARTS = 1.5, 4
#: Units of at least this width are wide. Crowds are counted in standard errors; so many are tried at most.
WIDE, CROWDED, MOST_CROWDS = 512, 3.0, 3


def likely_energies(energy: NDArray[np.float64], width: int) -> list[float]:
    """Energies from which the search for the untouched one sets out.

    Of narrow units: a little above the smallest, and higher. A start that is too high by half finds its way
    down there. Of wide units the energies are so tight that a start must be near: only crowds are tried.
    """
    ordered = np.sort(energy)
    spread = np.sqrt(2.0 / width)
    crowds = _crowds(np.log(ordered), 4.0 * spread)
    if width >= WIDE:
        return crowds
    few = ordered[: max(10, len(ordered) * 3 // 1000)]
    # The smallest of many untouched units lie about one standard deviation below their mean.
    lowest = 1.2 * float(few.mean()) / max(0.5, 1.0 - spread)
    top = max(lowest, float(np.quantile(ordered, 0.6)))
    count = 1 + int(np.log(top / lowest) / np.log(STEP))
    if count > MOST_STARTS:
        return [float(start) for start in np.geomspace(lowest, top, MOST_STARTS)]
    return [*(lowest * STEP**step for step in range(count)), *crowds[:1]]


def _crowds(logs: NDArray[np.float64], window: float) -> list[float]:
    """Energies around which units crowd, within a window of logarithms, more than beside it; best first."""
    edges = np.searchsorted(logs, [logs - window, logs, logs + window, logs + 2.0 * window])
    before, inside, after = np.diff(edges, axis=0)
    excess = (inside - np.maximum(before, after)) / np.sqrt(np.maximum(before, after) + 1.0)
    found: list[float] = []
    for place in np.argsort(-excess, kind="stable"):
        if excess[place] < CROWDED or len(found) == MOST_CROWDS:
            break
        middle = float(np.median(logs[edges[1, place] : edges[2, place]]))
        if all(abs(middle - np.log(other)) > window / 2.0 for other in found):
            found.append(float(np.exp(middle)))
    return found


def crowd(energy: NDArray[np.float64], middle: float, width: int) -> float:
    """By how many standard errors units of one energy outnumber those a little smaller or larger.

    Args:
        energy: mean square of every unit.
        middle: the energy that untouched units are thought to have.
        width: values of each unit.
    """
    half = 2.0 * np.sqrt(2.0 / width)
    logs = np.sort(np.log(energy))
    edges = np.searchsorted(logs, np.log(middle) + half * np.array([-3.0, -1.0, 1.0, 3.0]))
    before, inside, after = np.diff(edges)
    beside = max(before, after)
    return float((inside - beside) / np.sqrt(beside + 1.0))
