"""What is believed about the units of one tensor, and how the belief is improved.

A belief is a scale of untouched units, the point around which they lie, and the way in which touches spread.
It is learnt from units that are thought to be untouched and from units that were certainly touched, and then
says again which are which; a few rounds settle it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.cross_tensor import common_point
from birthmark.survivors.probability import UNTOUCHED, Model, learnt_prior, log_likelihood, posterior
from birthmark.survivors.shared_directions import (
    Frame,
    Projected,
    Spectrum,
    no_directions,
    shared_directions,
)
from birthmark.survivors.units import Units

#: Units that teach the shared directions: their energies, in multiples of the untouched one. Rows of another
#: tensor get a wider band, because a single touch moves them further.
BAND, BAND_OF_COMPANION = (1.25, 2.2), (1.45, 4.0)
#: With fewer touched units than this, directions are not learnt.
LEAST_LEARNT = 12
#: With fewer untouched units than this, a belief has failed.
LEAST_UNTOUCHED = 3
#: Rounds of improvement; the first few keep the prior.
ROUNDS, FIRST_ROUNDS = 20, 3
#: Improvement ends when the expected number of untouched units changes by less than this share.
SETTLED = 0.002
#: Weight of the isotropic expectation, in units, when the common variances are estimated.
ISOTROPIC_WEIGHT = 20.0
#: Shared directions that are compared with all others.
CONTRASTED = 4
#: Standard deviations below the untouched energy (in the scale of its cube root) that are too many.
TOO_SMALL = 5.0


class Belief:
    """The units of one tensor near a start, and what is believed of them; it changes as it learns.

    Args:
        units: the rows or columns.
        ids: int64, those from which it learns.
        frame: the projection in which they are seen; its scale is that of the start.
        companion: whether these are another tensor's rows, which lie around a common point of their own.
    """

    def __init__(
        self, units: Units, ids: NDArray[np.int64], frame: Frame, *, companion: bool = False
    ) -> None:
        self._units, self._frame, self._companion = units, frame, companion
        self._learnt = frame.project(units, ids)
        self._sight = self._learnt
        self._centre = np.zeros(self._learnt.inside.shape[1])
        self.energy = 1.0
        self._model = self._new_model(None)

    def seen(self) -> NDArray[np.float64]:
        """Log likelihood of each unit that it learns from, in each state."""
        return self._judged(self._sight)

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log likelihood of any units of the tensor, in each state."""
        return self._judged(self._frame.project(self._units, ids).about(self._centre))

    def gather_round(self, candidates: NDArray[np.intp]) -> int:
        """Move to the point around which another tensor's rows of untouched ids lie; how many do."""
        self._centre, core = common_point(self._learnt, candidates)
        self._sight = self._learnt.about(self._centre)
        self.energy = float(np.median(self._sight.total[core]))
        self._model = self._new_model(core)
        return int(core.sum())

    def learn(self, probability: NDArray[np.float64], *, soft: bool) -> None:
        """Scale, centre and directions from the units that are now believed to be untouched.

        Args:
            probability: of each unit that it learns from.
            soft: whether doubtful units count by their probability. Where the tensor stands alone, leaving
                out the larger of them would shrink the scale round by round; where a companion speaks, few
                are doubtful and the median of the others is safer.
        """
        untouched = probability > 0.5
        energies = self._sight.total * self._sight.width
        dimensions, fewer = self._sight.width, 1.0
        if self._companion:
            self._centre = self._learnt.inside[untouched].mean(axis=0)
            self._sight = self._learnt.about(self._centre)
            count = int(untouched.sum())
            fewer = (count - 1) / count
            # Along the shared directions even untouched rows of a head differ: leave them out.
            shared = (self._sight.inside @ self._model.spectrum.directions) ** 2
            energies = self._sight.total * self._sight.width - shared.sum(axis=1)
            dimensions -= shared.shape[1]
        if soft:
            self.energy = float(probability @ energies) / float(probability.sum()) / dimensions / fewer
        else:
            # The median of chi-square with k degrees of freedom is about k (1 - 2 / 9k)^3.
            median = dimensions * (1.0 - 2.0 / (9.0 * dimensions)) ** 3
            self.energy = float(np.median(energies[untouched])) / median / fewer
        self._model = self._new_model(untouched)

    def contrast(self) -> float:
        """How much more of a touch lies along a shared direction than along any, on units not learnt from.

        1 where touched units share nothing but their size, as rows with gains of their own do; 0 where there
        are too few of them to tell.
        """
        low, high = BAND_OF_COMPANION if self._companion else BAND
        touched = np.flatnonzero(
            (self._sight.total > low * self.energy) & (self._sight.total < high * self.energy)
        )
        if len(touched) < 2 * LEAST_LEARNT:
            return 0.0
        halves = [
            Projected(self._sight.inside[half], self._sight.outside[half], self._sight.width)
            for half in (touched[::2], touched[1::2])
        ]
        strongest = shared_directions(halves[0], self.energy).directions[:, :CONTRASTED]
        if not strongest.shape[1]:
            return 0.0
        along = float(((halves[1].inside @ strongest) ** 2).mean()) - self.energy
        return along / (float(halves[1].total.mean()) - self.energy)

    def _new_model(self, untouched: NDArray[np.bool_] | None) -> Model:
        spectrum = self._spectrum()
        common = np.full(len(spectrum.energy), self.energy)
        if self._companion and untouched is not None:
            along = ((self._sight.inside[untouched] @ spectrum.directions) ** 2).mean(axis=0)
            count = int(untouched.sum())
            pooled = (count * along + ISOTROPIC_WEIGHT * self.energy) / (count + ISOTROPIC_WEIGHT)
            common = np.maximum(pooled, self.energy)
        return Model(self.energy, spectrum, common)

    def _spectrum(self) -> Spectrum:
        """How touches spread, learnt from the units that were touched for certain but not too much."""
        total, (low, high) = self._sight.total, BAND_OF_COMPANION if self._companion else BAND
        band = (total > low * self.energy) & (total < high * self.energy)
        if band.sum() < LEAST_LEARNT:
            band = total > low * self.energy
        if band.sum() < LEAST_LEARNT:
            return no_directions(self._sight)
        touched = Projected(self._sight.inside[band], self._sight.outside[band], self._sight.width)
        return shared_directions(touched, self.energy)

    def _judged(self, units: Projected) -> NDArray[np.float64]:
        """Log likelihood in each state."""
        table = log_likelihood(units, self._model)
        if not self._companion:
            # Touches add energy, so none explains a unit that is far too small: it was changed otherwise.
            least = max(0.0, 1.0 - TOO_SMALL * np.sqrt(2.0 / (9.0 * units.width))) ** 3
            table[units.total < least * self.energy, UNTOUCHED] -= 1e4
        return table


def improve(beliefs: list[Belief], prior: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Improve beliefs about one or two tensors and the prior by turns.

    Args:
        beliefs: of the tensor and, where there is one, of its companion; they learn.
        prior: float64[3] or float64[3, 3], how many units to expect in each state, or pair of states.

    Returns:
        The learnt prior; None where the untouched units vanish on the way.
    """
    before = 0.0
    for turn in range(ROUNDS):
        states = posterior(*(belief.seen() for belief in beliefs), prior=prior)
        if turn >= FIRST_ROUNDS:
            prior = learnt_prior(states)
        untouched = states.reshape(len(states), -1)[:, 0]
        if (untouched > 0.5).sum() < LEAST_UNTOUCHED:
            return None
        for belief in beliefs:
            belief.learn(untouched, soft=len(beliefs) == 1)
        expected = float(states[:, UNTOUCHED].sum())
        if turn > FIRST_ROUNDS and abs(expected - before) < SETTLED * expected:
            break
        before = expected
    return prior
