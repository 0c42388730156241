"""Levelling: rows, columns and outliers brought to one size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from birthmark.survivors.levelling import CLIP, levelled

SHAPE = (400, 64)
INDICES = np.arange(SHAPE[0] * SHAPE[1])


def level(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A whole tensor, levelled."""
    return levelled(values.ravel(), INDICES, SHAPE[1]).reshape(SHAPE)


def noise(seed: int = 1) -> NDArray[np.float64]:
    """Plain normal noise."""
    drawn: NDArray[np.float64] = np.random.default_rng(seed).standard_normal(SHAPE)
    return drawn


def test_plain_noise_is_left_as_it_is() -> None:
    """Where there is no structure levelling only sets the scale and clips the tails."""
    values = noise()
    assert np.corrcoef(level(0.02 * values).ravel(), values.ravel())[0, 1] > 0.985
    assert level(0.02 * values).std() == pytest.approx(1.0, abs=0.02)


def test_sizes_and_means_of_columns_and_rows_are_taken_out() -> None:
    """Columns with means and sizes of their own, and rows with sizes, look like plain noise afterwards."""
    rng = np.random.default_rng(2)
    values = noise()
    centred = (values * np.exp(rng.normal(0, 1, 64))) * np.exp(rng.normal(0, 1, (400, 1))) + rng.normal(
        0, 5, 64
    )
    leveled = level(centred)
    assert np.abs(leveled.mean(axis=0)).max() < 0.1
    assert leveled.std(axis=0) == pytest.approx(np.ones(64), abs=0.1)
    assert leveled.std(axis=1) == pytest.approx(np.ones(400), abs=0.4)
    assert np.corrcoef(level(centred).ravel(), values.ravel())[0, 1] > 0.7


def test_outliers_do_not_govern() -> None:
    """A few values a thousand times as large end at the clip, and the others keep their order."""
    values = noise()
    spiked = values.copy()
    where = np.random.default_rng(3).integers(0, 400, 5), np.random.default_rng(4).integers(0, 64, 5)
    spiked[where] = 1e3
    leveled = level(spiked)
    assert np.abs(leveled).max() <= CLIP
    kept = np.ones(SHAPE, bool)
    kept[where] = False
    assert np.corrcoef(leveled[kept], values[kept])[0, 1] > 0.95


def test_missing_values_become_nothing() -> None:
    """NaN and infinities give 0 and change no other value's sign."""
    values = noise()
    broken = values.copy()
    broken[7, 7], broken[8, 8] = np.nan, np.inf
    leveled = level(broken)
    assert leveled[7, 7] == 0.0
    assert leveled[8, 8] == 0.0
    assert np.isfinite(leveled).all()


@pytest.mark.parametrize("value", [0.0, 1.5, np.nan])
def test_values_that_do_not_vary_become_zeros(value: float) -> None:
    """A constant tensor has nothing left."""
    assert np.abs(level(np.full(SHAPE, value))).max() < 1e-9


@settings(max_examples=30, deadline=None)
@given(scale=st.floats(1e-150, 1e150), seed=st.integers(0, 1000))
def test_the_scale_does_not_matter(scale: float, seed: int) -> None:
    """Values of any size level to the same ones."""
    values = noise(seed)
    assert np.allclose(level(values * scale), level(values), rtol=0.0, atol=1e-9)


def test_a_vector_is_levelled_as_a_whole() -> None:
    """Columns of one value each have no mean of their own."""
    values = np.random.default_rng(5).standard_normal(500)
    assert np.corrcoef(levelled(values, np.arange(500), 500), values)[0, 1] > 0.98


def test_no_values_level_to_none() -> None:
    """Nothing in, nothing out."""
    assert levelled(np.zeros(0), np.zeros(0, np.int64), 5).size == 0
