"""Paddle's draws with a seed of their own: values of a real file, the mathematics of normals, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.generators.minstd import words_at
from birthmark.samplers.paddle_minstd import MinstdDraw


def test_values_of_a_real_file() -> None:
    """Values that jieba's word table still holds come out bit for bit, and the next seed's are others."""
    draw = MinstdDraw("uniform", (-0.1, 0.1), 20_941 * 128)
    for answer in answers("birthmark.samplers", "neighbour_answers.txt", "paddle-minstd"):
        seed, first = answer.numbers
        indices = np.arange(first, first + len(answer.floats))
        assert draw.values(seed, indices).tolist() == list(answer.floats)
        assert draw.values(seed + 2**31 - 1, indices).tolist() == list(answer.floats)
        assert not np.any(draw.values(seed + 1, indices) == np.array(answer.floats))
        shifted = MinstdDraw("uniform", (-0.1, 0.1), draw.size, offset=first)
        assert shifted.values(seed, np.arange(len(indices))).tolist() == list(answer.floats)


def test_normals_are_quantiles_of_their_words() -> None:
    """A standard normal's probability is its word over 2^31, on either side of the middle."""
    drawn = MinstdDraw("normal", (0.0, 1.0), 4000).values(9, np.arange(4000))
    assert np.allclose(ndtr(drawn.astype(np.float64)), words_at(9, np.arange(4000)) / 2.0**31, atol=1e-7)
    assert abs(float(np.mean(drawn))) < 0.05
    scaled = MinstdDraw("normal", (1.0, 0.5), 4000).values(9, np.array([[7, 3], [5, 5]]))
    assert np.allclose(scaled, 1.0 + 0.5 * drawn[np.array([[7, 3], [5, 5]])], rtol=1e-6)


def test_what_cannot_be_is_refused() -> None:
    """Unknown distributions, bounds out of order and elements outside the tensor are refused."""
    with pytest.raises(UnknownName, match="uniform"):
        MinstdDraw("unifrom", (0.0, 1.0), 4)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="parameters"):
        MinstdDraw("uniform", (1.0, 0.0), 4)
    with pytest.raises(UsageError, match="negative"):
        MinstdDraw("uniform", (0.0, 1.0), 4, offset=-1)
    with pytest.raises(UsageError, match="index"):
        MinstdDraw("uniform", (0.0, 1.0), 4).values(1, np.array([4]))
