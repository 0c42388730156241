"""Trained rows that remember a draw, and such as do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.evidence.trained import ELEMENTS, MOST_COLUMNS, trained_trace
from birthmark.hypothesis import Draw, Hypothesis

SHAPE = (3000, 64)
TRUTH = Hypothesis(Draw("normal", (0.0, 0.02), SHAPE), 270_336)
UNTOUCHED = np.arange(100, 120)
Memory = Callable[..., Any]


def _trained(r: float) -> NDArray[np.float64]:
    """A table whose trained rows correlate at r with their initial values; columns have their own means."""
    rng = np.random.default_rng(2)
    drawn = TRUTH.tensor(7).astype(np.float64)
    values: NDArray[np.float64] = (
        r * drawn + np.sqrt(1.0 - r * r) * 0.02 * rng.normal(size=SHAPE) + 0.1 * rng.normal(size=SHAPE[1])
    )
    values[UNTOUCHED] = drawn[UNTOUCHED]
    return values


def _standard(seed: int) -> Callable[[NDArray[np.int64]], NDArray[Any]]:
    return lambda indices: TRUTH.standard(seed, indices)


def test_trained_rows_remember(in_memory: Memory) -> None:
    """The correlation that was put in comes out of levelled values, of trained rows alone."""
    table = in_memory("w", _trained(0.3), "float32")

    found = trained_trace(table, "w", "row", UNTOUCHED, _standard(7))

    assert found is not None
    assert (found.units, found.of) == (ELEMENTS // 64, 2980)
    assert found.score.r == pytest.approx(0.3, abs=0.02)
    assert found.moved is not None
    assert abs(found.moved.sigma or 9.0) < 4.5


@pytest.mark.parametrize(("r", "seed"), [(0.3, 8), (0.0, 7)])
def test_nothing_is_remembered_of_another_draw(in_memory: Memory, r: float, seed: int) -> None:
    """A wrong seed, and rows that training took everything from, score as chance does."""
    found = trained_trace(in_memory("w", _trained(r), "float32"), "w", "row", UNTOUCHED, _standard(seed))

    assert found is not None
    assert abs(found.score.sigma or 9.0) < 4.5


def test_columns_and_shards(in_memory: Memory) -> None:
    """Columns are looked at in some rows; a shard keeps to its own rows."""
    table = in_memory("w", _trained(0.3), "float32")

    columns = trained_trace(table, "w", "column", np.arange(60), _standard(7))
    shard = trained_trace(table, "w", "row", UNTOUCHED, _standard(7), (0, 1500))

    assert columns is not None
    assert (columns.units, columns.of, columns.score.n) == (4, 4, 4 * (ELEMENTS // 64))
    assert columns.score.r == pytest.approx(0.3, abs=0.05)
    assert shard is not None
    assert shard.of == 1480


def test_where_too_little_is_left(in_memory: Memory) -> None:
    """All rows predicted, hardly any left, equal values, or rows that are too long: no score at all."""
    table = in_memory("w", _trained(0.3), "float32")

    assert trained_trace(table, "w", "row", np.arange(3000), _standard(7)) is None
    assert trained_trace(table, "w", "row", np.arange(2997), _standard(7)) is None
    constant = in_memory("w", np.ones(SHAPE), "float32")
    assert trained_trace(constant, "w", "row", UNTOUCHED, _standard(7)) is None
    long = in_memory("w", np.zeros((1, MOST_COLUMNS + 1)), "float32")
    assert trained_trace(long, "w", "row", np.zeros(0, np.int64), _standard(7)) is None
