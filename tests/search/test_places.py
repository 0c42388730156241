"""Packed places are equal for equal places only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from birthmark.errors import UsageError
from birthmark.recipes.sharding import Sharding
from birthmark.search.places import locate, unpack
from birthmark.search.space import predictions


def test_packing_loses_nothing(planted: Callable[..., Any]) -> None:
    """Rank, call, thread and lane come back, for sharded tensors and offsets too."""
    selection = planted(rows=range(0, 8192, 100)).selection()
    found = predictions(selection, (28_672, 270_336), (Sharding(), Sharding(4, "megatron")), offset=40)
    packed = locate(found, selection.indices)
    for row, prediction in enumerate(found):
        place = prediction.hypothesis.locate(selection.indices)
        calls = place.counter - np.uint64(10)
        columns = (place.rank, calls, place.thread, place.lane)
        expected = list(zip(*(column.tolist() for column in columns), strict=True))

        assert [unpack(number) for number in packed[row].tolist()] == expected


def test_places_that_do_not_fit_are_refused(planted: Callable[..., Any]) -> None:
    """More ranks than there are bits for are an error, never another place."""
    selection = planted(rows=range(8100, 8192)).selection()
    found = predictions(selection, (28_672,), (Sharding(128, "megatron"),))

    with pytest.raises(UsageError, match="expected below 2\\^6"):
        locate(found, selection.indices)
