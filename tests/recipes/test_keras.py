"""Keras's initialisers: values that Keras 3.15.1 gave on TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.recipes.experiment_seeds import keras_seed
from birthmark.recipes.keras import draw, fans, stream_of

FILE = ("birthmark.samplers", "neighbour_answers.txt")


@pytest.mark.parametrize("name", ["glorot_uniform", "he_normal", "random_normal"])
def test_values_that_keras_gave(name: str) -> None:
    """Initialisers with a seed come out (to the last bit of glibc's functions), other seeds do not."""
    for answer in answers(*FILE, f"keras-{name}"):
        expected = np.array(answer.floats)
        found = draw(name, (30, 20)).values(stream_of(answer.numbers[0]), np.arange(len(expected)))
        assert np.allclose(found, expected, rtol=3e-7, atol=1e-8)
        other = draw(name, (30, 20)).values(stream_of(answer.numbers[0] + 1), np.arange(len(expected)))
        assert not np.allclose(other, expected, rtol=0.1)


def test_layers_without_a_seed() -> None:
    """After `set_random_seed` each weight takes the next number of Python's generator."""
    for answer in answers(*FILE, "keras-default"):
        declared, number = answer.numbers
        stream = stream_of(keras_seed(declared, number))
        found = draw("glorot_uniform", (5, 8)).values(stream, np.arange(len(answer.floats)))
        assert found.tolist() == list(answer.floats)


def test_fans_and_refusals() -> None:
    """Vectors have their length for both fans; unknown names list the nearest."""
    assert fans((7,)) == (7, 7)
    assert fans((3, 3, 8, 16)) == (72, 144)
    assert draw("random_uniform", (7,)).parameters == (-0.05, 0.05)
    assert draw("truncated_normal", (7,), 0.1).parameters == (0.0, 0.1)
    with pytest.raises(UnknownName, match="glorot_uniform"):
        draw("glorot_unifrom", (3, 3))
    with pytest.raises(UsageError, match="one axis"):
        fans(())
