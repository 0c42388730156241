"""The published matching test."""

from __future__ import annotations

import numpy as np

from birthmark.lineage.matching import LEAST, match_rows


def test_perturbed_units_match_in_order() -> None:
    """Rows and their noisy copies match one by one."""
    random = np.random.default_rng(1)
    rows = random.standard_normal((100, 64))

    found = match_rows(rows, rows + 0.3 * random.standard_normal(rows.shape))

    assert found is not None
    assert found.rho > 0.99
    assert found.log10_p < -20


def test_permuted_units_do_not() -> None:
    """The same rows in another order give no order in common."""
    random = np.random.default_rng(2)
    rows = random.standard_normal((100, 64))

    found = match_rows(rows, rows[random.permutation(100)])

    assert found is not None
    assert found.log10_p > -3


def test_independent_units_have_uniform_p() -> None:
    """Over 200 independent pairs p falls below a tenth in about a tenth of them."""
    random = np.random.default_rng(3)
    found = [match_rows(*random.standard_normal((2, 40, 16))) for _ in range(200)]

    low = sum(each is not None and each.log10_p < -1 for each in found)

    assert 8 <= low <= 36


def test_too_few_units() -> None:
    """Fewer rows than the test needs are not tested."""
    assert match_rows(np.ones((LEAST - 1, 5)), np.ones((LEAST - 1, 5))) is None
