"""One tensor in two checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

from birthmark.calibration.made import NAME, SCALE, SHAPE, Made, MadeCheckpoint, some_rows
from birthmark.lineage.pairing import Pairing, pair
from birthmark.lineage.relation import relate
from birthmark.lineage.tensors import couple
from birthmark.survivors.survivor import Survivors

KEPT = some_rows(np.random.default_rng(0), 100)


def paired(first: np.ndarray, second: np.ndarray) -> Pairing:
    """Two tables of which a survey took the same rows for untouched."""
    one, other = (MadeCheckpoint(Made(each.astype(np.float32), "float32", KEPT)) for each in (first, second))
    seen = Survivors(NAME, SHAPE, "float32", "row", KEPT, np.ones(len(KEPT)), "normal", SCALE, 0.01)
    both = couple(one, other)
    return pair(both, both.tensors[0], (seen, seen), 1)


def noise(seed: int) -> np.ndarray:
    """A table of its own."""
    return SCALE * np.random.default_rng(seed).standard_normal(SHAPE)


def test_one_draw_in_both() -> None:
    """Rows that hold one draw, scaled, correlate fully, and not when shifted."""
    birth = noise(1)
    one, other = noise(2), noise(3)
    one[KEPT], other[KEPT] = birth[KEPT], 0.5 * birth[KEPT]

    found = paired(one, other)

    assert found.fresh is not None
    assert found.fresh.score.r == pytest.approx(1.0)
    assert found.fresh.same == 100
    assert found.fresh.factor == pytest.approx(0.5)
    assert found.fresh.shifted is not None
    assert found.fresh.shifted < 0.05
    assert relate([found]).kind == "same-birth"


def test_columns_in_common_are_no_birth() -> None:
    """Rows that a survey took for untouched and that share a mean of their own are not of one birth."""
    common = SCALE * np.random.default_rng(4).standard_normal(SHAPE[1])

    found = paired(noise(5) + common, noise(6) + common)

    assert found.fresh is not None
    assert found.fresh.score.rarer_than(-100)
    assert relate([found]).kind != "same-birth"


def test_other_draws_are_none() -> None:
    """Fresh rows of two births have nothing in common."""
    assert relate([paired(noise(7), noise(8))]).kind == "different-births"
