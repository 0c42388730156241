"""Hypotheses that a selection cannot tell apart are one prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from birthmark.devices.catalogue import exhaustive_threads, table_threads
from birthmark.search.space import Prediction, draws, effective_dtype, predictions, shardings


def signature(prediction: Prediction, indices: Any) -> bytes:
    place = prediction.hypothesis.locate(indices)
    return b"".join(part.tobytes() for part in (place.rank, place.counter, place.thread, place.lane))


@pytest.mark.parametrize("rows", [range(30), (5, 8190), (100, 700, 1500)])
def test_predictions_are_the_distinct_ones(planted: Callable[..., Any], rows: Any) -> None:
    """By every element's place: those of one prediction agree, those of two differ somewhere."""
    selection = planted(rows=rows).selection()
    found = predictions(selection, table_threads(), shardings(selection))
    signatures = [signature(each, selection.indices) for each in found]

    assert len(set(signatures)) == len(signatures)
    for prediction, mark in zip(found, signatures, strict=True):
        for threads in prediction.threads:
            same = replace(prediction.hypothesis, threads=threads)
            assert signature(Prediction(same, (threads,)), selection.indices) == mark


def test_below_one_wave_there_is_one_prediction(planted: Callable[..., Any]) -> None:
    """Rows in the first wave of every layout and the first shard of every sharding leave nothing to tell."""
    selection = planted(rows=range(10, 60)).selection()
    found = predictions(selection, exhaustive_threads(), shardings(selection))

    assert [len(each.threads) for each in found] == [1044]


def test_shards_are_tried_on_vocabularies_only(planted: Callable[..., Any]) -> None:
    """Rows that divide evenly, in a matrix whose rows survive; nothing else is cut."""
    whole = planted().selection()

    assert [cut.ways for cut in shardings(whole)] == [1, 2, 4, 8, 16]
    assert [cut.ways for cut in shardings(replace(whole, axis="column"))] == [1]
    assert [cut.ways for cut in shardings(replace(whole, shape=(8188, 144)))] == [1, 2, 4]


def test_a_huge_tensor_may_have_been_drawn_wider() -> None:
    """Where float32 splits a tensor that bfloat16 does not, both draws are hypotheses."""
    from birthmark.recipes.sharding import WHOLE
    from birthmark.survivors.split import Selection

    some = np.array([0, 5, 9], np.int64)
    values = np.array([0.5, -0.25, 1.0])
    huge = Selection(
        "w", (128256, 8192), "bfloat16", "row", "normal", 1.0, 0.01, some, values, some, values * 0 + 1
    )

    assert [draw.dtype for draw in draws(huge, WHOLE)] == ["bfloat16", "float32"]
    assert [draw.dtype for draw in draws(replace(huge, shape=(128256, 4096)), WHOLE)] == ["bfloat16"]


def test_a_cast_to_a_wider_dtype_is_seen(planted: Callable[..., Any]) -> None:
    """Values that bfloat16 holds were rounded to it, whatever they are stored in."""
    selection = planted(stored="bfloat16").selection()

    assert effective_dtype(replace(selection, dtype="float32")) == "bfloat16"
    assert effective_dtype(planted(stored="float32").selection()) == "float32"
    assert effective_dtype(planted(stored="float16").selection()) == "float16"
