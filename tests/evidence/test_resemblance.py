"""What is left of initial values: equal elements, held rows and columns, a weak trace, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.evidence.resemblance import Comparison, Resemblance

ROWS, COLUMNS = 64, 48


def compared(stored: NDArray[Any], predicted: NDArray[Any], step: int = ROWS, trials: int = 1) -> Resemblance:
    comparison = Comparison(stored.shape[1])
    for first in range(0, len(stored), step):
        comparison.add(stored[first : first + step], predicted[first : first + step])
    return comparison.result(trials)


@pytest.fixture
def drawn() -> NDArray[np.float32]:
    return np.random.default_rng(1).normal(0, 0.02, (ROWS, COLUMNS)).astype(np.float32)


@pytest.fixture
def noise() -> NDArray[np.float32]:
    return np.random.default_rng(2).normal(0, 0.02, (ROWS, COLUMNS)).astype(np.float32)


def test_equal_values_are_counted(drawn: NDArray[np.float32]) -> None:
    """All of them, in rows and columns and over all."""
    found = compared(drawn, drawn)

    assert (found.n, found.equal, found.rows, found.columns) == (3072, 3072, (64, 64), (48, 48))
    assert found.r == pytest.approx(1.0)
    assert found.sigma == pytest.approx(3072**0.5)


def test_rows_and_columns_count_up_to_a_factor(
    drawn: NDArray[np.float32], noise: NDArray[np.float32]
) -> None:
    """Decayed rows hold their values; so does a column, where all else was trained."""
    rows = noise.copy()
    rows[5:9] = 0.7 * drawn[5:9]
    columns = noise.copy()
    columns[:, 3] = 1.3 * drawn[:, 3]

    assert compared(rows, drawn).rows == (4, 64)
    assert compared(columns, drawn).columns == (1, 48)


def test_blocks_do_not_matter(drawn: NDArray[np.float32], noise: NDArray[np.float32]) -> None:
    """Row by row or all at once, the same numbers."""
    stored = drawn + 3 * noise
    one, many = compared(stored, drawn), compared(stored, drawn, step=7)

    assert (one.n, one.equal, one.rows, one.columns) == (many.n, many.equal, many.rows, many.columns)
    assert one.r == pytest.approx(many.r, rel=1e-12)


def test_a_weak_trace_stands_out_and_noise_does_not(
    drawn: NDArray[np.float32], noise: NDArray[np.float32]
) -> None:
    """A third of a sigma over 3,072 values; nothing for another draw, the fewer trials the rarer."""
    trace = compared(0.3 * drawn + noise, drawn)
    nothing = compared(noise, drawn)

    assert trace.log10_p is not None
    assert trace.log10_p < -20
    assert nothing.log10_p is not None
    assert nothing.log10_p > -3
    assert nothing.rows == (0, 64)
    many = compared(0.3 * drawn + noise, drawn, trials=1000)
    assert many.log10_p == pytest.approx(trace.log10_p + 3, abs=1e-6)


def test_constants_and_missing_numbers_have_no_correlation(drawn: NDArray[np.float32]) -> None:
    """Zeros against zeros are equal, and say no more; what is not finite is left out."""
    zeros = np.zeros_like(drawn)
    found = compared(zeros, zeros)
    assert (found.equal, found.r, found.rows) == (3072, None, (0, 64))

    broken = drawn.copy()
    broken[0, :5] = np.nan
    assert compared(broken, drawn).n == 3067
