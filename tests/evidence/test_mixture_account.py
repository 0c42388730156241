"""Whose each row of a mixture is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from birthmark.evidence.elements import Elements
from birthmark.evidence.mixture_account import Origin, account_for, runs

SHAPE = (60, 32)


def origin(ids: list[int], values: NDArray[np.float32], chance: float = 0.01) -> Origin:
    """An origin that predicts a tensor's values exactly."""

    def near(elements: Elements) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = values.ravel()[elements.indices] == elements.values
        return same

    return Origin(np.array(ids, np.int64), near, chance)


@pytest.fixture(scope="module")
def mixed(in_memory: Any) -> tuple[Any, list[Origin]]:
    """Rows 0 to 9 are alike in both, 10 to 39 of the first, 40 to 49 of the second, the rest of neither."""
    random = np.random.default_rng(0)
    first, second = (random.standard_normal(SHAPE).astype(np.float32) for _ in range(2))
    second[:10] = first[:10]
    values = random.standard_normal(SHAPE).astype(np.float32)
    values[:40], values[40:50] = first[:40], second[40:50]
    values[20, 5] = 9.0  # an altered element
    origins = [origin(list(range(40)), first), origin([*range(10), *range(40, 50)], second)]
    return in_memory("w", values, "float32"), origins


def test_rows_that_both_give_are_left_out_of_the_shares(mixed: tuple[Any, list[Origin]]) -> None:
    """Thirty to ten of forty rows, with an exact binomial interval; ten are either's."""
    found = account_for(mixed[0], "w", SHAPE, "row", mixed[1])

    assert found.either.tolist() == list(range(10))
    assert [part.own.tolist() for part in found.parts] == [list(range(10, 40)), list(range(40, 50))]
    assert found.decided == 40
    share = found.parts[0].share
    assert share is not None
    assert share.value == 0.75
    assert share.lo < 0.6 < 0.87 < share.hi


def test_each_row_has_its_own_evidence(mixed: tuple[Any, list[Origin]]) -> None:
    """An altered row has a little less than the others, one that both give has none."""
    found = account_for(mixed[0], "w", SHAPE, "row", mixed[1])
    ratios = dict(zip(found.ids.tolist(), found.log10.tolist(), strict=True))

    assert found.best.tolist() == [-1] * 10 + [0] * 30 + [1] * 10
    assert ratios[0] == 0.0
    assert 50 < ratios[20] < ratios[21] == found.parts[0].median_log10
    assert found.parts[0].least_log10 == ratios[20]


def test_three_origins_share_a_tensor(in_memory: Any) -> None:
    """Shares of three add up to one; columns work as rows do."""
    random = np.random.default_rng(1)
    parts = [random.standard_normal(SHAPE).astype(np.float32) for _ in range(3)]
    values = np.choose(np.arange(SHAPE[1]) % 3, [part[:, :] for part in parts]).astype(np.float32)
    origins = [origin(list(range(number, SHAPE[1], 3)), part) for number, part in enumerate(parts)]
    found = account_for(in_memory("w", values, "float32"), "w", SHAPE, "column", origins)

    assert found.either.size == 0
    assert sum(part.share.value for part in found.parts if part.share is not None) == pytest.approx(1.0)
    assert found.best.tolist() == [number % 3 for number in range(SHAPE[1])]


def test_where_both_give_everything_there_are_no_shares(in_memory: Any) -> None:
    """Nothing is decided, and nothing claimed."""
    values = np.random.default_rng(2).standard_normal(SHAPE).astype(np.float32)
    both = [origin([1, 2, 3], values), origin([1, 2, 3], values)]
    found = account_for(in_memory("w", values, "float32"), "w", SHAPE, "row", both)

    assert found.decided == 0
    assert [part.share for part in found.parts] == [None, None]
    assert [part.least_log10 for part in found.parts] == [None, None]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [([], []), ([4], [(4, 4)]), ([1, 2, 3, 7, 9, 10], [(1, 3), (7, 7), (9, 10)])],
)
def test_runs(ids: list[int], expected: list[tuple[int, int]]) -> None:
    """Consecutive ids are one run."""
    assert runs(np.array(ids, np.int64)) == expected
