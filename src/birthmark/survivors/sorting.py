"""Sorting the units of a tensor into untouched and touched ones, without knowing the scale of either.

The scale of untouched units is the heart of it: weight decay may have shrunk them all by one unknown factor. It
is sought from several starts, each improved by turns with the shared directions, the prior and, where another
tensor has rows of the same ids, that tensor's common point. What is kept is the start that explains most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.cross_tensor import common_point
from birthmark.survivors.probability import (
    LIGHT,
    TRAINED,
    UNTOUCHED,
    Model,
    learnt_prior,
    log_likelihood,
    posterior,
)
from birthmark.survivors.shared_directions import Projected, frame_for, shared_directions
from birthmark.survivors.units import Units

#: Units from which a model is learnt, at most.
MOST_LEARNT = 1 << 14
#: Energies beyond this multiple of the untouched one are trained for certain.
CERTAIN = 3.0
#: Units that teach the shared directions: their energies, in multiples of the untouched one.
TOUCHED_BAND = (1.25, 2.2)
COMPANION_BAND = (1.45, 4.0)
#: With fewer units than this there is nothing to learn from.
LEAST_LEARNT = 12
#: Candidates by which another tensor's common point is found.
CANDIDATES = 40
#: Rounds of improvement; the first few keep the prior.
ROUNDS, FIRST_ROUNDS = 20, 3
#: Improvement ends when the expected number of untouched units changes by less than this share.
SETTLED = 0.002
#: No further start is tried after one with so much evidence; chance clusters stay below half of it.
ENOUGH_EVIDENCE = 75.0
#: Distance between starts, as a ratio of energies, and their largest number.
STEP, MOST_STARTS = 1.5, 4
#: Weight of the isotropic expectation, in units, when the common variances are estimated.
_ISOTROPIC_WEIGHT = 20.0


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
    """

    ids: NDArray[np.int64]
    probability: NDArray[np.float64]
    energy: float
    evidence: float
    companion: bool


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
    found: list[Sorted] = []
    for start in _starts(energy, units.width):
        if any(abs(np.log(start / one.energy)) < 0.08 for one in found):
            continue
        one = _sort_from(start, units, ids, energy, companion)
        if one is not None:
            found.append(one)
            if one.evidence > ENOUGH_EVIDENCE:
                break
    return max(found, key=lambda one: one.evidence, default=None)


