"""How predicted and stored values are compared."""

from __future__ import annotations

import numpy as np

from birthmark.search.neighbours.finding import fit
from birthmark.search.neighbours.observed import whole


def test_counts_and_chances() -> None:
    """Equal values, those a unit away and those far off are counted; chance shrinks with the trials."""
    values = np.random.default_rng(1).standard_normal((20, 30)).astype(np.float32)
    predicted = values.ravel().copy()
    predicted[:10] = np.nextafter(predicted[:10], np.float32(9.0))
    predicted[10:15] += 1.0
    few, many = (fit(whole("w", values), predicted, trials) for trials in (1, 10**6))
    assert few.equal == 585
    assert few.within_ulp == {1: 595, 2: 595, 4: 595, 8: 595}
    assert few.significant
    assert many.log10_p == few.log10_p + 6.0


def test_a_stored_dtype_is_rounded_to_once() -> None:
    """Values kept in bfloat16 are compared there; noise is no finding."""
    drawn = np.random.default_rng(1).standard_normal((20, 30))
    stored = (drawn.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    assert fit(whole("w", stored, "bfloat16"), stored.ravel(), 1).equal == 600
    noise = np.random.default_rng(2).standard_normal(600)
    assert not fit(whole("w", stored, "bfloat16"), noise, 1).significant
