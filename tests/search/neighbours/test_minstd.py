"""The minimal standard engine solved: emulated tables, impostors, 16 bits, and everything that it is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.numerics.dtypes import round_to
from birthmark.samplers.paddle_minstd import MinstdDraw
from birthmark.search.neighbours.minstd import STATES, solve_minstd
from birthmark.search.neighbours.observed import Observed, whole

SEED = 1885516243
SHAPE = (60, 64)


def table(kind: str = "uniform", seed: int = SEED) -> NDArray[np.float32]:
    parameters = (-0.1, 0.1) if kind == "uniform" else (0.0, 0.02)
    draw = MinstdDraw(kind, parameters, 60 * 64)  # type: ignore[arg-type]
    return draw.values(seed, np.arange(60 * 64).reshape(SHAPE))


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_a_whole_table(kind: str) -> None:
    """The seed comes out without search, every held-out value bit for bit, its scale by its number."""
    outcome = solve_minstd(whole("emb", table(kind)))
    found = outcome.finding
    assert found is not None
    assert found.seed == SEED
    assert found.equal == found.n > 1000
    assert found.parameters == ((-0.1, 0.1) if kind == "uniform" else (0.0, 0.02))
    assert outcome.trials == found.trials == 2 * STATES
    assert str(SEED + 2**31 - 1) in found.rule
    assert np.array_equal(found.predict(np.arange(9)), table(kind).ravel()[:9])


def test_half_the_rows_were_trained() -> None:
    """Rows that moved do not hide the seed; they count on the hold-out as what they are."""
    values = table()
    values[::2] += np.random.default_rng(0).normal(0.0, 0.02, (30, 64)).astype(np.float32)
    found = solve_minstd(whole("emb", values)).finding
    assert found is not None
    assert found.seed == SEED
    assert 0.3 * found.n < found.equal < 0.7 * found.n


def test_columns_and_sixteen_bits() -> None:
    """A few columns of a table kept in bfloat16 are enough."""
    stored = round_to(table(), "bfloat16").astype(np.float64)
    indices = np.flatnonzero(np.isin(np.arange(60 * 64) % 64, np.arange(0, 64, 5)))
    ones = np.ones(len(indices))
    observed = Observed("emb", SHAPE, "bfloat16", indices, stored.ravel()[indices], indices % 64, ones)
    found = solve_minstd(observed).finding
    assert found is not None
    assert (found.seed, found.equal) == (SEED, found.n)


def test_what_it_is_not() -> None:
    """Noise, shuffled values, another generator and shifted elements come back empty, the trials counted."""
    generator = np.random.default_rng(5)
    noise = generator.uniform(-0.1, 0.1, SHAPE).astype(np.float32)
    for values in (noise, generator.permutation(table().ravel()).reshape(SHAPE)):
        outcome = solve_minstd(whole("emb", values), scale=0.1)
        assert outcome.finding is None
        assert outcome.trials == 2 * STATES
        assert outcome.reason
    few = solve_minstd(whole("emb", table()[:1, :10]))
    assert few.finding is None
    assert few.trials == 0