def _starts(energy: NDArray[np.float64], width: int) -> list[float]:
    """Energies from which the search for the untouched one sets out: a little above the smallest, and higher.

    A start that is too high by half finds its way down; one that is too low does not always find its way up.
    """
    ordered = np.sort(energy)
    few = ordered[: max(10, len(ordered) * 3 // 1000)]
    # The smallest of many untouched units lie about one standard deviation below their mean.
    lowest = 1.2 * float(few.mean()) / max(0.5, 1.0 - np.sqrt(2.0 / width))
    top = max(lowest, float(np.quantile(ordered, 0.6)))
    count = 1 + int(np.log(top / lowest) / np.log(STEP))
    if count > MOST_STARTS:
        return [float(start) for start in np.geomspace(lowest, top, MOST_STARTS)]
    return [lowest * STEP**step for step in range(count)]


def _sort_from(
    start: float,
    units: Units,
    ids: NDArray[np.int64],
    energy: NDArray[np.float64],
    companion: Units | None,
) -> Sorted | None:
    """Improve one start until it stands, then judge every unit near it."""
    near = np.flatnonzero(energy < CERTAIN * start)
    if len(near) < LEAST_LEARNT or (energy[near] > TOUCHED_BAND[0] * start).sum() < LEAST_LEARNT:
        return None
    learnt = ids[near[_evenly(len(near), MOST_LEARNT)]]
    trained = ids[energy > TOUCHED_BAND[0] * start]
    scale = float(np.sqrt(start))
    frame = frame_for(units, trained, np.zeros(units.width), scale)
    own = _View(frame.project(units, learnt), TOUCHED_BAND)
    alone = own.log_likelihood()
    sure = alone[:, UNTOUCHED] - np.logaddexp(alone[:, LIGHT], alone[:, TRAINED])
    views, frames = [own], [frame]
    if companion is not None:
        best = np.argsort(-sure)[:CANDIDATES]
        values = np.concatenate([part for _, part in companion.chunks(learnt[best])]).astype(np.float64)
        other_scale = float(np.sqrt(np.mean(values * values)))
        other_frame = frame_for(companion, trained, np.median(values, axis=0), other_scale)
        other = _View(other_frame.project(companion, learnt), COMPANION_BAND)
        core = other.gather_round(best)
        prior = _first_joint_prior(int(core.sum()), len(learnt))
        if prior is not None:
            views.append(other)
            frames.append(other_frame)
    if len(views) == 1:
        few = max(3.0, 0.1 * float((sure > 0.0).sum()))
        prior = np.array([few, 3.0 * few, max(few, len(learnt) - 4.0 * few)])
    assert prior is not None
    prior, states = _improve(views, prior)
    if states is None:
        return None
    if len(learnt) == len(near):
        likelihoods = [view.log_likelihood() for view in views]
    else:
        likelihoods = [
            log_likelihood(each.project(source, ids[near]).about(view.centre), view.model)
            for each, source, view in zip(frames, (units, companion), views, strict=False)
            if source is not None
        ]
    states = posterior(*likelihoods, prior=prior)
    untouched = states[:, UNTOUCHED].reshape(len(near), -1).sum(axis=1)
    with np.errstate(divide="ignore"):
        gain = -np.log1p(-np.minimum(untouched, 1.0 - 1e-12))
    lost = np.log1p(-prior[UNTOUCHED].sum() / prior.sum()) * len(near)
    return Sorted(
        ids=ids[near],
        probability=untouched,
        energy=own.energy * start,
        evidence=float(gain.sum() + lost),
        companion=len(views) == 2,
    )


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most so many places of a list, evenly spread."""
    kept = min(count, most)
    return np.arange(kept, dtype=np.int64) * count // max(1, kept)


def _first_joint_prior(core: int, count: int) -> NDArray[np.float64] | None:
    """What to expect of pairs of states when a cluster of so many units was found; None if it is no cluster."""
    rest = count - 4.3 * core
    if core < 3 or rest < core:
        return None
    pairs = np.array([[1.0, 0.05, 0.05], [0.1, 1.0, 1.0], [0.1, 1.0, 0.0]]) * core
    pairs[TRAINED, TRAINED] = rest
    return pairs


def _improve(
    views: list[_View], prior: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Models and prior by turns; no states where the untouched units vanish on the way."""
    before = 0.0
    for turn in range(ROUNDS):
        states = posterior(*(view.log_likelihood() for view in views), prior=prior)
        if turn >= FIRST_ROUNDS:
            prior = learnt_prior(states)
        untouched = states.reshape(len(states), -1)[:, 0] > 0.5
        if untouched.sum() < 3:
            return prior, None
        for view in views:
            view.learn(untouched)
        expected = float(states[:, UNTOUCHED].sum())
        if turn > FIRST_ROUNDS and abs(expected - before) < SETTLED * expected:
            break
        before = expected
    return prior, posterior(*(view.log_likelihood() for view in views), prior=prior)


class _View:
    """The units of one tensor near a start, and what is believed about them; changes as sorting goes on."""

    def __init__(self, units: Projected, band: tuple[float, float]) -> None:
        self._units, self._band = units, band
        self._moves = band is COMPANION_BAND
        self.centre = np.zeros(units.inside.shape[1])
        self.energy = 1.0
        self._sight = units
        self._learn_directions(None)

    def log_likelihood(self) -> NDArray[np.float64]:
        """Of each unit in each state."""
        return log_likelihood(self._sight, self.model)

    def gather_round(self, candidates: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Move to the common point of another tensor's rows; which rows lie there."""
        self.centre, core = common_point(self._units, candidates)
        self._sight = self._units.about(self.centre)
        self.energy = float(np.median(self._sight.total[core]))
        self._learn_directions(core)
        return core

    def learn(self, untouched: NDArray[np.bool_]) -> None:
        """Scale, centre and directions from the units that are now believed to be untouched."""
        count = int(untouched.sum())
        fewer = 1.0
        if self._moves:
            self.centre = self._units.inside[untouched].mean(axis=0)
            self._sight = self._units.about(self.centre)
            fewer = (count - 1) / count
        directions = self.model.spectrum.directions if self._moves else None
        left = self._sight.total * self._sight.width
        dimensions = self._sight.width
        if directions is not None:
            left = left - ((self._sight.inside @ directions) ** 2).sum(axis=1)
            dimensions -= directions.shape[1]
        # The median of chi-square with k degrees of freedom is about k (1 - 2 / 9k)^3.
        median = dimensions * (1.0 - 2.0 / (9.0 * dimensions)) ** 3
        self.energy = float(np.median(left[untouched])) / median / fewer
        self._learn_directions(untouched)

    def _learn_directions(self, untouched: NDArray[np.bool_] | None) -> None:
        total = self._sight.total
        band = (total > self._band[0] * self.energy) & (total < self._band[1] * self.energy)
        if band.sum() < LEAST_LEARNT:
            band = total > self._band[0] * self.energy
        if not band.any():
            band = total >= np.median(total)
        touched = Projected(self._sight.inside[band], self._sight.outside[band], self._sight.width)
        spectrum = shared_directions(touched, self.energy)
        common = np.full(len(spectrum.energy), self.energy)
        if self._moves and untouched is not None:
            seen = ((self._sight.inside[untouched] @ spectrum.directions) ** 2).mean(axis=0)
            count = int(untouched.sum())
            pooled = (count * seen + _ISOTROPIC_WEIGHT * self.energy) / (count + _ISOTROPIC_WEIGHT)
            common = np.maximum(pooled, self.energy)
        self.model = Model(self.energy, spectrum, common)
