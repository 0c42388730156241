"""NumPy's ziggurat: its tables, and many more values than the other tests look at."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.samplers.numpy_draw import NumpyDraw
from birthmark.samplers.numpy_ziggurat import AREA, EDGE, LAYERS, tables


def test_tables_are_a_ziggurat() -> None:
    """Layers have equal areas, the last but its tail, and their edges ascend."""
    found = tables(52)
    edge = found.width * 2.0**52
    assert np.all(np.diff(edge[1:]) > 0)
    assert edge[-1] == EDGE
    areas = edge[2:] * (found.height[1:-1] - found.height[2:])
    assert np.allclose(areas, AREA, rtol=1e-12)
    assert found.inside[1] == 0
    assert len(found.height) == LAYERS


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ten_million_values(dtype: str) -> None:
    """Ten million values of five seeds equal NumPy's, those at the edges of layers among them."""
    size = 10**7
    for seed in range(5):
        drawn = NumpyDraw("default_rng", "normal", size, (0.0, 1.0), dtype).values(seed, np.arange(size))
        assert np.array_equal(drawn, np.random.default_rng(seed).standard_normal(size, dtype=dtype))  # type: ignore[call-overload]
