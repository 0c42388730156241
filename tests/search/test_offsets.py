"""The offset of a known seed is found on another tensor, and none is made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from birthmark.search.offsets import LAST, search_offsets
from birthmark.search.options import Options
from birthmark.search.progress import Status

LAYOUTS = (221_184, 270_336)


@pytest.mark.parametrize("offset", [0, 8, 40, 4096])
def test_the_offset_is_found(planted: Callable[..., Any], offset: int) -> None:
    """With the layout among those given, and every offset and layout counted."""
    outcome = search_offsets(planted(offset=offset, shape=(8192, 144)).selection(), 777, LAYOUTS)
    (candidate,) = outcome.candidates

    assert (candidate.hypothesis.offset, candidate.seed, candidate.not_excluded) == (offset, 777, (270_336,))
    assert outcome.searched.trials % (LAST // 4 + 1) == 0
    assert outcome.searched.complete


def test_a_small_tensor_is_found_too(planted: Callable[..., Any]) -> None:
    """Sixteen rows of 64 values below one wave; the layouts stay open."""
    made = planted(offset=24, shape=(64, 64), rows=range(16), stored="float32")
    (candidate,) = search_offsets(made.selection(), 777, LAYOUTS).candidates

    assert candidate.hypothesis.offset == 24
    assert candidate.not_excluded == LAYOUTS


@pytest.mark.parametrize(("seed", "offset"), [(778, 8), (777, 5000)])
def test_nothing_is_found_where_nothing_is(planted: Callable[..., Any], seed: int, offset: int) -> None:
    """Another seed, or an offset beyond the last."""
    outcome = search_offsets(planted(offset=offset).selection(), seed, LAYOUTS)

    assert outcome.candidates == ()
    assert outcome.searched.complete


def test_shards_are_tried(planted: Callable[..., Any]) -> None:
    """A sharded tensor at a later offset."""
    made = planted(offset=12, ways=4, seed=3952, rows=range(0, 8192, 300))
    (candidate,) = search_offsets(made.selection(), 3952, LAYOUTS, Options(ways=(1, 4))).candidates

    assert (candidate.hypothesis.offset, candidate.hypothesis.sharding.ways) == (12, 4)


def test_ctrl_c_stops_it(planted: Callable[..., Any]) -> None:
    """What was not finished is not claimed."""

    class Impatient:
        def update(self, status: Status) -> None:  # noqa: ARG002 - the protocol's signature
            raise KeyboardInterrupt

    outcome = search_offsets(planted(offset=8).selection(), 777, LAYOUTS, progress=Impatient())

    assert outcome.stopped
    assert outcome.candidates == ()
    assert outcome.searched.layouts == ()
