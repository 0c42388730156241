"""MindSpore's host initialisers: the values of its rules (nobody ran them), random access, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.generators.answers import answers
from birthmark.numerics.dtypes import ulps
from birthmark.samplers.mindspore_draw import MindsporeDraw


def test_values_of_the_rules() -> None:
    """The first standard normals of seed 42 come out, and those of seed 43 are others."""
    draw = MindsporeDraw("normal", 100, (0.0, 1.0))
    for answer in answers("birthmark.samplers", "neighbour_answers.txt", "mindspore-normal"):
        expected = np.array([float(text) for text in answer.answers])
        assert ulps(draw.values(answer.numbers[0], np.arange(4)), expected, "float32").max() <= 1
        assert not np.allclose(draw.values(answer.numbers[0] + 1, np.arange(4)), expected, atol=0.01)


def test_random_access() -> None:
    """Elements in any order and shape are those of the whole draw; uniforms keep to their bounds."""
    chosen = np.array([[99, 4], [5, 5]])
    for draw in (MindsporeDraw("normal", 100, (1.0, 0.5)), MindsporeDraw("uniform", 100, (-0.1, 0.3))):
        whole = draw.values(7, np.arange(100))
        assert np.array_equal(draw.values(7, chosen), whole[chosen])
    assert -0.1 <= whole.min() < whole.max() < 0.3


def test_what_cannot_be_is_refused() -> None:
    """The seed 0, for which MindSpore draws its own, and elements outside the draw are refused."""
    draw = MindsporeDraw("normal", 4, (0.0, 1.0))
    with pytest.raises(UsageError, match="seed 0"):
        draw.values(0, np.arange(4))
    with pytest.raises(UsageError, match="index"):
        draw.values(1, np.array([4]))
