"""Sorting the units of a tensor into untouched and touched ones, without knowing the scale of either.

The scale of untouched units is the heart of it: weight decay may have shrunk them all by one unknown factor.
It is sought from several starts; each is improved until it stands. The one that explains most is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.belief import BAND, LEAST_UNTOUCHED, Belief, improve
from birthmark.survivors.probability import LIGHT, TRAINED, UNTOUCHED, posterior, with_slight_touches
from birthmark.survivors.shared_directions import Frame, frame_for
from birthmark.survivors.starts import likely_energies
from birthmark.survivors.units import Units

#: Units from which a belief is learnt, at most, and that are judged at a time.
MOST_LEARNT = 1 << 14
#: Energies beyond this multiple of the untouched one, or beyond so many standard deviations of it, were
#: trained for certain.
CERTAIN, CERTAIN_SPREADS = 3.0, 24.0
#: Candidates by which another tensor's common point is found.
CANDIDATES = 40
#: No further start is tried after one with so much evidence; chance groups stay below half of it.
ENOUGH_EVIDENCE = 75.0


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """What sorting found.

    Attributes:
        ids: int64, the units near the untouched scale, ascending; all others were touched for certain.
        probability: float64, that each of them is untouched.
        energy: mean square of an untouched unit.
        evidence: natural log of how much better the near units are explained with untouched ones among them
            than with touched ones only.
        companion: whether another tensor had a say.
        contrast: how much more of a touch lies along the shared directions than along others; about 1 or 0
            where the directions told nothing.
    """

    ids: NDArray[np.int64]
    probability: NDArray[np.float64]
    energy: float
    evidence: float
    companion: bool
    contrast: float


def sort_units(
    units: Units,
    ids: NDArray[np.int64],
    energy: NDArray[np.float64],
    companion: Units | None = None,
) -> Sorted | None:
    """Tell untouched units from touched ones.

    Args:
        units: rows or columns of a tensor.
        ids: int64, those that may be untouched, ascending; special ones left out.
        energy: float64, the mean square of each, positive.
        companion: rows of the same ids in another tensor, all of them finite for `ids`.

    Returns:
        The best of all starts; None where no start finds any untouched unit.
    """
    starts = likely_energies(energy, units.width)
    if not starts:
        return None
    trained = ids[energy > BAND[0] * min(starts)]
    frame = frame_for(units, trained, np.zeros(units.width), 1.0)
    found: list[Sorted] = []
    for start in starts:
        one = _sort_from(start, units, ids, energy, frame, companion)
        if one is not None:
            found.append(one)
            if one.evidence > ENOUGH_EVIDENCE:
                break
    return max(found, key=lambda one: one.evidence, default=None)


def _sort_from(
    start: float,
    units: Units,
    ids: NDArray[np.int64],
    energy: NDArray[np.float64],
    frame: Frame,
    companion: Units | None,
) -> Sorted | None:
    """Improve one start until it stands, then judge every unit near it."""
    reach = min(CERTAIN, 1.0 + CERTAIN_SPREADS * np.sqrt(2.0 / units.width))
    near = ids[energy < reach * start]
    if len(near) < LEAST_UNTOUCHED:
        return None
    learnt = near[np.arange(min(len(near), MOST_LEARNT)) * len(near) // min(len(near), MOST_LEARNT)]
    own = Belief(units, learnt, replace(frame, scale=float(np.sqrt(start))))
    alone = own.seen()
    sure = alone[:, UNTOUCHED] - np.logaddexp(alone[:, LIGHT], alone[:, TRAINED])
    beliefs, prior = [own], _prior_alone(sure, energy[energy < reach * start] / start, units.width)
    if companion is not None:
        other, joint = _of_companion(companion, learnt, ids[energy > BAND[0] * start], sure)
        if joint is not None:
            beliefs, prior = [own, other], joint
    learnt_prior = improve(beliefs, prior)
    if learnt_prior is None and len(beliefs) == 2:
        return _sort_from(start, units, ids, energy, frame, None)
    if learnt_prior is None:
        return None
    probability, gain = np.empty(len(near)), 0.0
    for begin in range(0, len(near), MOST_LEARNT):
        part = near[begin : begin + MOST_LEARNT]
        likelihoods = [belief.of(part) for belief in beliefs]
        strict = _untouched(posterior(*likelihoods, prior=learnt_prior))
        gain -= float(np.log1p(-np.minimum(strict, 1.0 - 1e-12)).sum())
        lenient = posterior(*likelihoods, prior=with_slight_touches(learnt_prior))
        probability[begin : begin + len(part)] = _untouched(lenient)
    lost = len(near) * np.log1p(-learnt_prior[UNTOUCHED].sum() / learnt_prior.sum())
    return Sorted(
        ids=near,
        probability=probability,
        energy=own.energy * start,
        evidence=float(gain + lost),
        companion=len(beliefs) == 2,
        contrast=own.contrast(),
    )


def _of_companion(
    companion: Units,
    learnt: NDArray[np.int64],
    trained: NDArray[np.int64],
    sure: NDArray[np.float64],
) -> tuple[Belief, NDArray[np.float64] | None]:
    """What the rows of the same ids in another tensor say, and what to expect of pairs of states.

    There is nothing to expect where those rows form no cluster.
    """
    best = np.argsort(-sure, kind="stable")[:CANDIDATES]
    values = companion.take(learnt[best]).astype(np.float64)
    scale = float(np.sqrt(np.mean(values * values))) or 1.0
    frame = frame_for(companion, trained, np.median(values, axis=0), scale)
    belief = Belief(companion, learnt, frame, companion=True)
    core = belief.gather_round(best)
    rest = len(learnt) - 4.3 * core
    if core < LEAST_UNTOUCHED or rest < core:
        return belief, None
    prior = np.array([[1.0, 0.05, 0.05], [0.1, 1.0, 1.0], [0.1, 1.0, 0.0]]) * core
    prior[TRAINED, TRAINED] = rest
    return belief, prior


def _prior_alone(sure: NDArray[np.float64], energy: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """What to expect of a tensor by itself.

    Args:
        sure: log odds of its units at equal numbers of each state.
        energy: of the units near the start, relative to it.
        width: values of each unit.

    Returns:
        Numbers of units. Light touches are as many as units of a larger energy than chance gives, at most.
    """
    few = max(3.0, 0.1 * float((sure > 0.0).sum()))
    larger = float((energy > 1.0 + 3.0 * np.sqrt(2.0 / width)).sum())
    light = min(3.0 * few, larger + 0.5)
    return np.array([few, light, max(min(few, larger + 0.5), len(sure) - few - light)])


def _untouched(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that a unit is untouched, whatever its companion is."""
    return np.asarray(states[:, UNTOUCHED].reshape(len(states), -1).sum(axis=1))
