"""From the energies of a unit to the probability that nothing has touched it.

Three states: *untouched*, *lightly touched* (training added up to half of the unit's own energy), *trained*.
Untouched units are isotropic: the same variance in every direction. A touch adds energy with the spectrum
that touched units share (see `shared_directions`); how much of it is not known, so its likelihood is an
average over amounts. A touch that adds less than a tenth cannot be told from none and counts as none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from birthmark.survivors.shared_directions import Projected, Spectrum

#: Added energy, relative to the untouched one, with the width of the interval that each stands for. Within
#: each state all amounts are taken to be equally frequent.
_LIGHT = np.array([(0.12, 0.06), (0.18, 0.065), (0.25, 0.08), (0.34, 0.1), (0.45, 0.12)])
_TRAINED = np.array([(0.6, 0.2), (0.9, 0.4), (1.4, 0.6), (2.2, 1.0), (3.5, 1.6), (6.0, 3.0), (12.0, 6.0)])

#: Units with a smaller touch than any of these, relative to the number of lightly touched ones.
SLIGHT = 0.1

UNTOUCHED, LIGHT, TRAINED = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What the units of one tensor look like.

    Attributes:
        energy: variance of an untouched value.
        spectrum: how a touch spreads.
        common: float64[k], variance of untouched units along each shared direction; more than `energy` where
            even untouched units differ a little, as rows of an output head do.
    """

    energy: float
    spectrum: Spectrum
    common: NDArray[np.float64]


def log_likelihood(units: Projected, model: Model) -> NDArray[np.float64]:
    """Log density of each unit in each state, float64[n, 3], up to one constant."""
    shared = (units.inside @ model.spectrum.directions) ** 2
    rest = units.total * units.width - shared.sum(axis=1)
    dimensions = units.width - shared.shape[1]

    def density(added: float) -> NDArray[np.float64]:
        inner = model.common + model.energy * added * model.spectrum.energy
        outer = model.energy * (1.0 + added * model.spectrum.rest)
        constant = np.log(inner).sum() + dimensions * np.log(outer)
        answer: NDArray[np.float64] = -0.5 * (shared @ (1.0 / inner) + rest / outer + constant)
        return answer

    def average(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.log(amounts[:, 1] / amounts[:, 1].sum())
        parts = [density(amount) + weight for amount, weight in zip(amounts[:, 0], weights, strict=True)]
        return np.asarray(np.logaddexp.reduce(parts, axis=0))

    return np.stack([density(0.0), average(_LIGHT), average(_TRAINED)], axis=1)


def posterior(*likelihoods: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each state, or of each pair of states, for each unit.

    Args:
        likelihoods: one or two tables as `log_likelihood` gives them, of the same units.
        prior: float64[3] or float64[3, 3]; need not add up to one.

    Returns:
        float64[n, 3] or float64[n, 3, 3].
    """
    joint = likelihoods[0]
    if len(likelihoods) == 2:
        joint = joint[:, :, None] + likelihoods[1][:, None, :]
    with np.errstate(divide="ignore"):
        joint = joint + np.log(prior / prior.sum())
    axes = tuple(range(1, joint.ndim))
    weight = np.exp(joint - joint.max(axis=axes, keepdims=True))
    answer: NDArray[np.float64] = weight / weight.sum(axis=axes, keepdims=True)
    return answer


def with_slight_touches(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """The prior with touches that add less than a tenth counted as none.

    Lightly touched units grow fewer towards small amounts, but not at once: a tenth of their number may lie
    below the smallest amount that is told apart. In the cases with known answers it is 5 to 15 %.
    """
    lenient = prior.copy()
    lenient[UNTOUCHED] += SLIGHT * prior[LIGHT]
    return lenient


def learnt_prior(states: NDArray[np.float64], *, spare: float = 0.5) -> NDArray[np.float64]:
    """How many units are in each state, or pair of states, judged by their probabilities.

    `spare` units are added to each. Of the units whose other tensor says that their id never occurred, few
    can have been touched here: one for ten untouched ones.
    """
    counts: NDArray[np.float64] = states.sum(axis=0)
    if counts.ndim == 2:
        counts[1:, UNTOUCHED] = np.minimum(counts[1:, UNTOUCHED], 0.1 * counts[UNTOUCHED, UNTOUCHED])
    return counts + spare
