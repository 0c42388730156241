"""Pooled correlations: fixed effects, and a z that is standard normal where nothing is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from birthmark.weak_map.pooling import pool, pooled_z


def test_equal_correlations_pool_to_themselves() -> None:
    """Weights do not matter then, nothing is left over, and the interval narrows."""
    found = pool([0.2, 0.2, 0.2], [100, 1000, 50])
    assert found is not None

    assert (found.tensors, found.n) == (3, 1150)
    assert found.r == pytest.approx(0.2)
    assert found.q == pytest.approx(0.0, abs=1e-9)
    assert found.z == pytest.approx(math.atanh(0.2) * math.sqrt(1141))
    assert found.high - found.low < 0.12


def test_large_tensors_weigh_more() -> None:
    """The weight is n - 3, and what differs shows in Q."""
    found = pool([0.5, 0.0], [1003, 103])
    assert found is not None

    assert math.atanh(found.r) == pytest.approx(math.atanh(0.5) * 1000 / 1100)
    assert found.q > 20


def test_what_has_no_correlation_is_left_out() -> None:
    """NaN and tensors of three values do not count; nothing but those gives nothing; 1 is no infinity."""
    found = pool([math.nan, 0.3, 0.9], [500, 500, 3])
    one = pool([1.0], [50])
    assert found is not None
    assert one is not None

    assert found.tensors == 1
    assert found.r == pytest.approx(0.3)
    assert math.isfinite(one.z)
    assert pool([math.nan], [500]) is None
    assert pool([], []) is None


def test_no_trace_is_standard_normal() -> None:
    """For thousands of models without any trace, both ways to compute it."""
    generator = np.random.default_rng(1)
    n = np.array([64, 1000, 5000, 300])
    r = np.clip(generator.normal(size=(4000, 4)) / np.sqrt(n), -0.99, 0.99)
    z = pooled_z(r, n)
    same = pool(r[0].tolist(), n.tolist())
    assert same is not None

    assert z[0] == pytest.approx(same.z)
    assert abs(z.mean()) < 4 / math.sqrt(4000)
    assert abs(z.std() - 1) < 0.05
    assert pooled_z(np.array([[math.nan, 0.1]]), np.array([50, 103]))[0] == pytest.approx(
        100 * math.atanh(0.1) / math.sqrt(147)
    )
