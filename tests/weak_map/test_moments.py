"""Sums, correlations and regressions, held against numpy's and against what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.evidence.score import NORMAL_95, fisher
from birthmark.weak_map.moments import Moments, kept, levelled_r, stored_r, sums_of


def some(rows: int = 30, columns: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Stored and levelled values, predictions, and what is finite."""
    generator = np.random.default_rng(1)
    y = generator.normal(0.3, 0.02, (rows, columns))
    x = 0.7 * y + generator.normal(0, 0.05, y.shape)
    return x, np.tanh(x * 9), y, np.ones(y.shape, np.bool_)


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_give_what_numpy_gives(axis: int) -> None:
    """Correlations of rows or of columns, and of everything from the sum of either."""
    x, level, y, finite = some()
    sums = sums_of(x, level, y, finite, axis)
    pairs = list(zip(x, y, strict=True)) if axis == 1 else list(zip(x.T, y.T, strict=True))
    whole = sums.sum(axis=1)

    np.testing.assert_allclose(stored_r(sums), [np.corrcoef(a, b)[0, 1] for a, b in pairs])
    assert float(levelled_r(whole[:, None])[0]) == pytest.approx(np.corrcoef(level.ravel(), y.ravel())[0, 1])
    slope = np.linalg.lstsq(y.reshape(-1, 1), x.ravel(), rcond=None)[0][0]
    assert float(kept(whole, 2.0)) == pytest.approx(2.0 * slope)


def test_what_does_not_vary_has_no_correlation() -> None:
    """Constants, and fewer than three values, give NaN and no warning."""
    x, level, y, finite = some()
    constant = sums_of(x, level * 0 + 0.5, y, finite, 1)
    few = sums_of(x[:, :2], level[:, :2], y[:, :2], finite[:, :2], 1)
    nothing = Moments(2)

    assert np.isnan(levelled_r(constant)).all()
    assert np.isnan(levelled_r(few)).all()
    assert math.isnan(float(kept(nothing.sums, 1.0)))
    assert math.isnan(nothing.kept_error(1.0))
    assert math.isnan(nothing.norm_share())
    assert np.isnan(nothing.shifted_r).all()


def test_fishers_interval_holds_the_truth_nineteen_times_in_twenty() -> None:
    """For 400 samples of 60 pairs with r = 0.4; published: r = 0.5, n = 28 gives 0.156 to 0.736."""
    generator = np.random.default_rng(2)
    x = generator.normal(size=(400, 60))
    y = 0.4 * x + math.sqrt(1 - 0.16) * generator.normal(size=x.shape)
    ends = [fisher(float(np.corrcoef(a, b)[0, 1]), 60) for a, b in zip(x, y, strict=True)]
    held = sum(low < 0.4 < high for low, high in (each for each in ends if each))

    assert 364 <= held <= 394
    assert fisher(0.5, 28) == pytest.approx((0.156, 0.736), abs=1e-3)
    assert fisher(0.5, 3) is None
    assert fisher(1.0, 50) is None


def test_the_error_of_the_regression_holds_for_uneven_residuals() -> None:
    """Where large initial values moved more, the plain error is too small and this one is not."""
    generator = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        y = generator.normal(size=(1, 200))
        x = 0.5 * y + generator.normal(size=y.shape) * np.abs(y)
        moments = Moments(0)
        moments.sums += sums_of(x, x, y, np.ones(x.shape, np.bool_), 1).sum(axis=1)
        xy, yy = x * y, y * y
        moments.robust += [(xy * xy).sum(), (xy * yy).sum(), (yy * yy).sum()]
        slope = float(kept(moments.sums, 1.0))
        held += abs(slope - 0.5) < NORMAL_95 * moments.kept_error(1.0)
        assert 0.0 <= moments.norm_share() <= 1.0

    assert 268 <= held <= 298
