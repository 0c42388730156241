"""From energies to probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.survivors.probability import (
    LIGHT,
    TRAINED,
    UNTOUCHED,
    Model,
    learnt_prior,
    log_likelihood,
    posterior,
    with_slight_touches,
)
from birthmark.survivors.shared_directions import Projected, Spectrum

WIDTH = 128


def model(shared: int = 8) -> Model:
    """Touches with half of their energy in a few directions."""
    energy = np.full(shared, 0.5 * WIDTH / shared)
    spectrum = Spectrum(np.eye(WIDTH, shared), energy, 0.5 * WIDTH / (WIDTH - shared))
    return Model(1.0, spectrum, np.ones(shared))


def drawn(amount: float, count: int = 4000) -> Projected:
    """Units that a touch of this amount moved, as the model has it."""
    random = np.random.default_rng(int(100 * amount))
    spectrum = model().spectrum
    variance = 1.0 + amount * np.r_[spectrum.energy, np.full(WIDTH - len(spectrum.energy), spectrum.rest)]
    values = random.standard_normal((count, WIDTH)) * np.sqrt(variance)
    return Projected(values, np.zeros(count), WIDTH)


def test_every_state_is_recognised_in_the_mean() -> None:
    """Untouched, lightly touched and trained units are most likely in their own state."""
    for amount, state in ((0.0, UNTOUCHED), (0.3, LIGHT), (2.0, TRAINED)):
        table = log_likelihood(drawn(amount), model())
        assert table.mean(axis=0).argmax() == state


def test_probabilities_are_calibrated() -> None:
    """Of units with probability p a share of p is untouched, where the model is true."""
    tables = [log_likelihood(drawn(amount), model()) for amount in (0.0, 0.25)]
    states = posterior(np.concatenate(tables), prior=np.array([1.0, 1.0, 1e-9]))
    truth = np.repeat([True, False], 4000)

    for low, high in ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
        inside = (states[:, UNTOUCHED] >= low) & (states[:, UNTOUCHED] < high)
        assert truth[inside].mean() == pytest.approx(states[inside, UNTOUCHED].mean(), abs=0.12)


def test_another_tensors_word_counts() -> None:
    """A unit that looks half untouched is believed when its companion row is untouched, and not otherwise."""
    own = np.array([[0.0, 0.0, -50.0]] * 2)
    other = np.array([[0.0, -8.0, -8.0], [-50.0, -50.0, 0.0]])
    prior = np.array([[10.0, 0.5, 0.5], [0.5, 5.0, 100.0], [0.5, 5.0, 1000.0]])

    untouched = posterior(own, other, prior=prior)[:, UNTOUCHED].sum(axis=1)

    assert untouched[0] > 0.9
    assert untouched[1] < 0.05


def test_posteriors_add_up_to_one() -> None:
    """States exclude each other, and far too unlikely units do not divide by zero."""
    table = np.array([[-1e6, -1e7, -1e8], [0.0, 0.0, 0.0]])

    single = posterior(table, prior=np.array([1.0, 2.0, 3.0]))
    joint = posterior(table, table, prior=np.ones((3, 3)))

    np.testing.assert_allclose(single.sum(axis=1), 1.0)
    np.testing.assert_allclose(joint.sum(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(single[1], [1 / 6, 2 / 6, 3 / 6])


def test_the_prior_is_learnt_from_the_states() -> None:
    """Counts follow the states; ids that never occurred elsewhere are seldom touched here."""
    states = np.zeros((10, 3, 3))
    states[:6, 0, 0], states[6:, 1, 0] = 1.0, 1.0

    prior = learnt_prior(states, spare=0.0)

    assert prior[0, 0] == 6.0
    assert prior[1, 0] == pytest.approx(0.6)
    assert with_slight_touches(prior)[0, 0] == pytest.approx(6.06)
