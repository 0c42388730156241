"""Paddle's CPU draws: values that paddlepaddle 3.3.1 gave, random access, and the later uniforms."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.errors import UnknownName, UsageError
from birthmark.generators.answers import answers
from birthmark.samplers.cpu_draw import CpuDraw
from birthmark.samplers.paddle_cpu import PaddleCpuDraw

FILE = ("birthmark.samplers", "neighbour_answers.txt")


def test_values_that_paddle_gave() -> None:
    """Uniforms and normals after `paddle.seed`, and uniforms with their own seed, come out bit for bit."""
    for what, draw in (
        ("paddle-rand", PaddleCpuDraw("uniform", (0.0, 1.0), 100)),
        ("paddle-randn", PaddleCpuDraw("normal", (0.0, 1.0), 100)),
        ("paddle-own", PaddleCpuDraw("uniform", (-0.1, 0.1), 100, own_seed=True)),
    ):
        for answer in answers(*FILE, what):
            seed, expected = answer.numbers[0], np.array(answer.floats)
            assert np.array_equal(draw.values(seed, np.arange(len(expected))), expected)
            assert not np.any(draw.values(seed + 1, np.arange(len(expected))) == expected)


def test_random_access_and_words_before() -> None:
    """Elements in any order are those of the whole; words drawn before shift a uniform by as many."""
    indices = np.array([[900, 3], [3, 411]])
    for distribution in ("normal", "uniform"):
        whole = PaddleCpuDraw(distribution, (0.1, 0.5), 1000)
        assert np.array_equal(
            whole.values(7, indices), whole.values(7, np.arange(1000))[indices.ravel()].reshape(2, 2)
        )
    later = PaddleCpuDraw("uniform", (0.1, 0.5), 600, skip=400)
    first = PaddleCpuDraw("uniform", (0.1, 0.5), 1000).values(7, np.arange(400, 1000))
    assert np.array_equal(later.values(7, np.arange(600)), first)
    shifted = PaddleCpuDraw("normal", (0.0, 1.0), 50, skip=624).values(7, np.arange(50))
    assert not np.any(shifted == PaddleCpuDraw("normal", (0.0, 1.0), 50).values(7, np.arange(50)))


def test_later_uniforms_are_pytorchs() -> None:
    """After July 2026 uniforms are those of PyTorch's CPU generator; normals stay."""
    later = PaddleCpuDraw("uniform", (-0.1, 0.1), 100, era="torch")
    assert np.array_equal(
        later.values(3, np.arange(100)), CpuDraw("uniform", (-0.1, 0.1), 100).values(3, np.arange(100))
    )
    old, new = (PaddleCpuDraw("normal", (0.0, 1.0), 9, era=era) for era in ("library", "torch"))
    assert np.array_equal(old.values(3, np.arange(9)), new.values(3, np.arange(9)))


def test_what_cannot_be_is_refused() -> None:
    """Unknown eras, words before a later uniform, and elements outside the draw are refused."""
    with pytest.raises(UnknownName, match="library"):
        PaddleCpuDraw("normal", (0.0, 1.0), 4, era="libary")
    with pytest.raises(UsageError, match="words"):
        PaddleCpuDraw("uniform", (0.0, 1.0), 4, skip=1, era="torch")
    with pytest.raises(UsageError, match="index"):
        PaddleCpuDraw("normal", (0.0, 1.0), 4).values(0, np.array([4]))
