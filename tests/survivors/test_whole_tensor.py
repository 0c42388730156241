"""Whole untouched tensors."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.numerics.dtypes import round_to
from birthmark.survivors.whole_tensor import judge_whole


@pytest.mark.parametrize("shape", [(1, 100), (10, 100), (64, 64), (300, 784), (512, 32)])
@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_fresh_draws_pass(shape: tuple[int, int], distribution: str) -> None:
    """Of twenty fresh draws of each shape none fails a test."""
    random = np.random.default_rng(0)
    for _ in range(20):
        values = random.standard_normal(shape) if distribution == "normal" else random.uniform(-1, 1, shape)
        judged = judge_whole(0.02 * values)
        assert judged.probability > 0.9
        assert judged.failed == ()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_coarse_dtypes_do_not_matter(dtype: str) -> None:
    """The rounding of a stored dtype is not mistaken for training."""
    values = round_to(np.random.default_rng(1).standard_normal((512, 512)) * 0.02, dtype)

    assert judge_whole(values.astype(np.float64)).probability > 0.9


@pytest.mark.parametrize(
    ("trained", "test"),
    [
        ("direction", "directions"),
        ("norms of rows", "norms of its rows"),
        ("norms of columns", "norms of its columns"),
        ("means of columns", "means of its columns"),
        ("mean", "mean of its values"),
        ("tails", "neither normal nor uniform"),
        ("orthogonal", "norms of its rows"),
    ],
)
def test_each_mark_of_training_is_seen(trained: str, test: str) -> None:
    """A tensor that differs from a fresh draw in one way fails the test for it."""
    random = np.random.default_rng(2)
    values = random.standard_normal((256, 256))
    if trained == "direction":
        values += 3.0 * np.outer(random.choice([-1, 1], 256), random.choice([-1, 1], 256)) / 16.0 * 2.0
    elif trained == "norms of rows":
        values *= random.uniform(0.7, 1.3, (256, 1))
    elif trained == "norms of columns":
        values *= random.uniform(0.7, 1.3, (1, 256))
    elif trained == "means of columns":
        values += 0.3 * random.standard_normal((1, 256))
    elif trained == "mean":
        values += 0.05
    elif trained == "tails":
        values *= np.where(random.random((256, 256)) < 0.2, 1.8, 1.0)
    else:
        values = np.linalg.qr(values)[0]

    judged = judge_whole(values)

    assert judged.probability < 0.01
    assert any(test in failure for failure in judged.failed)


def test_the_scale_is_measured() -> None:
    """The fit gives the standard deviation of the values as they are."""
    judged = judge_whole(np.random.default_rng(3).standard_normal((200, 200)) * 1e-22)

    assert judged.fit.scale == pytest.approx(1e-22, rel=0.02)


def test_a_trained_row_does_not_have_the_energy_of_the_rest() -> None:
    """Energies of single rows are compared with the scale of the whole."""
    judged = judge_whole(np.random.default_rng(4).standard_normal((200, 128)))

    assert judged.has_energy(np.array([0.2, 1.0, 4.0]), 128).tolist() == [False, True, False]
